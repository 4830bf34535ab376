"""What a compiled call depends on among its arguments: the key of the cache.

Tensors count by dtype, shape and whether a gradient is wanted; numbers, strings and such by type
and value; containers item by item; a bound method, which is another object at each access, by its
function and its object; everything else is the object itself.
"""

from __future__ import annotations

import enum
import itertools
import re
import sys
import types
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..common.mutables import is_constant, plain, plain_type
from ..stage.builder import Free

__all__ = ["Signature", "describe", "describe_all", "same_objects"]

_PLAIN = (bool, int, str, bytes, type(None))
_LARGEST_ARRAY = 4096


class Same:
    """Equal to the same object only; keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value

    def __repr__(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "name", None)
        return f"{type(self.value).__name__} {name}" if name else type(self.value).__name__


def same_objects(values: Any) -> tuple[Same, ...]:
    """A key for several objects by identity."""
    return tuple(Same(v) for v in values)


class Signature:
    """The leaves of the arguments in order (as ``stage.result.flatten``), and the key of the call:
    a token an argument, whether calls are recorded, whether that may be recorded itself.

    ``records``: whether calls are recorded, so that gradients matter. ``numbers``: leaves that are
    inputs if they are floats or mutable numbers, whatever their value. ``free``: axes of tensor
    leaves whose sizes may be any; ``sizes`` are the present ones, of the axes in ``places``.
    """

    __slots__ = ("_seen", "free", "key", "leaves", "numbers", "places", "records", "sizes")

    def __init__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        records: bool,
        numbers: frozenset[int] = frozenset(),
        free: Free | None = None,
    ) -> None:
        self.free = free or {}
        self.sizes: tuple[int, ...] = ()
        self.places: tuple[tuple[int, int], ...] = ()
        self.leaves: list[Any] = []
        self.numbers = numbers
        self.records = records
        self._seen: dict[int, int] = {}
        tokens = [self._token(a) for a in args]
        if kwargs:
            tokens.extend((name, self._token(a)) for name, a in kwargs.items())
        self.key = tuple(tokens), records, _core.grad_depth() > 0

    def _token(self, value: Any) -> Any:
        kind = type(value)
        if is_constant(value, self.records):
            self.leaves.append(value)
            return _constant_token(value)
        if kind is Tensor or (isinstance(value, Tensor) and not isinstance(value, Parameter)):
            first = self._seen.setdefault(id(value), len(self.leaves))
            is_again = first != len(self.leaves)
            self.leaves.append(value)
            if is_again:
                return "again", first
            axes = self.free.get(first)
            shape = value.shape if axes is None else self._masked(first, value.shape, axes)
            return value.dtype, shape, self.records and value.requires_grad
        if kind is list or kind is tuple:
            return kind, tuple([self._token(v) for v in value])
        if kind is dict:
            return dict, tuple([(_key_token(k), self._token(v)) for k, v in value.items()])
        self.leaves.append(value)
        if len(self.leaves) - 1 in self.numbers:
            number = float if kind is float else plain_type(value)
            if number is not None:
                return (number,)
        return _static_token(plain(value))

    def _masked(
        self, leaf: int, shape: tuple[int, ...], axes: frozenset[int]
    ) -> tuple[int | None, ...]:
        free = [axis for axis in range(len(shape)) if axis in axes]
        self.places += tuple((leaf, axis) for axis in free)
        self.sizes += tuple(shape[axis] for axis in free)
        return tuple(None if axis in axes else n for axis, n in enumerate(shape))


def _key_token(key: Any) -> Any:
    return (type(key), key)


def _static_token(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if kind is float:
        return float, value.hex()
    if kind is complex:
        return complex, value.real.hex(), value.imag.hex()
    if isinstance(value, enum.Enum | range):
        return kind, value
    if kind is types.MethodType:
        return kind, Same(value.__func__), Same(value.__self__)
    if kind is slice:
        return slice, tuple(_static_token(v) for v in (value.start, value.stop, value.step))
    np = sys.modules.get("numpy")  # not imported: no value is of its types
    if np is not None and isinstance(value, np.generic):
        return kind, value.tobytes()
    if np is not None and isinstance(value, np.ndarray):
        return _array_token(value)
    return Same(value)


def _array_token(value: Any) -> Any:
    if value.nbytes > _LARGEST_ARRAY or value.dtype.hasobject:
        raise TypeError(
            f"jit: an argument is a NumPy array of {value.nbytes} bytes, dtype {value.dtype}; "
            f"arrays are constants of the graph and may have {_LARGEST_ARRAY} bytes at most: pass "
            "ms.Tensor(array)"
        )
    return type(value), value.dtype.str, value.shape, value.tobytes()


def _constant_token(value: Tensor) -> Any:
    if value.nbytes > _LARGEST_ARRAY:
        raise TypeError(
            f"jit: an argument is a Tensor of {value.nbytes} bytes with const_arg=True; constants "
            f"of the graph may have {_LARGEST_ARRAY} bytes at most"
        )
    return "constant", value.dtype, value.shape, _core.tensor_bytes(value)


def describe_all(tokens: Any) -> str:
    """The arguments of a key; sizes that may be any are s0, s1 ..."""
    numbers = itertools.count()
    text = ", ".join(map(describe, tokens))
    return re.sub(r"\?(?=[,\]])", lambda _: f"s{next(numbers)}", text)


def describe(token: Any) -> str:
    """A token of a key for people: ``float32[2, 3]``, ``int 7``."""
    if isinstance(token, Same):
        return repr(token)
    if not isinstance(token, tuple):
        return str(token)
    if len(token) == 3 and isinstance(token[1], tuple) and hasattr(token[0], "is_floating_point"):
        grad = " with gradient" if token[2] else ""
        sizes = ", ".join("?" if n is None else str(n) for n in token[1])
        return f"{token[0].name}[{sizes}]{grad}"
    if len(token) == 1:
        return token[0].__name__
    if token and token[0] == "constant":
        return f"constant {token[1].name}{list(token[2])}"
    if token and token[0] is float:
        return f"float {float.fromhex(token[1])!r}"
    if len(token) == 2 and token[0] in _PLAIN:
        return f"{token[0].__name__} {token[1]!r}" if token[1] is not None else "None"
    if len(token) == 2 and token[0] in (list, tuple):
        return f"{token[0].__name__}({', '.join(map(describe, token[1]))})"
    if len(token) == 2 and isinstance(token[0], str):
        return f"{token[0]}={describe(token[1])}"
    return " ".join(t.__name__ if isinstance(t, type) else repr(t) for t in token)
