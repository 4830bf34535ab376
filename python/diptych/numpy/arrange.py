"""The same elements in another order or shape: axes, joining, splitting, turning, repeating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .._core import Tensor, op_table
from .convert import (
    as_tensor,
    axes_of,
    axis_of,
    broadcast_shape,
    count,
    listed,
    sizes_of,
    whole,
    wholes,
)

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concatenate",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "moveaxis",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "vsplit",
    "vstack",
]

_table = op_table


# ---- axes


def reshape(x: Any, new_shape: Any) -> Tensor:
    """The same elements with other sizes; one may be -1."""
    return _table["reshape"](as_tensor(x, "x"), new_shape)


def ravel(x: Any) -> Tensor:
    """All elements in one axis."""
    return as_tensor(x, "x").reshape((-1,))


def transpose(a: Any, axes: Any = None) -> Tensor:
    """Axes in another order; None: reversed.

    >>> import diptych.numpy as mnp
    >>> mnp.transpose(mnp.ones((1, 2, 3)), (0, 2, 1)).shape
    (1, 3, 2)
    """
    return _table["transpose"](as_tensor(a), axes)


def expand_dims(a: Any, axis: Any) -> Tensor:
    """New axes of size 1 that stand at ``axis`` of the result."""
    a = as_tensor(a)
    many = axis if isinstance(axis, list | tuple) else (axis,)
    places = axes_of(axis, a.ndim + len(many))
    rest = iter(a.shape)
    return a.reshape([1 if i in places else next(rest) for i in range(a.ndim + len(many))])


def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Without axes of size 1; None: without all of them."""
    return _table["squeeze"](as_tensor(a), axis)


def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes changed against each other."""
    x = as_tensor(x, "x")
    first, second = axis_of(axis1, x.ndim, "axis1"), axis_of(axis2, x.ndim, "axis2")
    return _table["swapaxes"](x, first, second)


def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places, the rest kept in order."""
    a = as_tensor(a)
    first = axes_of(wholes("source", source), a.ndim, "source")
    return ops.moveaxis(a, first, axes_of(wholes("destination", destination), a.ndim))


def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """One axis moved until it stands before ``start``.

    >>> import diptych.numpy as mnp
    >>> mnp.rollaxis(mnp.ones((1, 2, 3)), 2).shape
    (3, 1, 2)
    """
    x = as_tensor(x, "x")
    axis = axis_of(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis: start is {start}; legal: [{-x.ndim}, {x.ndim}]")
    start = start + x.ndim if start < 0 else start
    order = [a for a in range(x.ndim) if a != axis]
    order.insert(start - (axis < start), axis)
    return _table["transpose"](x, order)


def size(a: Any, axis: Any = None) -> int:
    """Number of elements, or along the axes given."""
    a = as_tensor(a)
    return count([a.shape[i] for i in axes_of(axis, a.ndim)])


def broadcast_to(array: Any, shape: Any) -> Tensor:
    """Repeated along axes of size 1 up to ``shape``."""
    return _table["broadcast_to"](as_tensor(array, "array"), sizes_of(shape))


def broadcast_arrays(*args: Any) -> list[Tensor]:
    """All inputs in the shape that they broadcast to together."""
    arrays = [as_tensor(x, "args") for x in args]
    shape = broadcast_shape("broadcast_arrays", [x.shape for x in arrays])
    return [_table["broadcast_to"](x, shape) for x in arrays]


def _at_least(rank: int, place: Callable[[Tensor], Any]) -> Callable[..., Any]:
    def function(*arys: Any) -> Any:
        arrays = [as_tensor(x, "arys") for x in arys]
        made = [x if x.ndim >= rank else x.reshape(place(x)) for x in arrays]
        return made[0] if len(made) == 1 else made

    function.__name__ = function.__qualname__ = f"atleast_{rank}d"
    function.__doc__ = f"Axes of size 1 added up to {rank}; of several inputs, a list."
    return function


atleast_1d = _at_least(1, lambda x: (1,))
atleast_2d = _at_least(2, lambda x: (1, x.size))
atleast_3d = _at_least(3, lambda x: (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))


# ---- joining


def _several(name: str, arrays: Any) -> list[Tensor]:
    """A list of arrays; the slices of one along its first axis."""
    made = [as_tensor(x, "arrays") for x in listed(f"{name}: arrays", arrays)]
    if not made:
        raise ValueError(f"{name}: the list of arrays is empty; it must hold at least one")
    return made


def concatenate(arrays: Any, axis: Any = 0) -> Tensor:
    """Joined along an axis; None: all flattened first. The dtypes are promoted.

    >>> import diptych.numpy as mnp
    >>> mnp.concatenate(([1, 2], [3.5])).tolist()
    [1.0, 2.0, 3.5]
    """
    many = _several("concatenate", arrays)
    if axis is None:
        return _table["concat"]([x.reshape((-1,)) for x in many], 0)
    return _table["concat"](many, axis_of(axis, many[0].ndim))


def append(arr: Any, values: Any, axis: Any = None) -> Tensor:
    """values after arr along axis; None: both flattened first."""
    return concatenate((arr, values), axis)


def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Joined along a new axis."""
    many = _several("stack", arrays)
    return _table["stack"](many, axis_of(axis, many[0].ndim + 1))


def hstack(tup: Any) -> Tensor:
    """Joined along axis 1, vectors along axis 0."""
    return ops.hstack(_several("hstack", tup))


def vstack(tup: Any) -> Tensor:
    """Joined along axis 0, vectors as rows."""
    return ops.vstack(_several("vstack", tup))


def dstack(tup: Any) -> Tensor:
    """Joined along axis 2, matrices as (n, m, 1), vectors as (1, n, 1)."""
    return ops.dstack(_several("dstack", tup))


def column_stack(tup: Any) -> Tensor:
    """Joined along axis 1, vectors as columns."""
    return ops.column_stack(_several("column_stack", tup))


# ---- splitting


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along axis: this many nearly equal ones, or cut before each of the given indices.

    >>> import diptych.numpy as mnp
    >>> [part.tolist() for part in mnp.array_split(mnp.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    x = as_tensor(x, "x")
    cuts = indices_or_sections
    if not isinstance(cuts, int):
        cuts = wholes("indices_or_sections", cuts)
    return ops.tensor_split(x, cuts, axis_of(axis, x.ndim))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """array_split whose sections must be equal."""
    x = as_tensor(x, "x")
    n = x.shape[axis_of(axis, x.ndim)]
    sections = indices_or_sections
    if isinstance(sections, int) and (sections < 1 or n % sections):
        raise ValueError(f"split: {sections} sections of {n} elements; they must be equal")
    return array_split(x, sections, axis)


def _split_along(name: str, rank: int, axis: int) -> Callable[..., tuple[Tensor, ...]]:
    def function(x: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
        x = as_tensor(x, "x")
        if x.ndim < rank:
            raise ValueError(f"{name}: x has shape {x.shape}; it must have {rank} axes or more")
        return split(x, indices_or_sections, min(axis, x.ndim - 1))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"split along axis {axis}{', of a vector along axis 0' * (rank == axis)}."
    return function


hsplit = _split_along("hsplit", 1, 1)
vsplit = _split_along("vsplit", 2, 0)
dsplit = _split_along("dsplit", 3, 2)


# ---- turning and repeating


def flip(m: Any, axis: Any = None) -> Tensor:
    """Axes reversed; None: all."""
    m = as_tensor(m, "m")
    return _table["flip"](m, axes_of(axis, m.ndim))


def flipud(m: Any) -> Tensor:
    """Axis 0 reversed."""
    return flip(m, 0)


def fliplr(m: Any) -> Tensor:
    """Axis 1 reversed."""
    return flip(m, 1)


def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """Turned k times by 90 degrees in the plane of two axes, from the first to the second.

    >>> import diptych.numpy as mnp
    >>> mnp.rot90([[1, 2], [3, 4]]).tolist()
    [[2, 4], [1, 3]]
    """
    a = as_tensor(a)
    return ops.rot90(a, whole("rot90: k", k), axes_of(axes, a.ndim, "axes"))


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Elements shifted along axes, those beyond the end coming back at the start; axis None: in
    the order of memory. One shift serves several axes, and several shifts of one axis add up.

    >>> import diptych.numpy as mnp
    >>> mnp.roll([1, 2, 3], 1).tolist()
    [3, 1, 2]
    """
    a = as_tensor(a)
    shifts = wholes("roll: shift", shift)
    if axis is None:
        return _table["roll"](a.reshape((-1,)), sum(shifts), 0).reshape(a.shape)
    axes = wholes("roll: axis", axis)
    n = max(len(shifts), len(axes))
    if len(shifts) not in (1, n) or len(axes) not in (1, n):
        raise ValueError(f"roll: shift {shift} and axis {axis} differ in length")
    total = [0] * a.ndim
    for i in range(n):
        total[axis_of(axes[i % len(axes)], a.ndim)] += shifts[i % len(shifts)]
    return _table["roll"](a, total, list(range(a.ndim)))


def tile(a: Any, reps: Any) -> Tensor:
    """Repeated as a whole along each axis."""
    return _table["tile"](as_tensor(a), reps)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Tensor:
    """Each element (slice along axis; None: of the flattened array) repeated; repeats is one number
    or one for each.

    >>> import diptych.numpy as mnp
    >>> mnp.repeat([1, 2], [1, 3]).tolist()
    [1, 2, 2, 2]
    """
    a = as_tensor(a)
    x, along = (a.reshape((-1,)), 0) if axis is None else (a, axis_of(axis, a.ndim))
    times = list(repeats) if isinstance(repeats, list | tuple) else [repeats]
    if any(not isinstance(n, int) or n < 0 for n in times):
        raise ValueError(f"repeat: repeats is {repeats!r}; it must be ints, 0 or more")
    if len(times) not in (1, x.shape[along]):
        raise ValueError(
            f"repeat: repeats has {len(times)} numbers; one, or one for each of {x.shape[along]}"
        )
    places = [i for i in range(x.shape[along]) for _ in range(times[i % len(times)])]
    if len(times) == 1 and times[0]:
        return _table["repeat_interleave"](x, times[0], along)
    index = Tensor(places) if places else _table["zeros"]((0,), "int64")
    return _table["index_select"](x, index, along)
