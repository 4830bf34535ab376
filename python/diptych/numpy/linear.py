"""Products of vectors and matrices, norms, and how variables vary together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from .._core import Tensor, op_table
from .arrange import moveaxis
from .convert import as_float, as_tensor, axes_of, cast, listed

__all__ = [
    "corrcoef",
    "cov",
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matrix_power",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
]

_table = op_table


# ---- products


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """Matrix products over the last two axes, the others broadcast; vectors as rows or columns.

    >>> import diptych.numpy as mnp
    >>> mnp.matmul([[1, 2], [3, 4]], [1, 1]).tolist()
    [3, 7]
    """
    return cast(_table["matmul"](as_tensor(x1, "x1"), as_tensor(x2, "x2")), dtype)


def dot(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axis of a and the last but one (of vectors the last) of b;
    with a number the product."""
    x, y = as_tensor(a), as_tensor(b, "b")
    return _table["mul"](x, y) if 0 in (x.ndim, y.ndim) else ops.dot(x, y)


def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axes; with a number the product."""
    return ops.inner(as_tensor(a), as_tensor(b, "b"))


def outer(a: Any, b: Any) -> Tensor:
    """Products of all pairs of the flattened inputs.

    >>> import diptych.numpy as mnp
    >>> mnp.outer([1, 2], [3, 4]).tolist()
    [[3, 4], [6, 8]]
    """
    return ops.outer(as_tensor(a).reshape((-1,)), as_tensor(b, "b").reshape((-1,)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over axes of a and b: the last and the first so many, or a pair of lists.

    >>> import diptych.numpy as mnp
    >>> mnp.tensordot(mnp.ones((2, 3)), mnp.ones((3, 2))[None], ([1], [1])).shape
    (2, 1, 2)
    """
    pair = axes if isinstance(axes, int) else listed("tensordot: axes", axes)
    return ops.tensordot(as_tensor(a), as_tensor(b, "b"), pair)


def kron(a: Any, b: Any) -> Tensor:
    """Kronecker's product: blocks of b, one an element of a, times that element."""
    return ops.kron(as_tensor(a), as_tensor(b, "b"))


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Tensor:
    """Cross products of vectors of 2 or 3 elements along axisa and axisb, laid along axisc (axis:
    all three); of two plane vectors the number that stands at right angles to them.

    >>> import diptych.numpy as mnp
    >>> mnp.cross([1, 0, 0], [0, 1, 0]).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = as_tensor(a), as_tensor(b, "b")
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError(
            f"cross: the vectors have {x.shape[-1]} and {y.shape[-1]} elements; they must have 2 "
            "or 3"
        )
    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (_table["pad"](v, (0, 1)) if v.shape[-1] == 2 else v for v in (x, y))
    roll = _table["roll"]
    made = roll(x, -1, -1) * roll(y, -2, -1) - roll(x, -2, -1) * roll(y, -1, -1)
    return moveaxis(made, -1, axisc)


def _best_cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For matrices i..j of a chain (matrix i is sizes[i] by sizes[i + 1]) where the cheapest
    order of products cuts it last. Cormen et al., Introduction to Algorithms, 15.2."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    cuts = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            cuts[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[cuts[i, j]]
    return cuts


def multi_dot(arrays: Any) -> Tensor:
    """The product of a chain of matrices in the cheapest order; the first and the last may be
    vectors.

    >>> import diptych.numpy as mnp
    >>> mnp.multi_dot([mnp.ones((2, 3)), mnp.ones((3, 4)), mnp.ones(4)]).tolist()
    [12.0, 12.0]
    """
    chain = [as_tensor(x, "arrays") for x in listed("multi_dot: arrays", arrays)]
    if len(chain) < 2:
        raise ValueError(f"multi_dot: {len(chain)} arrays; there must be two or more")
    row, column = chain[0].ndim == 1, chain[-1].ndim == 1
    if row:
        chain[0] = chain[0].reshape((1, -1))
    if column:
        chain[-1] = chain[-1].reshape((-1, 1))
    for x in chain:
        if x.ndim != 2:
            raise ValueError(f"multi_dot: an array has shape {x.shape}; it must have 2 axes")
    cuts = _best_cuts([*(x.shape[0] for x in chain), chain[-1].shape[1]])

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return chain[i]
        return _table["matmul"](product(i, cuts[i, j]), product(cuts[i, j] + 1, j))

    made = product(0, len(chain) - 1)
    made = made[0] if row else made
    return made[..., 0] if column else made


def matrix_power(a: Any, n: int) -> Tensor:
    """Square matrices (last two axes) times themselves, n factors, n >= 0.

    >>> import diptych.numpy as mnp
    >>> mnp.matrix_power(mnp.array([[1, 1], [0, 1]]), 5).tolist()
    [[1, 5], [0, 1]]
    """
    a = as_tensor(a)
    if not isinstance(n, int) or n < 0 or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"matrix_power: a has shape {a.shape}, n is {n!r}; a must be of square matrices, n an "
            "int, 0 or more"
        )
    made = _table["broadcast_to"](_table["eye"](a.shape[-1], None, a.dtype), a.shape)
    for bit in bin(n)[2:]:
        made = _table["matmul"](made, made)
        made = _table["matmul"](made, a) if bit == "1" else made
    return made


def norm(
    x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of vectors (one axis) or matrices (two axes); axis None: of all elements, or of x
    itself if ord is given. ord None is the root of the sum of squares.

    >>> import diptych.numpy as mnp
    >>> mnp.norm([3.0, 4.0]).item()
    5.0
    """
    x = as_float(as_tensor(x, "x"))
    axes = axes_of(axis, x.ndim)
    if axis is None and ord is not None and x.ndim > 2:
        raise ValueError(f"norm: ord is {ord}, x has shape {x.shape}; name one or two axes")
    return cast(ops.norm(x, ord, axes[0] if len(axes) == 1 else axes, keepdims), dtype)


# ---- covariance


def _observations(m: Any, y: Any, rowvar: bool) -> Tensor:
    """Variables as rows."""
    parts = []
    for v in (m, y):
        if v is None:
            continue
        x = as_float(as_tensor(v, "m"))
        if x.ndim > 2:
            raise ValueError(f"cov: an input has shape {x.shape}; it has at most 2 axes")
        x = x.reshape((1, -1)) if x.ndim < 2 else x
        parts.append(x if rowvar or x.shape[0] == 1 else x.swapaxes(0, 1))
    return parts[0] if len(parts) == 1 else _table["concat"](parts, 0)


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """Covariances of variables (rows; rowvar False: columns) of m and y over observations, which
    count fweights times and weigh aweights. The sum is divided by their number less ddof (None: 1,
    with bias 0).

    >>> import diptych.numpy as mnp
    >>> mnp.cov([[0.0, 2.0], [2.0, 0.0]]).tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    x = _observations(m, y, rowvar)
    weights = [None if w is None else as_tensor(w, "weights") for w in (fweights, aweights)]
    correction = (0 if bias else 1) if ddof is None else ddof
    made = ops.cov(x, correction=correction, fweights=weights[0], aweights=weights[1])
    return cast(_table["squeeze"](made), dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """Correlations of variables (rows; rowvar False: columns) of x and y over observations."""
    return cast(_table["squeeze"](ops.corrcoef(_observations(x, y, rowvar))), dtype)
