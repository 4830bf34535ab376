"""Gradient descent, with and without momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...common.dtype import float32
from ...common.parameter import Parameter
from ...common.tensor import Tensor
from .optimizer import Optimizer, _number

__all__ = ["SGD", "Momentum"]


class SGD(Optimizer):
    """v = momentum * v + (1 - dampening) * g; param - lr * v, with g including weight decay.

    ``nesterov``: param - lr * (g + momentum * v); needs momentum above 0 and dampening 0.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        self.momentum = _number("SGD", "momentum", momentum, 0.0)
        self.dampening = _number("SGD", "dampening", dampening, 0.0)
        if nesterov and (not momentum or dampening):
            raise ValueError(
                "For 'SGD', 'nesterov' needs momentum above 0 and dampening 0, "
                f"but got momentum={momentum}, dampening={dampening}"
            )
        self._op = "momentum" if momentum else "sgd"
        self._states = ("accum",) if momentum else ()
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.nesterov = nesterov

    def _numbers(self, step: Tensor) -> tuple[Any, ...]:
        common = (self.weight_decay, 1 / self.loss_scale)
        if not self.momentum:
            return common
        # The first step takes the gradient whole: the accumulator starts as g, not (1 - d) g.
        dampening = self.dampening and (step > 1).astype(float32) * self.dampening
        return (self.momentum, dampening, *common)

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.nesterov} if self.momentum else {}


class Momentum(Optimizer):
    """v = momentum * v + g; param - lr * v, or param - lr * (g + momentum * v) with Nesterov."""

    _op, _states = "momentum", ("moments",)

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: Any,
        momentum: float,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        self.momentum = _number("Momentum", "momentum", momentum, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.use_nesterov = use_nesterov

    def _numbers(self, step: Tensor) -> tuple[Any, ...]:
        return (self.momentum, 0.0, self.weight_decay, 1 / self.loss_scale)

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.use_nesterov}
