"""``x[a:b]`` with bounds known at run time only: the places that they stand for are assumed, as
``lengths`` are, since the size of the result follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor, op_table

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["settled_key"]


def settled_key(interp: Interpreter, owner: Tensor, key: Any) -> Any:
    """The key with ints for the bounds of its slices."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(item, slice) and _is_late(interp, item) for item in items):
        return key
    made, axis = [], 0
    named = sum(_width(item) for item in items)
    for item in items:
        if item is Ellipsis:
            axis += owner.ndim - named
        elif isinstance(item, slice) and axis < owner.ndim:
            item = _settled(interp, item, owner.shape[axis])
        axis += _width(item)
        made.append(item)
    return tuple(made) if isinstance(key, tuple) else made[0]


def _is_late(interp: Interpreter, item: slice) -> bool:
    return any(interp.builder.is_symbolic(part) for part in (item.start, item.stop, item.step))


def _width(item: Any) -> int:
    """How many axes an item of a key stands for."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = isinstance(item, Tensor) and item.dtype is _core.dtype("bool")
    return item.ndim if is_mask else 1


def _settled(interp: Interpreter, item: slice, size: int) -> slice:
    if not _is_late(interp, item):
        return item
    step = item.step
    if interp.builder.is_symbolic(step) or (step is not None and step < 1):
        raise interp.static_needed(
            "a slice with bounds known at run time only", "its step must be a number from 1 on"
        )
    if interp.rolls or not interp.may_assume:
        raise interp.static_needed(
            "the bounds of a slice are known at run time only",
            "the size of its result would depend on them, in each round another one",
            "take a slice of fixed size (ops.gather with start + ops.arange(n)), or mask the rest",
        )
    start, stop = (
        interp.counted(_place(part, size)) if interp.builder.is_symbolic(part) else part
        for part in (item.start, item.stop)
    )
    return slice(start, stop, step)


def _place(bound: Tensor, size: int) -> Tensor:
    """The place from 0 to ``size`` that a bound means."""
    from_end = op_table["add"](bound, op_table["mul"](op_table["less"](bound, 0), size))
    return op_table["minimum"](op_table["maximum"](from_end, 0), size)
