"""Adam and its relatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...common.parameter import Parameter
from ...common.tensor import Tensor
from .optimizer import Optimizer, _number

__all__ = ["Adam", "AdamW", "AdamWeightDecay"]


class _AdamBase(Optimizer):
    """The moments and their settings."""

    _states: tuple[str, ...] = ("moment1", "moment2")

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        loss_scale: float = 1.0,
    ) -> None:
        cls = type(self).__name__
        self.beta1 = _number(cls, "beta1", betas[0], 0.0, 1.0)
        self.beta2 = _number(cls, "beta2", betas[1], 0.0, 1.0)
        self.eps = _number(cls, "eps", eps, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def _moments(self) -> tuple[float, ...]:
        return (self.beta1, self.beta2, self.eps, self.weight_decay, 1 / self.loss_scale)

    def _numbers(self, step: Tensor) -> tuple[Any, ...]:
        return (step, *self._moments())


class Adam(_AdamBase):
    """Adam (Kingma and Ba 2015) with L2 weight decay.

    param - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps).
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
    ) -> None:
        if use_amsgrad and use_nesterov:
            raise ValueError("For 'Adam', use_amsgrad and use_nesterov exclude each other")
        if use_locking:
            raise ValueError("For 'Adam', use_locking does not apply: updates are never concurrent")
        self._op = "adam_amsgrad" if use_amsgrad else "adam"
        self._states = ("moment1", "moment2", "vhat")[: 3 if use_amsgrad else 2]
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay, loss_scale)
        self.use_nesterov = use_nesterov

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.use_nesterov} if self._op == "adam" else {}


class AdamW(_AdamBase):
    """Adam with bias correction and decoupled weight decay (Loshchilov and Hutter 2019)."""

    _op = "adamw"

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, learning_rate, betas, eps, weight_decay)


class AdamWeightDecay(_AdamBase):
    """Adam without bias correction, with decoupled weight decay, as used for BERT.

    param - lr * (m / (sqrt(v) + eps) + weight_decay * param).
    """

    _op = "adam_weight_decay"

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay)

    def _numbers(self, step: Tensor) -> tuple[Any, ...]:
        return self._moments()
