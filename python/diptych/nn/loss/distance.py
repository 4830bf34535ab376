"""Losses by the distance of predicted and true values, and likelihoods of counts and normals."""

from __future__ import annotations

import math

from ... import ops
from ..._core import Tensor
from ..check import check_bool, check_number
from .base import LossBase

__all__ = [
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MAELoss",
    "MSELoss",
    "PoissonNLLLoss",
    "RMSELoss",
    "SmoothL1Loss",
]


class MSELoss(LossBase):
    """(logits - labels)^2.

    >>> import diptych as ms
    >>> float(ms.nn.MSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
    2.0
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(ops.square(logits - labels))


class RMSELoss(LossBase):
    """sqrt(mean((logits - label)^2)).

    >>> import diptych as ms
    >>> float(ms.nn.RMSELoss()(ms.Tensor([3.0, 1.0]), ms.Tensor([1.0, 3.0])))
    2.0
    """

    def __init__(self) -> None:
        super().__init__()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return ops.sqrt(ops.square(logits - label).mean())


class L1Loss(LossBase):
    """abs(logits - labels).

    >>> import diptych as ms
    >>> float(ms.nn.L1Loss("sum")(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
    2.0
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(ops.abs(logits - labels))


class MAELoss(L1Loss):
    """L1Loss under its older name: abs(logits - label).

    >>> import diptych as ms
    >>> float(ms.nn.MAELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
    1.0
    """


class SmoothL1Loss(LossBase):
    """0.5 d^2 / beta below beta, d - 0.5 beta above, with d = abs(logits - labels) (Girshick 2015).

    ``reduction`` is 'none' unless it is given.

    >>> import diptych as ms
    >>> ms.nn.SmoothL1Loss()(ms.Tensor([0.5, 3.0]), ms.Tensor([0.0, 0.0])).tolist()
    [0.125, 2.5]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        check_number("SmoothL1Loss", beta=beta)
        if beta < 0:
            raise ValueError(f"For 'SmoothL1Loss', 'beta' must be 0 or more, but got {beta}")
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """0.5 d^2 below delta, delta (d - 0.5 delta) above, with d = abs(logits - labels) (Huber 1964).

    >>> import diptych as ms
    >>> ms.nn.HuberLoss("none", 2.0)(ms.Tensor([1.0, 3.0]), ms.Tensor([0.0, 0.0])).tolist()
    [0.5, 4.0]
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        check_number("HuberLoss", delta=delta)
        if delta <= 0:
            raise ValueError(f"For 'HuberLoss', 'delta' must be positive, but got {delta}")
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


class KLDivLoss(LossBase):
    """Kullback-Leibler divergence labels * (log(labels) - logits); logits are log-probabilities.

    ``reduction`` 'batchmean' divides the sum by the first size: the divergence by definition.

    >>> import diptych as ms
    >>> p = ms.Tensor([[0.5, 0.5]])
    >>> float(ms.nn.KLDivLoss("batchmean")(ms.ops.log(p), p))
    0.0
    """

    _reductions = ("mean", "sum", "none", "batchmean")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class PoissonNLLLoss(LossBase):
    """exp(input) - target * input, or input - target * log(input + eps) without ``log_input``.

    ``full`` adds Stirling's log(target!) = target log target - target + log(2 pi target) / 2 where
    target > 1.

    >>> import diptych as ms
    >>> float(ms.nn.PoissonNLLLoss()(ms.Tensor([0.0]), ms.Tensor([2.0])))
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        eps: float = 1e-8,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        check_bool("PoissonNLLLoss", log_input=log_input, full=full)
        check_number("PoissonNLLLoss", eps=eps)
        self.log_input, self.full, self.eps = log_input, full, eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        target = target.astype(input.dtype, copy=False)
        if self.log_input:
            loss = ops.exp(input) - target * input
        else:
            loss = input - target * ops.log(input + self.eps)
        if self.full:
            t = ops.maximum(target, 1.0)
            stirling = (t + 0.5) * ops.log(t) - t + 0.5 * math.log(2 * math.pi)
            loss = loss + ops.where(target > 1, stirling, ops.zeros_like(stirling))
        return self.get_loss(loss)


class GaussianNLLLoss(LossBase):
    """(log v + (logits - labels)^2 / v) / 2 with v = max(var, eps) (Nix and Weigend 1994).

    ``full`` adds log(2 pi) / 2. var has the shape of logits, or 1 in its last axis, or lacks it.

    >>> import diptych as ms
    >>> loss = ms.nn.GaussianNLLLoss()
    >>> float(loss(ms.Tensor([1.0]), ms.Tensor([3.0]), ms.Tensor([1.0])))
    2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_bool("GaussianNLLLoss", full=full)
        if isinstance(eps, bool) or not isinstance(eps, float):
            raise TypeError(f"For 'GaussianNLLLoss', 'eps' must be a float, but got {eps!r}")
        if eps <= 0:
            raise ValueError(f"For 'GaussianNLLLoss', 'eps' must be positive, but got {eps}")
        self.full, self.eps = full, eps

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)
