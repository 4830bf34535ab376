"""Basic indexing of a tensor whose sizes vary, while a function is captured for any sizes.

What python/ext/index.c does with numbers is written here with Sizes (`_core.Size`): they compute
like ints, and every comparison is a guard of the captured function.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = ["window_get", "window_set"]


def _integer(value: Any) -> Any:
    return value if isinstance(value, _core.Size) else operator.index(value)


def _bound(value: Any, default: Any, n: Any, low: Any, high: Any) -> Any:
    """A bound of a slice, by Python's rules."""
    if value is None:
        return default
    value = _integer(value)
    if value < 0:
        value = value + n
        return low if value < low else value
    return high if value > high else value


def _span(item: slice, n: Any) -> tuple[Any, Any, Any]:
    """First index, number of elements, step."""
    step = 1 if item.step is None else _integer(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step > 0:
        start, stop = _bound(item.start, 0, n, 0, n), _bound(item.stop, n, n, 0, n)
        count = stop - start
    else:
        start = _bound(item.start, n - 1, n, -1, n - 1)
        stop = _bound(item.stop, -1, n, -1, n - 1)
        count = start - stop
    if (item.start is not None or item.stop is not None) and count < 0:
        return 0, 0, 1
    return start, count if abs(step) == 1 else (count + (abs(step) - 1)) // abs(step), step


@dataclass
class _Window:
    """The attributes of ``slice``, and the shape with the axes that None makes."""

    begin: list[Any] = field(default_factory=list)
    size: list[Any] = field(default_factory=list)
    step: list[Any] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)
    shape: list[Any] = field(default_factory=list)
    has_new_axes: bool = False

    def take(self, n: Any, item: Any) -> None:
        """The next axis, of size n."""
        axis = len(self.begin)
        if isinstance(item, slice):
            begin, count, step = _span(item, n)
            self.shape.append(count)
        else:
            begin, count, step = _integer(item), 1, 1
            if begin < -n or begin >= n:
                raise IndexError(
                    f"index {item} is out of bounds for axis {axis} with size {int(n)}"
                )
            begin = begin + n if begin < 0 else begin
            self.drop.append(axis)
        self.begin.append(begin)
        self.size.append(count)
        self.step.append(step)

    @property
    def attributes(self) -> tuple[list[Any], ...]:
        """As the ops take them."""
        return self.begin, self.size, self.step, self.drop


def _window(tensor: Tensor, key: Any) -> _Window:
    items = list(key) if isinstance(key, tuple) else [key]
    named = sum(item is not None and item is not Ellipsis for item in items)
    sizes = tensor.shape
    if named > len(sizes):
        raise IndexError(f"too many indices: the tensor has {len(sizes)} axes, {named} are indexed")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    window, left = _Window(), iter(sizes)
    for item in items:
        if item is None:
            window.shape.append(1)
            window.has_new_axes = True
        elif item is Ellipsis:
            for _ in range(len(sizes) - named):
                window.take(next(left), slice(None))
        else:
            window.take(next(left), item)
    return window


def window_get(tensor: Tensor, key: Any) -> Tensor:
    """``tensor[key]``."""
    window = _window(tensor, key)
    part = op_table["slice"](tensor, *window.attributes)
    return op_table["reshape"](part, tuple(window.shape)) if window.has_new_axes else part


def window_set(tensor: Tensor, key: Any, value: Any) -> Tensor:
    """What ``tensor`` is after ``tensor[key] = value``."""
    window = _window(tensor, key)
    if not isinstance(value, Tensor):
        is_number = isinstance(value, bool | int | float)
        value = Tensor(value, tensor.dtype) if is_number else _core.copy_object(value)
    if window.has_new_axes:
        wide = op_table["broadcast_to"](value, tuple(window.shape))
        plain = [n for axis, n in enumerate(window.size) if axis not in window.drop]
        value = op_table["reshape"](wide, tuple(plain))
    return op_table["slice_set"](tensor, value, *window.attributes)
