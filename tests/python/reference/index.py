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
