"""Products, matrices of vectors and distances made of table ops, under MindSpore's signatures."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = [
    "addr",
    "batch_dot",
    "block_diag",
    "cdist",
    "cholesky_inverse",
    "complex",
    "corrcoef",
    "cov",
    "cross",
    "ger",
    "kron",
    "mv",
    "trace",
    "vander",
]

_table = op_table


def _check_rank(op: str, name: str, x: Tensor, rank: int) -> None:
    if x.ndim != rank:
        raise ValueError(f"{op}: {name} has shape {x.shape}; it must have {rank} axes")


def mv(mat: Tensor, vec: Tensor) -> Tensor:
    """mat (n, m) times vec (m).

    >>> from diptych import Tensor, ops
    >>> ops.mv(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    _check_rank("mv", "mat", mat, 2)
    _check_rank("mv", "vec", vec, 1)
    return _table["matmul"](mat, vec)


def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of all pairs of two vectors: outer under its BLAS name.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.ger(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
    [[3. 4.]
     [6. 8.]]
    """
    _check_rank("ger", "input", input, 1)
    _check_rank("ger", "vec2", vec2, 1)
    return _table["expand_dims"](input, 1) * vec2


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * x + alpha * (vec1 outer vec2); x broadcasts to (n, m).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.addr(ops.zeros((2, 2)), ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
    [[3. 4.]
     [6. 8.]]
    """
    return x * beta + ger(vec1, vec2) * alpha


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product: blocks of other, one an element of input, times that element.

    >>> from diptych import Tensor, ops
    >>> ops.kron(Tensor([1.0, 2.0]), Tensor([1.0, 10.0])).tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    rank = max(input.ndim, other.ndim)
    left = (1,) * (rank - input.ndim) + tuple(input.shape)
    right = (1,) * (rank - other.ndim) + tuple(other.shape)
    x = input.reshape([n for size in left for n in (size, 1)])
    y = other.reshape([n for size in right for n in (1, size)])
    return (x * y).reshape([a * b for a, b in zip(left, right, strict=True)])


def batch_dot(x1: Tensor, x2: Tensor, axes: Any = None) -> Tensor:
    """Sum of products over one axis of x1 (n, ...) and one of x2 (n, ...), sample by sample.

    axes: the axis of both, or a pair of them, not axis 0; None: the last axis of x1 and the last
    but one of x2 (the last, if x2 has two axes). The result has the other axes of x1, then those
    of x2; (n, 1) if none are left.

    >>> from diptych import ops
    >>> ops.batch_dot(ops.ones((2, 3, 4)), ops.ones((2, 4)), (2, 1)).shape
    (2, 3)
    """
    shapes = f"x1 has shape {x1.shape}, x2 {x2.shape}"
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[0] != x2.shape[0]:
        raise ValueError(f"batch_dot: {shapes}; both need 2 axes or more, and as many samples")
    if axes is None:
        axes = (x1.ndim - 1, x2.ndim - 1 if x2.ndim == 2 else x2.ndim - 2)
    first, second = (axes, axes) if isinstance(axes, int) else axes
    a, b = first % x1.ndim, second % x2.ndim
    if a == 0 or b == 0 or x1.shape[a] != x2.shape[b]:
        raise ValueError(
            f"batch_dot: axes is {axes}, {shapes}; the axes must be of one size and not axis 0"
        )
    keep1 = [i for i in range(1, x1.ndim) if i != a]
    keep2 = [i for i in range(1, x2.ndim) if i != b]
    n, size = x1.shape[0], x1.shape[a]
    rows, columns = [x1.shape[i] for i in keep1], [x2.shape[i] for i in keep2]
    left = _table["transpose"](x1, (0, *keep1, a)).reshape((n, math.prod(rows), size))
    right = _table["transpose"](x2, (0, b, *keep2)).reshape((n, size, math.prod(columns)))
    return _table["matmul"](left, right).reshape((n, *(rows + columns or [1])))


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product of vectors of 3 elements along dim (None: the first axis of size 3).

    >>> from diptych import Tensor, ops
    >>> ops.cross(Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 0.0])).tolist()
    [0.0, 0.0, 1.0]
    """
    sizes = list(input.shape)
    axis = dim if dim is not None else sizes.index(3) if 3 in sizes else 0
    there = -len(sizes) <= axis < len(sizes)
    if input.shape != other.shape or not there or sizes[axis] != 3:
        raise ValueError(
            f"cross: inputs have shapes {input.shape} and {other.shape}, dim is {dim}; the shapes "
            "must be equal and the axis must have size 3"
        )
    roll = _table["roll"]
    left = roll(input, -1, axis) * roll(other, -2, axis)
    return left - roll(input, -2, axis) * roll(other, -1, axis)


def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.trace(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
    5.0
    """
    _check_rank("trace", "input", input, 2)
    return _table["sum"](_table["diagonal"](input))


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Rows of powers x^(N - 1) .. x^0 of a vector; N None: as many as x has elements.

    >>> from diptych import Tensor, ops
    >>> ops.vander(Tensor([2.0, 3.0]), 3).tolist()
    [[4.0, 2.0, 1.0], [9.0, 3.0, 1.0]]
    """
    _check_rank("vander", "x", x, 1)
    n = x.shape[0] if N is None else N
    if n < 0:
        raise ValueError(f"vander: N is {N}; it must be 0 or more")
    powers = _table["arange"](n - 1, -1, -1, x.dtype)
    return _table["pow"](_table["expand_dims"](x, 1), powers)


def block_diag(*inputs: Tensor) -> Tensor:
    """Matrices (vectors count as rows, numbers as 1 by 1) along the diagonal of a matrix of 0.

    >>> from diptych import Tensor, ops
    >>> ops.block_diag(Tensor([[1.0]]), Tensor([2.0, 3.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    """
    for i, x in enumerate(inputs):
        if x.ndim > 2:
            raise ValueError(f"block_diag: input {i} has shape {x.shape}; it has at most 2 axes")
    blocks = [x.reshape((1,) * (2 - x.ndim) + tuple(x.shape)) for x in inputs]
    width = sum(x.shape[1] for x in blocks)
    rows, before = [], 0
    for x in blocks:
        rows.append(_table["pad"](x, (before, width - before - x.shape[1])))
        before += x.shape[1]
    return _table["concat"](rows, 0)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """p-norms of the differences between the rows of x1 (..., n, d) and x2 (..., m, d).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.cdist(ms.Tensor([[0.0, 0.0]]), ms.Tensor([[3.0, 4.0], [0.0, 1.0]])))
    [[5. 1.]]
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1] or p < 0:
        raise ValueError(
            f"cdist: inputs have shapes {x1.shape} and {x2.shape}, p is {p}; both need rows of the "
            "same length, p must be 0 or more"
        )
    difference = _table["expand_dims"](x1, -2) - _table["expand_dims"](x2, -3)
    return _table["norm"](difference, -1, False, p)


def cholesky_inverse(input_x: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix (n, n) whose Cholesky factor is input_x, lower or upper triangular.

    >>> from diptych import Tensor, ops
    >>> ops.cholesky_inverse(Tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()
    [[0.25, 0.0], [0.0, 1.0]]
    """
    _check_rank("cholesky_inverse", "input_x", input_x, 2)
    solve, one = _table["solve_triangular"], _table["eye"](input_x.shape[0], dtype=input_x.dtype)
    half = solve(input_x, one, trans=upper, lower=not upper)
    return solve(input_x, half, trans=not upper, lower=not upper)


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of their parts: float32 tensors of one shape give complex64, float64 ones
    complex128.

    >>> from diptych import Tensor, ops
    >>> ops.complex(Tensor([1.0, 2.0]), Tensor([0.0, -1.0])).tolist()
    [(1+0j), (2-1j)]
    """
    return _table["complex_core"](real, imag)


def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """Covariances of variables (rows) over observations (columns); a vector is one variable.

    Observations count fweights times and weigh aweights; the sum of products is divided by their
    number less ``correction`` (with aweights w: sum w - correction * sum w a / sum w).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.cov(ms.Tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]])))
    [[ 1. -2.]
     [-2.  4.]]
    """
    if input.ndim > 2:
        raise ValueError(f"cov: input has shape {input.shape}; it has at most 2 axes")
    x = input.reshape((1, -1)) if input.ndim < 2 else input
    if not x.dtype.is_floating_point:
        x = x.astype(_core.float32)
    weights = [w.astype(x.dtype) for w in (fweights, aweights) if w is not None]
    if not weights:
        centred = x - x.mean(1, True)
        product = centred @ centred.swapaxes(0, 1) / (x.shape[1] - correction)
    else:
        w = weights[0] if len(weights) == 1 else weights[0] * weights[1]
        total = w.sum()
        centred = x - (x * w).sum(1, True) / total
        spread = total if aweights is None else (w * weights[-1]).sum() / total
        count = total - correction * (1 if aweights is None else spread)
        product = (centred * w) @ centred.swapaxes(0, 1) / count
    return product.reshape(()) if input.ndim < 2 else product


def corrcoef(input: Tensor) -> Tensor:
    """Correlations of variables (rows) over observations (columns).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.corrcoef(ms.Tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]])))
    [[ 1. -1.]
     [-1.  1.]]
    """
    c = cov(input)
    if c.ndim == 0:
        return c / c
    deviation = _table["sqrt"](_table["diagonal"](c))
    ratio = c / _table["expand_dims"](deviation, 1) / deviation
    return _table["clamp"](ratio, -1.0, 1.0)
