"""Adam and its relatives."""

from __future__ import annotations

from typing import Any

from ..bounds import bounded, pair_of, refuse_locking
from .optimizer import Optimizer, State

__all__ = ["AdaMax", "Adam", "AdamW", "AdamWeightDecay", "NAdam"]

_MOMENTS = (State("moment1", "moment1"), State("moment2", "moment2"))


class AdamBase(Optimizer):
    """The moments' settings: beta1 and beta2 in [0, 1), eps at least 0."""

    _states = _MOMENTS

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        betas: tuple[float, float],
        eps: float,
        weight_decay: Any,
        loss_scale: float = 1.0,
    ) -> None:
        cls = type(self).__name__
        self.beta1 = bounded(cls, "beta1", betas[0], 0.0, 1.0, open_high=True)
        self.beta2 = bounded(cls, "beta2", betas[1], 0.0, 1.0, open_high=True)
        self.eps = bounded(cls, "eps", eps, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, step, self.beta1, self.beta2, self.eps, decay, 1 / self.loss_scale)


class Adam(AdamBase):
    """Adam (Kingma and Ba 2015) with L2 weight decay.

    param - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps). ``use_nesterov``: with
    beta1 * m + (1 - beta1) * g for m; ``use_amsgrad``: with the largest v so far for v.
    ``use_lazy`` is about sparse gradients and ``use_offload`` about where a step runs: gradients
    here are dense and steps run on the CPU, so that both are Adam itself.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> optimizer = ms.nn.Adam([w], 0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.9
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        if use_amsgrad and use_nesterov:
            raise ValueError("For 'Adam', use_amsgrad and use_nesterov exclude each other")
        if use_lazy + use_offload + use_amsgrad > 1:
            raise ValueError("For 'Adam', use_lazy, use_offload and use_amsgrad exclude each other")
        refuse_locking("Adam", use_locking)
        self._op = "adam_amsgrad" if use_amsgrad else "adam"
        self._states = (*_MOMENTS, State("vhat", "vhat")) if use_amsgrad else _MOMENTS
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay, loss_scale)
        self.use_nesterov = use_nesterov

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.use_nesterov} if self._op == "adam" else {}


class AdamW(AdamBase):
    """Adam with bias correction and decoupled weight decay of every parameter (Loshchilov and
    Hutter 2019).

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.AdamW([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.899)
    """

    _op, _decays_all = "adamw", True

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: Any = 1e-2,
    ) -> None:
        super().__init__(params, learning_rate, pair_of("AdamW", "betas", betas), eps, weight_decay)


class AdamWeightDecay(AdamBase):
    """Adam without bias correction, with decoupled weight decay, as used for BERT.

    param - lr * (m / (sqrt(v) + eps) + weight_decay * param).

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.AdamWeightDecay([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.6838)
    """

    _op = "adam_weight_decay"
    _states = (State("moments1", "adam_m"), State("moments2", "adam_v"))

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, self.beta1, self.beta2, self.eps, decay, 1 / self.loss_scale)


class AdaMax(AdamBase):
    """Adam by the maximum norm (Kingma and Ba 2015) with L2 weight decay.

    v = max(beta2 * v, |g|); param - lr / (1 - beta1^t) * m / (v + eps).

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.AdaMax([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.9)
    """

    _op = "adamax"

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(params, learning_rate, (beta1, beta2), eps, weight_decay, loss_scale)


class NAdam(AdamBase):
    """Adam with Nesterov momentum (Dozat 2016) and L2 weight decay of every parameter.

    The momentum of step t is mu(t) = beta1 * (1 - 0.5 * 0.96^(t * momentum_decay)); the formula
    stands at ``ops.nadam``.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.NAdam([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.8944)
    """

    _op, _decays_all = "nadam", True

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        self.momentum_decay = bounded("NAdam", "momentum_decay", momentum_decay, 0.0)
        super().__init__(params, learning_rate, pair_of("NAdam", "betas", betas), eps, weight_decay)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, step, self.beta1, self.beta2, self.eps, self.momentum_decay, decay, 1.0)
