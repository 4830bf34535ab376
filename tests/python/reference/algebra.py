"""Matrix products in double."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _swapped(x: Array, swap: bool) -> Array:
    return x.swapaxes(-1, -2) if swap and x.ndim > 1 else x


def matmul(x: Array, y: Array, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    return np.matmul(_swapped(x, transpose_a), _swapped(y, transpose_b))


def dense(x: Array, weight: Array, bias: Array | None = None) -> Array:
    y = x @ weight.T
    return y if bias is None else y + bias


def einsum(*operands: Array, equation: str) -> Array:
    return np.einsum(equation, *operands)


def cholesky(x: Array, upper: bool = False) -> Array:
    return _swapped(np.linalg.cholesky(x), upper)


def solve_triangular(
    a: Array, b: Array, trans: bool = False, lower: bool = False, unit_diagonal: bool = False
) -> Array:
    half = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        half = half - half * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    return np.linalg.solve(_swapped(half, trans), b)


def real(x: Array) -> Array:
    return np.real(x)


def imag(x: Array) -> Array:
    return np.zeros_like(x)


def conj(x: Array) -> Array:
    return np.conj(x)
