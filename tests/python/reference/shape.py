"""Shape and data movement in NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = Sequence[int]


def cast(x: Array, dtype: Any) -> Array:
    return x.astype(dtype)


def contiguous(x: Array) -> Array:
    return x.copy()


# ---- views


def reshape(x: Array, shape: Ints) -> Array:
    return x.reshape(tuple(shape))


def flatten(x: Array, start_dim: int = 1, end_dim: int = -1) -> Array:
    if x.ndim <= 1:
        return x.reshape(-1)
    end = end_dim % x.ndim
    return x.reshape(*x.shape[:start_dim], -1, *x.shape[end + 1 :])


def expand_dims(x: Array, axis: int) -> Array:
    return np.expand_dims(x, axis)


def squeeze(x: Array, axis: Ints | None = None) -> Array:
    return np.squeeze(x, None if axis is None else tuple(axis))


def broadcast_to(x: Array, shape: Ints) -> Array:
    extra = len(shape) - x.ndim
    sizes = [x.shape[i - extra] if n == -1 else n for i, n in enumerate(shape)]
    return np.broadcast_to(x, sizes)


def transpose(x: Array, input_perm: Ints | None = None) -> Array:
    return np.transpose(x, input_perm)


def swapaxes(x: Array, axis0: int, axis1: int) -> Array:
    return np.swapaxes(x, axis0, axis1)


def _indices(n: int, begin: int, size: int, step: int) -> list[int]:
    """Positions begin, begin + step, ... inside the axis; all of them for size -1."""
    inside = [begin + k * step for k in range(n) if 0 <= begin + k * step < n]
    return inside if size < 0 else inside[:size]


def _place(shape: Ints, begin: Ints, size: Ints, step: Ints | None) -> Any:
    """The open mesh that names the elements of a slice."""
    lists = []
    for axis, n in enumerate(shape):
        b = begin[axis] if axis < len(begin) else 0
        s = size[axis] if axis < len(size) else -1
        d = step[axis] if step is not None and axis < len(step) else 1
        lists.append(_indices(n, b, s, d))
    return np.ix_(*[np.array(i, dtype=np.int64) for i in lists])


def slice(x: Array, begin: Ints, size: Ints, step: Ints | None = None, drop: Ints = ()) -> Array:
    part = x[_place(x.shape, begin, size, step)]
    return np.squeeze(part, tuple(drop)) if len(drop) else part


def slice_grad(g: Array, shape: Ints, begin: Ints, size: Ints, step: Ints | None = None,
               drop: Ints = ()) -> Array:
    return slice_set(np.zeros(shape, g.dtype), g, begin, size, step, drop)


def slice_set(x: Array, value: Array, begin: Ints, size: Ints, step: Ints | None = None,
              drop: Ints = ()) -> Array:
    out = x.copy()
    place = _place(x.shape, begin, size, step)
    sizes = out[place].shape
    kept = [n for i, n in enumerate(sizes) if i not in [d % x.ndim for d in drop]]
    out[place] = np.broadcast_to(value, kept).reshape(sizes)
    return out


def strided_slice(x: Array, begin: Ints, end: Ints, strides: Ints | None = None,
                  begin_mask: int = 0, end_mask: int = 0) -> Array:
    import builtins

    return x[tuple(
        builtins.slice(None if begin_mask >> i & 1 else b, None if end_mask >> i & 1 else e,
                       strides[i] if strides is not None else 1)
        for i, (b, e) in enumerate(zip(begin, end, strict=True))
    )]


def narrow(x: Array, axis: int, start: int, length: int) -> Array:
    return np.take(x, np.arange(length) + start % max(x.shape[axis], 1), axis)


def flip(x: Array, dims: Ints) -> Array:
    return np.flip(x, tuple(dims))


def diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return np.diagonal(x, offset, dim1, dim2)


def diagonal_grad(g: Array, shape: Ints, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    out = np.zeros(shape, g.dtype)
    ends = np.moveaxis(out, (dim1, dim2), (-2, -1))
    for k in range(g.shape[-1]):
        ends[..., k - min(offset, 0), k + max(offset, 0)] = g[..., k]
    return out


def split(x: Array, split_size_or_sections: Ints, axis: int = 0) -> tuple[Array, ...]:
    sizes = list(split_size_or_sections)
    if len(sizes) == 1:
        return tuple(np.split(x, range(sizes[0], max(x.shape[axis], 1), sizes[0]), axis))
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


def chunk(x: Array, chunks: int, axis: int = 0) -> tuple[Array, ...]:
    return split(x, [-(-x.shape[axis] // chunks)], axis)


def unstack(x: Array, axis: int = 0) -> tuple[Array, ...]:
    return tuple(np.moveaxis(x, axis, 0))


# ---- movement


def concat(*tensors: Array, axis: int = 0) -> Array:
    return np.concatenate(tensors, axis)


def stack(*tensors: Array, axis: int = 0) -> Array:
    return np.stack(tensors, axis)


def pad(x: Array, padding: Ints, mode: str = "constant", value: float = 0) -> Array:
    if x.ndim == 0:
        return x
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(padding) // 2):
        before[x.ndim - 1 - i], after[x.ndim - 1 - i] = padding[2 * i], padding[2 * i + 1]
    names = {"replicate": "edge", "circular": "wrap"}
    grown = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    extra = {"constant_values": value} if mode == "constant" else {}
    out = np.pad(x, grown, names.get(mode, mode), **extra)
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        out = np.take(out, np.arange(max(-b, 0), out.shape[axis] - max(-a, 0)), axis)
    return out


def pad_grad(g: Array, axis: int, before: int, after: int, mode: str) -> Array:
    n = g.shape[axis] - before - after
    names = {"replicate": "edge", "circular": "wrap"}
    source = np.pad(np.arange(n), (before, after), names.get(mode, mode))
    out = np.zeros_like(np.moveaxis(g, axis, 0)[:n])
    np.add.at(out, source, np.moveaxis(g, axis, 0))
    return np.moveaxis(out, 0, axis)


def tile(x: Array, multiples: Ints) -> Array:
    return np.tile(x, tuple(multiples))


def repeat_interleave(x: Array, repeats: int, axis: int | None = None) -> Array:
    return np.repeat(x, repeats, axis)


def roll(x: Array, shifts: Ints, dims: Ints | None = None) -> Array:
    return np.roll(x, shifts[0]) if dims is None else np.roll(x, tuple(shifts), tuple(dims))


def tril(x: Array, diagonal: int = 0) -> Array:
    return np.tril(x, diagonal)


def triu(x: Array, diagonal: int = 0) -> Array:
    return np.triu(x, diagonal)


def diag(x: Array, diagonal: int = 0) -> Array:
    return np.diag(x, diagonal)


def diag_embed(x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = x.shape[-1] + abs(offset)
    matrix = np.zeros((*x.shape[:-1], n, n), x.dtype)
    for k in range(x.shape[-1]):
        matrix[..., k - min(offset, 0), k + max(offset, 0)] = x[..., k]
    return np.moveaxis(matrix, (-2, -1), (dim1, dim2))


def space_to_depth(x: Array, block_size: int) -> Array:
    n, c, h, w = x.shape
    b = block_size
    out = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return out.reshape(n, b * b * c, h // b, w // b)


def depth_to_space(x: Array, block_size: int) -> Array:
    n, c, h, w = x.shape
    b = block_size
    out = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    return out.reshape(n, c // (b * b), h * b, w * b)


def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    *lead, c, h, w = x.shape
    r = upscale_factor
    out = np.empty((*lead, c // (r * r), h * r, w * r), x.dtype)
    for i in range(r):
        for j in range(r):
            out[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return out


def pixel_unshuffle(x: Array, downscale_factor: int) -> Array:
    *lead, c, h, w = x.shape
    r = downscale_factor
    out = np.empty((*lead, c * r * r, h // r, w // r), x.dtype)
    for i in range(r):
        for j in range(r):
            out[..., i * r + j :: r * r, :, :] = x[..., i::r, j::r]
    return out
