"""Reductions, running sums, sorting and searching, in NumPy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Axis = int | tuple[int, ...] | None


def _axes(x: Array, axis: Axis) -> Axis:
    """A tensor of one number has the axes 0 and -1, which hold it alone."""
    if axis is None or axis == ():
        return None
    return axis if x.ndim else None


def _wide(x: Array) -> Array:
    if x.dtype == np.bool_ or (x.dtype.kind in "iu" and x.dtype != np.uint64):
        return x.astype(np.int64)
    return x


def _float(x: Array) -> Array:
    return x.astype(np.float64)


def sum(x: Array, axis: Axis = None, keep_dims: bool = False, dtype: Any = None) -> Array:
    r = np.sum(_wide(x), axis=_axes(x, axis), keepdims=keep_dims)
    return r if dtype is None else np.asarray(r).astype(dtype)


def prod(x: Array, axis: Axis = None, keep_dims: bool = False, dtype: Any = None) -> Array:
    r = np.prod(_wide(x), axis=_axes(x, axis), keepdims=keep_dims)
    return r if dtype is None else np.asarray(r).astype(dtype)


def mean(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    n = _float(x).sum(axis=_axes(x, axis), keepdims=keep_dims)
    return n * np.size(n) / x.size if x.size else n / 0.0


def amax(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    return np.max(x, axis=_axes(x, axis), keepdims=keep_dims)


def amin(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    return np.min(x, axis=_axes(x, axis), keepdims=keep_dims)


def all(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    return np.all(x != 0, axis=_axes(x, axis), keepdims=keep_dims)


def any(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    return np.any(x != 0, axis=_axes(x, axis), keepdims=keep_dims)


def count_nonzero(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    return np.sum(x != 0, axis=_axes(x, axis), keepdims=keep_dims, dtype=np.int64)


def var(x: Array, axis: Axis = None, keep_dims: bool = False, ddof: int = 0) -> Array:
    return np.var(_float(x), axis=_axes(x, axis), keepdims=keep_dims, ddof=ddof)


def std(x: Array, axis: Axis = None, keep_dims: bool = False, ddof: int = 0) -> Array:
    return np.std(_float(x), axis=_axes(x, axis), keepdims=keep_dims, ddof=ddof)


def norm(x: Array, axis: Axis = None, keep_dims: bool = False, p: float = 2) -> Array:
    a, axis = np.abs(_float(x)), _axes(x, axis)
    if p == 0:
        return np.sum(a != 0, axis=axis, keepdims=keep_dims).astype(np.float64)
    if math.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keep_dims)
    return np.sum(a**p, axis=axis, keepdims=keep_dims) ** (1 / p)


def logsumexp(x: Array, axis: Axis = None, keep_dims: bool = False) -> Array:
    axis, x = _axes(x, axis), _float(x)
    top = np.max(x, axis=axis, keepdims=True)
    r = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return r if keep_dims else np.squeeze(r, axis=axis)


# ---- places


def _arg(f: Callable[..., Any], x: Array, axis: int | None, keep_dims: bool) -> Array:
    return np.asarray(f(x, axis=None if x.ndim == 0 else axis, keepdims=keep_dims), np.int64)


def argmax(x: Array, axis: int | None = None, keep_dims: bool = False) -> Array:
    return _arg(np.argmax, x, axis, keep_dims)


def argmin(x: Array, axis: int | None = None, keep_dims: bool = False) -> Array:
    return _arg(np.argmin, x, axis, keep_dims)


def max_with_index(
    x: Array, axis: int | None = None, keep_dims: bool = False
) -> tuple[Array, Array]:
    return np.max(x, axis=axis, keepdims=keep_dims), _arg(np.argmax, x, axis, keep_dims)


def min_with_index(
    x: Array, axis: int | None = None, keep_dims: bool = False
) -> tuple[Array, Array]:
    return np.min(x, axis=axis, keepdims=keep_dims), _arg(np.argmin, x, axis, keep_dims)


# ---- running along an axis


def _lines(x: Array, axis: int) -> tuple[Array, Callable[[Array], Array]]:
    """The lines along an axis as rows, and the way back."""
    if x.ndim == 0:
        return x.reshape(1, 1), lambda y: y.reshape(())
    moved = np.moveaxis(x, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])

    def back(y: Array) -> Array:
        return np.moveaxis(y.reshape(*moved.shape[:-1], y.shape[-1]), -1, axis)

    return rows, back


def _running(
    op: Callable[..., Any], start: int, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    rows, back = _lines(_wide(x), axis)
    rows = rows[:, ::-1] if reverse else rows
    out = np.empty_like(rows)
    for row, to in zip(rows, out, strict=True):
        carried = row.dtype.type(start)
        for i, v in enumerate(row):
            following = op(carried, v)
            to[i] = carried if exclusive else following
            carried = following
    return back(out[:, ::-1] if reverse else out)


def cumsum(
    x: Array, axis: int, exclusive: bool = False, reverse: bool = False, dtype: Any = None
) -> Array:
    r = _running(np.add, 0, x, axis, exclusive, reverse)
    return r if dtype is None else r.astype(dtype)


def cumprod(
    x: Array, dim: int, exclusive: bool = False, reverse: bool = False, dtype: Any = None
) -> Array:
    r = _running(np.multiply, 1, x, dim, exclusive, reverse)
    return r if dtype is None else r.astype(dtype)


def _extreme(better: Callable[[Any, Any], bool], x: Array, axis: int) -> tuple[Array, Array]:
    rows, back = _lines(x, axis)
    values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
    for r, row in enumerate(rows):
        at = 0
        for i, v in enumerate(row):
            if v != v or better(v, row[at]):
                at = i
            values[r, i], indices[r, i] = row[at], at
    return back(values), back(indices)


def cummax(x: Array, axis: int) -> tuple[Array, Array]:
    return _extreme(lambda a, b: bool(a >= b), x, axis)


def cummin(x: Array, axis: int) -> tuple[Array, Array]:
    return _extreme(lambda a, b: bool(a <= b), x, axis)


def logcumsumexp(x: Array, axis: int) -> Array:
    return np.log(np.cumsum(np.exp(_float(x)), axis=axis))


# ---- order


def _order(row: Array, descending: bool) -> Array:
    """Indices by value, equal ones by place; NaN is the largest."""
    values = [(bool(v != v), v if v == v else 0) for v in row.tolist()]
    return np.asarray(
        sorted(range(len(row)), key=values.__getitem__, reverse=False)
        if not descending
        else sorted(range(len(row)), key=lambda i: (values[i][0], values[i][1], -i), reverse=True),
        np.int64,
    )


def argsort(x: Array, axis: int = -1, descending: bool = False) -> Array:
    rows, back = _lines(x, axis)
    return back(np.stack([_order(r, descending) for r in rows]))


def sort(x: Array, axis: int = -1, descending: bool = False) -> tuple[Array, Array]:
    rows, back = _lines(x, axis)
    order = np.stack([_order(r, descending) for r in rows])
    return back(np.take_along_axis(rows, order, 1)), back(order)


def topk(
    x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    rows, back = _lines(x, dim)
    order = np.stack([_order(r, largest)[:k] for r in rows])
    return back(np.take_along_axis(rows, order, 1)), back(order)


def median(x: Array, axis: int = -1, keep_dims: bool = False) -> tuple[Array, Array]:
    rows, back = _lines(x, axis)
    order = np.stack([_order(r, False)[(len(r) - 1) // 2 :][:1] for r in rows])
    both = back(np.take_along_axis(rows, order, 1)), back(order)
    if keep_dims or x.ndim == 0:
        return both
    return np.squeeze(both[0], axis), np.squeeze(both[1], axis)


def searchsorted(s: Array, v: Array, right: bool = False) -> Array:
    side = "right" if right else "left"
    if s.ndim == 1:
        return np.searchsorted(s, v, side)
    rows, _ = _lines(s, -1)
    values, back = _lines(v, -1)
    found = [np.searchsorted(a, b, side) for a, b in zip(rows, values, strict=True)]
    return back(np.stack(found))


def unique(x: Array, sorted: bool = True) -> tuple[Array, Array, Array]:
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.arange(len(first)) if sorted else np.argsort(first)
    inverse = np.argsort(order)[inverse.ravel()] if x.size else inverse
    return values[order], inverse.reshape(x.shape), counts[order]


def bincount(x: Array, minlength: int = 0) -> Array:
    return np.bincount(x.astype(np.int64), minlength=minlength)


def histc(x: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    if min == max and x.size:
        min, max = x.min(), x.max()
    if min == max:
        min, max = min - 1, max + 1
    return np.histogram(x, bins, (min, max))[0].astype(np.int32)
