"""Reading and writing by index in NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = Sequence[int]


def _key(x: Array, axes: Ints | None, indices: Sequence[Array]) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * x.ndim
    for axis, index in zip(range(len(indices)) if axes is None else axes, indices, strict=True):
        key[axis] = index.astype(np.int64)
    return tuple(key)


def index_get(x: Array, *indices: Array, axes: Ints | None = None) -> Array:
    return x[_key(x, axes, indices)]


def index_set(x: Array, value: Array, *indices: Array, axes: Ints | None = None,
              reduction: str = "none") -> Array:
    out, key = x.copy(), _key(x, axes, indices)
    if reduction == "add":
        np.add.at(out, key, value)
    else:
        out[key] = value
    return out


def gather(x: Array, indices: Array, axis: int, batch_dims: int = 0) -> Array:
    if batch_dims == 0:
        return np.take(x, indices, axis)
    rest = axis % x.ndim - 1
    return np.stack([gather(a, i, rest, batch_dims - 1) for a, i in zip(x, indices, strict=True)])


def gather_nd(x: Array, indices: Array) -> Array:
    return x[tuple(np.moveaxis(indices, -1, 0))]


def embedding(indices: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return weight[indices]


def embedding_grad(g: Array, indices: Array, rows: int, padding_idx: int | None = None) -> Array:
    out = np.zeros((rows, g.shape[-1]), g.dtype)
    np.add.at(out, indices, g)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def one_hot(indices: Array, depth: int, on_value: float = 1, off_value: float = 0, axis: int = -1,
            dtype: Any = np.int64) -> Array:
    hot = np.moveaxis(np.expand_dims(indices % max(depth, 1), -1) == np.arange(depth), -1, axis)
    return np.where(hot, on_value, off_value).astype(dtype)


# ---- along an axis


def gather_elements(x: Array, index: Array, dim: int) -> Array:
    return np.take_along_axis(_part(x, index, dim), index.astype(np.int64), dim) if x.ndim else x


def _part(x: Array, index: Array, dim: int) -> Array:
    """x cut to the index's sizes along the other axes."""
    axis = dim % x.ndim
    return x[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(index.shape))]


def tensor_scatter_elements(x: Array, indices: Array, updates: Array, axis: int = 0,
                            reduction: str = "none") -> Array:
    out = x.copy()
    for place in np.ndindex(*indices.shape):
        to = list(place)
        to[axis] = int(indices[place])
        out[tuple(to)] = updates[place] + (out[tuple(to)] if reduction == "add" else 0)
    return out


def index_select(x: Array, index: Array, axis: int) -> Array:
    return np.take(x, index.reshape(-1), axis)


def take(x: Array, indices: Array, axis: int | None = None) -> Array:
    return np.take(x, indices, axis)


def index_add(x: Array, indices: Array, y: Array, axis: int) -> Array:
    return index_set(x, y, indices, axes=[axis % x.ndim], reduction="add")


def index_fill(x: Array, index: Array, value: Array, axis: int) -> Array:
    return index_set(x, value, index, axes=[axis % x.ndim])


# ---- at positions


def scatter_nd(indices: Array, updates: Array, shape: Ints) -> Array:
    return tensor_scatter_add(np.zeros(tuple(shape), updates.dtype), indices, updates)


def _scatter(x: Array, indices: Array, updates: Array, change: Any) -> Array:
    out = x.copy()
    change(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def tensor_scatter_update(x: Array, indices: Array, updates: Array) -> Array:
    out = x.copy()
    out[tuple(np.moveaxis(indices, -1, 0))] = updates
    return out


def tensor_scatter_add(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.add.at)


def tensor_scatter_sub(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.subtract.at)


def tensor_scatter_mul(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.multiply.at)


def tensor_scatter_div(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.divide.at)


def tensor_scatter_max(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.maximum.at)


def tensor_scatter_min(x: Array, indices: Array, updates: Array) -> Array:
    return _scatter(x, indices, updates, np.minimum.at)


# ---- by a mask


def masked_fill(x: Array, mask: Array, value: Array) -> Array:
    return np.where(mask, value.astype(x.dtype), x)


def masked_select(x: Array, mask: Array) -> Array:
    wide, where = np.broadcast_arrays(x, mask)
    return wide[where]


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    out, where = x.copy(), np.broadcast_to(mask, x.shape)
    out[where] = source.reshape(-1)[: int(where.sum())]
    return out


def nonzero(x: Array) -> Array:
    return np.stack(np.nonzero(x), -1) if x.ndim else np.zeros((int(x != 0), 0), np.int64)
