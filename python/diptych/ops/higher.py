"""Ops that call functions of the user's: loops, maps over nested values, choice by kinds.

In Graph mode this file is staged like the user's own, so those functions may hold conditions and
loops on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor
from ..common.static import static_range

__all__ = [
    "ForiLoop",
    "HyperMap",
    "Map",
    "MultitypeFuncGraph",
    "Scan",
    "WhileLoop",
    "make_tuple",
    "switch",
    "tuple_getitem",
]


def switch(cond: Any, true_value: Any, false_value: Any) -> Any:
    """The one of two values that a bool or a Tensor of one element chooses.

    >>> import diptych as ms
    >>> ms.ops.switch(ms.Tensor(False), ms.Tensor(1), ms.Tensor(2)).item()
    2
    """
    return true_value if cond else false_value


def make_tuple(*items: Any) -> tuple[Any, ...]:
    """The items as a tuple.

    >>> import diptych as ms
    >>> ms.ops.make_tuple(1, 2)
    (1, 2)
    """
    return items


def tuple_getitem(data: tuple[Any, ...], index: int) -> Any:
    """One item of a tuple.

    >>> import diptych as ms
    >>> ms.ops.tuple_getitem((5, 6), 1)
    6
    """
    return data[index]


def _turns(lower: Any, upper: Any, unroll: bool) -> Any:
    return static_range(lower, upper) if unroll else range(lower, upper)


class WhileLoop:
    """``WhileLoop()(cond_func, loop_func, init_val)``: loop_func over and over while cond_func.

    Args of a call:
        cond_func: takes the value, gives a bool or a Tensor of one element.
        loop_func: takes the value, gives the next one, of the same dtypes and shapes.
        init_val: a Tensor, a number, or a nest of lists, tuples and dicts.

    >>> import diptych as ms
    >>> loop = ms.ops.WhileLoop()
    >>> loop(lambda x: x < 100, lambda x: x * 2, ms.Tensor(3)).item()
    192
    """

    def __call__(self, cond_func: Callable, loop_func: Callable, init_val: Any) -> Any:
        value = init_val
        while cond_func(value):
            value = loop_func(value)
        return value


class ForiLoop:
    """``ForiLoop()(lower, upper, loop_func, init_val)``: ``val = loop_func(i, val)`` for each i.

    Args of a call:
        lower, upper: i runs over ``range(lower, upper)``.
        loop_func: takes i and the value, gives the next value.
        init_val: the value to start with.
        unroll: in Graph mode every turn stands in the graph; otherwise many turns become a loop
            there, and bounds may be Tensors.

    >>> import diptych as ms
    >>> ms.ops.ForiLoop()(0, 10, lambda i, x: x + i, ms.Tensor(0)).item()
    45
    """

    def __call__(
        self, lower: Any, upper: Any, loop_func: Callable, init_val: Any, unroll: bool = True
    ) -> Any:
        value = init_val
        for i in _turns(lower, upper, unroll):
            value = loop_func(i, value)
        return value


class Scan:
    """``Scan()(loop_func, init, xs)``: ``carry, y = loop_func(carry, x)`` for each x.

    Args of a call:
        loop_func: takes the carried value and an element, gives the next value and a result.
        init: the carried value to start with.
        xs: a list, tuple or Tensor of elements; None: loop_func gets None each time.
        length: how many turns; None: as many as xs has elements.
        unroll: as for ForiLoop.

    Returns:
        The last carried value, and the list of all results.

    Raises:
        ValueError: length and xs do not fit together, or neither is given.

    >>> import diptych as ms
    >>> total, sums = ms.ops.Scan()(lambda s, x: (s + x, s + x), 0, [1, 2, 3])
    >>> total, sums
    (6, [1, 3, 6])
    """

    def __call__(
        self,
        loop_func: Callable,
        init: Any,
        xs: Sequence[Any] | Tensor | None,
        length: int | None = None,
        unroll: bool = True,
    ) -> tuple[Any, list[Any]]:
        if xs is None and length is None:
            raise ValueError("Scan: xs and length are both None; one of them must be given")
        turns = len(xs) if length is None else length  # type: ignore[arg-type]
        if xs is not None and turns != len(xs):
            raise ValueError(f"Scan: length is {length}, but xs has {len(xs)} elements")
        carry, results = init, []
        for i in _turns(0, turns, unroll):
            carry, result = loop_func(carry, None if xs is None else xs[i])
            results.append(result)
        return carry, results


class MultitypeFuncGraph:
    """A function chosen by the kinds of its arguments: ``@graph.register("Tensor", "Number")``.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> kind = ops.MultitypeFuncGraph("kind")
    >>> _ = kind.register("Tensor")(lambda x: "a tensor")
    >>> _ = kind.register("Number")(lambda x: "a number")
    >>> kind(ms.Tensor([1.0])), kind(2)
    ('a tensor', 'a number')
    """

    _KINDS: dict[str, Callable[[Any], bool]] = {
        "Tensor": lambda v: isinstance(v, Tensor),
        "Number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
        "Bool": lambda v: isinstance(v, bool),
        "String": lambda v: isinstance(v, str),
        "Tuple": lambda v: isinstance(v, tuple),
        "List": lambda v: isinstance(v, list),
        "None": lambda v: v is None,
        "Function": callable,
    }

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self._entries: list[tuple[tuple[str, ...], Callable]] = []

    def register(self, *kinds: str) -> Callable[[Callable], Callable]:
        """The function for arguments of these kinds."""
        for kind in kinds:
            if kind not in self._KINDS:
                known = ", ".join(self._KINDS)
                raise ValueError(f"register: kind {kind!r} is unknown; legal: {known}")

        def keep(fn: Callable) -> Callable:
            self._entries.append((kinds, fn))
            return fn

        return keep

    def __call__(self, *args: Any) -> Any:
        for kinds, fn in self._entries:
            if len(kinds) == len(args) and all(
                self._KINDS[k](a) for k, a in zip(kinds, args, strict=True)
            ):
                return fn(*args)
        got = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"{self.name}: no function is registered for ({got})")


class HyperMap:
    """``HyperMap()(fn, a, b)`` applies fn to the leaves of equally nested tuples and lists.

    >>> from diptych import ops
    >>> ops.HyperMap()(lambda a, b: a + b, (1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """

    def __init__(self, ops: Callable | None = None, reverse: bool = False) -> None:
        self._fn = ops

    def __call__(self, *args: Any) -> Any:
        fn, values = (args[0], args[1:]) if self._fn is None else (self._fn, args)
        return self._apply(fn, values)

    def _apply(self, fn: Callable, values: tuple[Any, ...]) -> Any:
        if not isinstance(values[0], tuple | list):
            return fn(*values)
        made = [self._apply(fn, v) for v in zip(*values, strict=True)]
        return tuple(made) if isinstance(values[0], tuple) else made


class Map(HyperMap):
    """HyperMap of one level.

    >>> from diptych import ops
    >>> ops.Map()(lambda a: a * 2, (1, 2))
    (2, 4)
    """

    def _apply(self, fn: Callable, values: tuple[Any, ...]) -> Any:
        return tuple(fn(*v) for v in zip(*values, strict=True))
