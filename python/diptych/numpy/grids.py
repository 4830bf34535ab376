"""Matrices by their diagonals and triangles, grids of coordinates, and arrays of indices."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .convert import as_dtype, as_tensor, axes_of, count, sizes_of, sum_dtype, whole
from .creation import arange, linspace

__all__ = [
    "diag",
    "diag_indices",
    "diagflat",
    "diagonal",
    "indices",
    "ix_",
    "meshgrid",
    "mgrid",
    "ogrid",
    "ravel_multi_index",
    "trace",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
    "vander",
]

_table = op_table


# ---- diagonals and triangles


def diag(v: Any, k: int = 0) -> Tensor:
    """Of a vector: a matrix with it on diagonal number k. Of a matrix: its diagonal number k.

    >>> import diptych.numpy as mnp
    >>> mnp.diag(mnp.array([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    v = as_tensor(v, "v")
    if v.ndim == 1:
        return _table["diag_embed"](v, k)
    if v.ndim == 2:
        return diagonal(v, k)
    raise ValueError(f"diag: v has shape {v.shape}; it must have 1 or 2 axes")


def diagflat(v: Any, k: int = 0) -> Tensor:
    """A matrix with the elements of v on its diagonal number k."""
    return _table["diag_embed"](as_tensor(v, "v").reshape((-1,)), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the matrices over two axes, along a new last axis.

    >>> import diptych.numpy as mnp
    >>> mnp.diagonal(mnp.arange(6).reshape(2, 3), 1).tolist()
    [1, 5]
    """
    a = as_tensor(a)
    if a.ndim < 2:
        raise ValueError(f"diagonal: a has shape {a.shape}; it must have 2 axes or more")
    first, second = axes_of((axis1, axis2), a.ndim, "axis1, axis2")
    rows, columns = a.shape[first], a.shape[second]
    whole("diagonal: offset", offset)
    size = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
    if size > 0:
        return _table["diagonal"](a, offset, first, second)
    rest = [n for axis, n in enumerate(a.shape) if axis not in (first, second)]
    return _table["zeros"]((*rest, 0), a.dtype)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Sums of the diagonals of the matrices over two axes."""
    made = diagonal(a, offset, axis1, axis2)
    wanted = sum_dtype(made.dtype) if dtype is None else as_dtype(dtype)
    return _table["sum"](made, -1, False, wanted)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = _core.float32) -> Tensor:
    """An N by M matrix (M None: N) of 1 up to diagonal number k, 0 beyond."""
    return _table["tri"](N, M, k, as_dtype(dtype))


def tril(m: Any, k: int = 0) -> Tensor:
    """m with 0 beyond diagonal number k of each matrix (last two axes)."""
    return _table["tril"](as_tensor(m, "m"), k)


def triu(m: Any, k: int = 0) -> Tensor:
    """m with 0 before diagonal number k of each matrix (last two axes)."""
    return _table["triu"](as_tensor(m, "m"), k)


def _places(mask: Tensor) -> tuple[Tensor, ...]:
    found = _table["nonzero"](mask)
    return tuple(found[:, axis] for axis in range(mask.ndim))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the elements up to diagonal number k of an n by m matrix.

    >>> import diptych.numpy as mnp
    >>> [x.tolist() for x in mnp.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    columns = n if m is None else m
    return _places(_table["tri"](int(n), int(columns), int(k), _core.bool_))


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the elements from diagonal number k on of an n by m matrix."""
    columns = n if m is None else m
    below = _table["tri"](int(n), int(columns), int(k) - 1, _core.bool_)
    return _places(_table["logical_not"](below))


def _matrix(name: str, arr: Any) -> tuple[int, int]:
    arr = as_tensor(arr, "arr")
    if arr.ndim != 2:
        raise ValueError(f"{name}: arr has shape {arr.shape}; it must have 2 axes")
    return tuple(arr.shape)


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, Tensor]:
    """tril_indices for the sizes of a matrix."""
    n, m = _matrix("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Tensor, Tensor]:
    """triu_indices for the sizes of a matrix."""
    n, m = _matrix("triu_indices_from", arr)
    return triu_indices(n, k, m)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """0 .. n - 1, once for each of ndim axes: where the diagonal lies."""
    return (arange(n),) * ndim


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """Rows of powers x^(N - 1) .. x^0 of a vector (increasing: x^0 first); N None: as many as x
    has elements.

    >>> import diptych.numpy as mnp
    >>> mnp.vander(mnp.array([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    x = as_tensor(x, "x")
    n = x.size if N is None else whole("vander: N", N)
    if x.ndim != 1 or n < 0:
        raise ValueError(f"vander: x has shape {x.shape}, N is {N}; x must be 1-d, N 0 or more")
    powers = _table["arange"](0, n, 1, x.dtype)
    powers = powers if increasing else _table["flip"](powers, (0,))
    return _table["pow"](_table["expand_dims"](x, 1), powers)


# ---- grids


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of a grid, one Tensor an input; "xy" swaps the first two axes, "ij" does not;
    sparse: with size 1 along the axes of the others.

    >>> import diptych.numpy as mnp
    >>> [x.tolist() for x in mnp.meshgrid([1, 2], [3, 4, 5], sparse=True)]
    [[[1, 2]], [[3], [4], [5]]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}; it must be 'xy' or 'ij'")
    axes = [as_tensor(x, "xi").reshape((-1,)) for x in xi]
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[:2] = 1, 0
    sizes = [axes[i].size for i in order]
    thin = [
        x.reshape([-1 if a == order[i] else 1 for a in range(len(axes))])
        for i, x in enumerate(axes)
    ]
    return thin if sparse else [_table["broadcast_to"](x, sizes) for x in thin]


class _Grid:
    """``mgrid[0:3, 0:1:5j]``: coordinates by slices; an imaginary step is a number of places."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, keys: Any) -> Any:
        many = isinstance(keys, tuple)
        axes = [self._axis(key) for key in (keys if many else (keys,))]
        if not many:
            return axes[0]
        made = meshgrid(*axes, sparse=self._sparse, indexing="ij")
        return made if self._sparse else _table["stack"](made, 0)

    @staticmethod
    def _axis(key: slice) -> Tensor:
        if not isinstance(key, slice) or key.stop is None:
            raise TypeError(f"grid: the index is {key!r}; it must be a slice with an end")
        start = 0 if key.start is None else key.start
        if isinstance(key.step, complex):
            return linspace(start, key.stop, int(abs(key.step)))
        return arange(start, key.stop, 1 if key.step is None else key.step)


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)


def indices(dimensions: Any, dtype: Any = _core.int32, sparse: bool = False) -> Any:
    """The index along each axis of an array of these sizes: one Tensor with a new first axis;
    sparse: a tuple, with size 1 along the other axes.

    >>> import diptych.numpy as mnp
    >>> mnp.indices((1, 2)).tolist()
    [[[0, 0]], [[0, 1]]]
    """
    axes = [arange(n, dtype=dtype) for n in sizes_of(dimensions, "dimensions")]
    made = meshgrid(*axes, sparse=sparse, indexing="ij")
    return tuple(made) if sparse else _table["stack"](made, 0)


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors turned so that together they index a grid.

    >>> import diptych.numpy as mnp
    >>> [x.shape for x in mnp.ix_([0, 1], [2, 3, 4])]
    [(2, 1), (1, 3)]
    """
    vectors = [as_tensor(x, "args") for x in args]
    for x in vectors:
        if x.ndim != 1:
            raise ValueError(f"ix_: an input has shape {x.shape}; all must be 1-d")
    made = meshgrid(*vectors, sparse=True, indexing="ij")
    return tuple(made)


# ---- flat indices


def _strides(dims: tuple[int, ...], order: str) -> list[int]:
    """Elements between neighbours along each axis."""
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}; it must be 'C' or 'F'")
    axes = range(len(dims))
    return [count(dims[axis + 1 :] if order == "C" else dims[:axis]) for axis in axes]


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    """Flat indices as one index an axis of shape; those beyond the ends become the last or first.

    >>> import diptych.numpy as mnp
    >>> [x.tolist() for x in mnp.unravel_index([5, 2], (2, 3))]
    [[1, 0], [2, 2]]
    """
    dims = sizes_of(shape)
    flat = as_tensor(indices, "indices")
    total = count(dims)
    flat = _table["where"](flat < 0, flat + total, flat)
    flat = _table["clamp"](flat, 0, total - 1)
    pairs = zip(_strides(dims, order), dims, strict=True)
    return tuple(_table["remainder"](_table["floor_div"](flat, step), n) for step, n in pairs)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """One index an axis (the first axis of multi_index) as flat indices into dims; those outside
    are limited ("clip") or taken round ("wrap").

    >>> import diptych.numpy as mnp
    >>> mnp.ravel_multi_index([[1, 0], [2, 2]], (2, 3)).tolist()
    [5, 2]
    """
    sizes = sizes_of(dims, "dims")
    if mode not in ("clip", "wrap"):
        raise ValueError(f"ravel_multi_index: mode is {mode!r}; it must be 'clip' or 'wrap'")
    places = as_tensor(multi_index, "multi_index")
    if places.ndim == 0 or places.shape[0] != len(sizes):
        raise ValueError(
            f"ravel_multi_index: multi_index has shape {places.shape}; its first size must be "
            f"{len(sizes)}, the number of dims"
        )
    total: Any = 0
    for axis, (step, n) in enumerate(zip(_strides(sizes, order), sizes, strict=True)):
        place = places[axis]
        clip = mode == "clip"
        place = _table["clamp"](place, 0, n - 1) if clip else _table["remainder"](place, n)
        total = place * step + total
    return total
