"""Functions of mathematics as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell
from .check import check_bool, check_number

__all__ = ["DiGamma", "LBeta", "LGamma", "Moments", "Range", "ReduceLogSumExp"]


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) over ``axis``, without overflow.

    >>> import diptych as ms
    >>> round(float(ms.nn.ReduceLogSumExp(0)(ms.Tensor([0.0, 0.0]))), 4)
    0.6931
    """

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__()
        check_bool("ReduceLogSumExp", keep_dims=keep_dims)
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        axis = None if self.axis == () else self.axis
        return ops.logsumexp(x, axis, self.keep_dims)


class Range(Cell):
    """start, start + delta, ... before ``limit``; Range(n) is 0 ... n - 1. Whole numbers give
    int64.

    >>> import diptych as ms
    >>> ms.nn.Range(1, 8, 3)().tolist()
    [1, 4, 7]
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1) -> None:
        super().__init__()
        check_number("Range", start=start, delta=delta)
        if delta == 0:
            raise ValueError("For 'Range', 'delta' must not be 0")
        if limit is not None:
            check_number("Range", limit=limit)
        self.bounds = (0, start) if limit is None else (start, limit)
        self.delta = delta

    def construct(self) -> Tensor:
        return ops.arange(*self.bounds, self.delta)


class LGamma(Cell):
    """log(abs(gamma(x))).

    >>> import diptych as ms
    >>> round(float(ms.nn.LGamma()(ms.Tensor(4.0))), 4)
    1.7918
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.lgamma(x)


class DiGamma(Cell):
    """The slope of log(gamma(x)).

    >>> import diptych as ms
    >>> round(float(ms.nn.DiGamma()(ms.Tensor(1.0))), 4)
    -0.5772
    """

    def construct(self, x: Tensor) -> Tensor:
        return ops.digamma(x)


class LBeta(Cell):
    """log of the beta function: log(gamma(x) gamma(y) / gamma(x + y)).

    >>> import diptych as ms
    >>> round(float(ms.nn.LBeta()(ms.Tensor(2.0), ms.Tensor(3.0))), 4)
    -2.4849
    """

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)


class Moments(Cell):
    """(mean, variance without correction) over ``axis`` (None or (): all axes); ``keep_dims`` None
    drops the axes.

    >>> import diptych as ms
    >>> mean, variance = ms.nn.Moments(0)(ms.Tensor([1.0, 3.0]))
    >>> float(mean), float(variance)
    (2.0, 1.0)
    """

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        if keep_dims is not None:
            check_bool("Moments", keep_dims=keep_dims)
        self.axis, self.keep_dims = (None if axis == () else axis), bool(keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = ops.mean(x, self.axis, self.keep_dims)
        return mean, ops.var(x, self.axis, keep_dims=self.keep_dims)
