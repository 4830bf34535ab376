"""Indexing with lists, integer tensors and masks, by NumPy's rules.

A key becomes one slice call for its basic part (slices, None, Ellipsis) and one index_get call with
an index tensor for each other axis; writing does the same with index_set. Basic keys alone never
come here (python/ext/index.c).
"""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table


def _index_tensor(item: Any) -> Tensor | None:
    """The item as an integer or bool tensor; None: it is a basic item."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return None
    if isinstance(item, Tensor):
        t = item
    elif isinstance(item, int) and not isinstance(item, bool):
        return None
    elif isinstance(item, list | tuple) or hasattr(item, "__array__"):
        t = _core.copy_object(item)
        if t.size == 0 and isinstance(item, list | tuple):
            t = t.astype("int64")  # nothing in it says of which type
    elif isinstance(item, bool | float):
        t = Tensor(item)
    else:
        raise IndexError(
            f"an index is of type {type(item).__name__}; indices are ints, slices, None, '...', "
            "or integer or bool tensors and lists"
        )
    if t.dtype.is_floating_point:
        raise IndexError(
            f"an index is of dtype {t.dtype.name}; indices are ints, slices, None, '...', or "
            "integer or bool tensors and lists"
        )
    return t


def _check_mask(mask: Tensor, shape: tuple[int, ...], axis: int) -> None:
    """NumPy's rule: the mask's sizes are those of the axes it stands for."""
    if len(shape) < axis + mask.ndim:
        raise IndexError(f"too many indices: the tensor has {len(shape)} axes")
    for i, n in enumerate(mask.shape):
        if n != shape[axis + i]:
            raise IndexError(
                f"the mask has size {n} along axis {axis + i}, the tensor {shape[axis + i]}"
            )


class _Key:
    """A key taken apart: ``basic`` for the slice call, ``arrays`` {axis after it: index}."""

    def __init__(self, shape: tuple[int, ...], key: Any) -> None:
        items = key if isinstance(key, tuple) else (key,)
        parsed = [(item, _index_tensor(item)) for item in items]
        if sum(item is Ellipsis for item in items) > 1:
            raise IndexError("an index can hold one ellipsis ('...') only")
        named = sum(self._width(item, t) for item, t in parsed)
        if named > len(shape):
            raise IndexError(
                f"too many indices: the tensor has {len(shape)} axes, {named} are indexed"
            )
        if not any(item is Ellipsis for item in items):
            parsed.append((Ellipsis, None))
        self.basic: list[Any] = []
        self.arrays: dict[int, Tensor] = {}
        self._shape = shape
        self._place(parsed, len(shape) - named)

    @staticmethod
    def _width(item: Any, t: Tensor | None) -> int:
        """How many axes the item stands for."""
        if t is not None:
            return t.ndim if t.dtype is _core.bool_ else 1
        return 0 if item is None or item is Ellipsis else 1

    def _place(self, parsed: list[tuple[Any, Tensor | None]], rest: int) -> None:
        axis = out = 0  # of the tensor; of what the basic part gives
        groups: list[int] = []  # positions of index items in the key, ints included
        for position, (item, t) in enumerate(parsed):
            if t is not None:
                width = self._add_array(t, axis, out)
                self.basic.extend([slice(None)] * width)
                axis, out = axis + self._width(item, t), out + width
                groups.append(position)
            elif item is Ellipsis:
                self.basic.extend([slice(None)] * rest)
                axis, out = axis + rest, out + rest
            elif item is None:
                self.basic.append(None)
                out += 1
            elif isinstance(item, slice):
                self.basic.append(item)
                axis, out = axis + 1, out + 1
            else:  # an int beside arrays is an array of one
                self._add_int(int(item), axis, out)
                self.basic.append(slice(None))
                axis, out = axis + 1, out + 1
                groups.append(position)
        # something stands between index items: NumPy puts their axes first
        self.is_split = groups[-1] - groups[0] + 1 != len(groups)

    def _add_int(self, i: int, axis: int, out: int) -> None:
        n = self._shape[axis]
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
        self.arrays[out] = Tensor(i % n)

    def _add_array(self, t: Tensor, axis: int, out: int) -> int:
        """Puts the index (for a mask: one index an axis); returns how many axes it takes."""
        if t.dtype is not _core.bool_:
            self.arrays[out] = t
            return 1
        if t.ndim == 0:
            raise IndexError(
                "a bool scalar is no index; a mask has the sizes of the axes it covers"
            )
        _check_mask(t, self._shape, axis)
        places = op_table["nonzero"](t)
        for i in range(t.ndim):
            self.arrays[out + i] = places[:, i]
        return t.ndim

    def moved(self, rank: int) -> tuple[int, ...] | None:
        """Axes of index_get's result in NumPy's order; None: they are in it already.

        They differ only where an empty ellipsis stands between index arrays.
        """
        axes = list(self.arrays)
        adjacent = axes[-1] - axes[0] + 1 == len(axes)
        if not self.is_split or not adjacent or axes[0] == 0:
            return None
        wide = max(t.ndim for t in self.arrays.values())
        first = axes[0]
        return (*range(first, first + wide), *range(first), *range(first + wide, rank))


def _taken(tensor: Tensor, key: Any) -> tuple[_Key, Tensor, tuple[int, ...]]:
    taken = _Key(tensor.shape, key)
    base = tensor[tuple(taken.basic)]
    return taken, base, tuple(taken.arrays)


def index_get(tensor: Tensor, key: Any) -> Tensor:
    """``tensor[key]`` for a key with index arrays."""
    taken, base, axes = _taken(tensor, key)
    picked = op_table["index_get"](base, list(taken.arrays.values()), axes=axes)
    perm = taken.moved(picked.ndim)
    return picked if perm is None else picked.transpose(perm)


def index_set(tensor: Tensor, key: Any, value: Any) -> Tensor:
    """What ``tensor`` is after ``tensor[key] = value`` for a key with index arrays."""
    taken, base, axes = _taken(tensor, key)
    v = value if isinstance(value, Tensor) else _core.copy_object(value)
    arrays = list(taken.arrays.values())
    if taken.is_split:
        picked = op_table["index_get"](base, arrays, axes=axes)
        perm = taken.moved(picked.ndim)
        if perm is not None:
            v = op_table["broadcast_to"](v, tuple(picked.shape[i] for i in perm))
            v = v.transpose(tuple(perm.index(i) for i in range(len(perm))))
    changed = op_table["index_set"](base, v, arrays, axes=axes)
    if all(isinstance(item, slice) and item == slice(None) for item in taken.basic):
        return changed
    made = +tensor
    made[tuple(taken.basic)] = changed
    return made
