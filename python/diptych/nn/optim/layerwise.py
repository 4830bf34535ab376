"""Optimisers that measure a step against the size of the weights: Lamb, LARS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ..._core import Tensor
from ...common.parameter import Parameter
from ..bounds import bounded
from .adam import AdamBase
from .optimizer import Optimizer, OptimizerAround, State

__all__ = ["LARS", "Lamb"]


class Lamb(AdamBase):
    """Adam whose step of each parameter is as long as the parameter (You et al. 2020).

    u = m^ / (sqrt(v^) + eps) + weight_decay * param; param - lr * |param| / |u| * u.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.Lamb([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.9)
    """

    _op = "lamb"
    _states = (State("moments1", "lamb_m"), State("moments2", "lamb_v"))

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay)


def _is_scaled(p: Parameter) -> bool:
    return "LayerNorm" not in p.name and "bias" not in p.name


class LARS(OptimizerAround):
    """Scales gradients for another optimiser (You et al. 2017), whose weight decay moves here.

    g becomes r * (g + weight_decay * param) with r = coefficient * |param| / (|g| + weight_decay *
    |param| + epsilon), 1 where a norm is 0; ``use_clip``: with min(r / lr, 1) for r. Parameters for
    which ``lars_filter`` is false keep their gradient and do not decay.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 2)
    >>> optimizer = ms.nn.LARS(ms.nn.Momentum(net.trainable_params(), 0.1, 0.9))
    >>> optimizer.parameters is optimizer.opt.parameters
    True
    """

    def __init__(
        self,
        optimizer: Optimizer,
        epsilon: float = 1e-5,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _is_scaled,
    ) -> None:
        self.epsilon = bounded("LARS", "epsilon", epsilon, 0.0)
        self.coefficient = bounded("LARS", "coefficient", coefficient, 0.0, open_low=True)
        super().__init__(optimizer)
        self.use_clip = use_clip
        self.lars_flag = tuple(bool(lars_filter(p)) for p in self.parameters)
        optimizer._batches = tuple(b._replace(decay=0.0) for b in optimizer._batches)
        optimizer.weight_decay, optimizer.loss_scale = 0.0, 1.0

    def _scaled(self, p: Parameter, g: Tensor, lr: Any, decay: Any) -> Tensor:
        weight = p.value()
        size, slope = ops.norm(weight), ops.norm(g)
        ratio = self.coefficient * size / (slope + decay * size + self.epsilon)
        ratio = ops.select(ops.logical_and(size > 0, slope > 0), ratio, ops.ones_like(ratio))
        if self.use_clip:
            ratio = ops.minimum(ratio / lr, 1.0)
        return (g + decay * weight) * ratio

    def construct(self, gradients: Sequence[Tensor | None]) -> bool:
        """Scales the gradients and lets the other optimiser apply them."""
        gradients = self._check_gradients(gradients)
        rates = self._spread(self._rate(batch.rate) for batch in self._batches)
        decays = self._spread(self._decay(batch.decay) for batch in self._batches)
        made: list[Tensor | None] = []
        for p, g, lr, decay, flag in zip(
            self.parameters, gradients, rates, decays, self.lars_flag, strict=True
        ):
            if g is not None and self.loss_scale != 1:
                g = g * (1 / self.loss_scale)
            made.append(self._scaled(p, g, lr, decay) if flag and g is not None else g)
        return self.opt(made)
