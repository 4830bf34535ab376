"""Ops whose result sizes depend on values: ``nonzero``, ``masked_select``, ``unique`` and
``bincount``, and what is made of them, as ``x[mask]``.

Their size is assumed and checked by each run, as the length of a list that grows in a loop is (see
``growing``): in the graph a call on the host computes them, of results as long as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor, op_table
from .lengths import Counted

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["within"]

Types = list[tuple[Any, tuple[int, ...]]]

_staging = threading.local()


@contextmanager
def within(interp: Interpreter) -> Iterator[None]:
    """Inside, such ops belong to this staging."""
    before = getattr(_staging, "interp", None)
    _staging.interp = interp
    try:
        yield
    finally:
        _staging.interp = before


def _int64() -> Any:
    return _core.dtype("int64")


# The results for an input, where n is what depends on the values.
_TYPES: dict[str, Callable[[Tensor, int], Types]] = {
    "nonzero": lambda x, n: [(_int64(), (n, x.ndim))],
    "unique": lambda x, n: [(x.dtype, (n,)), (_int64(), x.shape), (_int64(), (n,))],
    "bincount": lambda x, n: [(_int64(), (n,))],
}


def _measured(op: Any, *args: Any, **kwargs: Any) -> Any:
    """The results of an op of a capture, or NotImplemented."""
    interp = getattr(_staging, "interp", None)
    if interp is None or interp.rolls or not interp.may_assume:
        return NotImplemented
    if op is op_table["masked_select"]:
        return _selected(*args, **kwargs)
    input, *more = args if args else (kwargs.pop("input"),)
    event, length = interp.next_length()

    def run(x: Tensor) -> tuple[Tensor, ...]:
        made = op(x, *more, **kwargs)
        made = made if isinstance(made, tuple) else (made,)
        if made[0].shape[0] != length:
            raise Counted(event, made[0].shape[0])
        return made

    made = _core.call_host(run, [input], _TYPES[op.__name__](input, length or 0))
    interp.assumed(length)
    return made if len(made) > 1 else made[0]


def _selected(input: Tensor, mask: Tensor) -> Tensor:
    shape = (op_table["zeros"](input.shape, "bool") | mask).shape
    input, mask = (op_table["broadcast_to"](t, shape) for t in (input, mask))
    places = op_table["nonzero"](mask)
    axes = tuple(range(mask.ndim))
    return op_table["index_get"](input, [places[:, i] for i in axes], axes=axes)


_core.set_measured(_measured)
