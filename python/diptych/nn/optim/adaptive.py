"""Optimisers that divide by the size of past gradients: RMSProp, Adagrad, Adadelta, FTRL."""

from __future__ import annotations

from typing import Any

from ..bounds import bounded, refuse_locking
from .optimizer import Optimizer, State

__all__ = ["FTRL", "Adadelta", "Adagrad", "RMSProp"]


class RMSProp(Optimizer):
    """s = decay * s + (1 - decay) * g^2; m = momentum * m + lr * g / sqrt(s + eps); param - m.

    ``centered``: sqrt(s - mean(g)^2 + eps) with the running mean of g. s starts at 1, as
    MindSpore's does.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.RMSProp([w], 0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.9)
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        refuse_locking("RMSProp", use_locking)
        self.decay = bounded("RMSProp", "decay", decay, 0.0)
        self.momentum = bounded("RMSProp", "momentum", momentum, 0.0)
        self.epsilon = bounded("RMSProp", "epsilon", epsilon, 0.0, open_low=True)
        self.centered = centered
        self._op = "rmsprop_centered" if centered else "rmsprop"
        mean = (State("mg", "mean_grad"),) if centered else ()
        self._states = (State("ms", "mean_square", 1.0), *mean, State("moment", "moment"))
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, self.decay, self.momentum, self.epsilon, decay, 1 / self.loss_scale)


class Adagrad(Optimizer):
    """accum + g^2; param - lr * g / sqrt(accum) (Duchi et al. 2011).

    Args:
        accum: what the accumulators start at.
        update_slots: False leaves the accumulators as they are.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.Adagrad([w], learning_rate=0.1)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.9047)
    """

    _op = "adagrad"

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        self._states = (State("accum", "accum", bounded("Adagrad", "accum", accum, 0.0)),)
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots = update_slots

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, 0.0, decay, 1 / self.loss_scale)

    def _attributes(self) -> dict[str, Any]:
        return {"update_slots": self.update_slots}


class Adadelta(Optimizer):
    """Steps in the units of the parameter (Zeiler 2012).

    accum = rho * accum + (1 - rho) * g^2; delta = sqrt(accum_update + eps) / sqrt(accum + eps) * g;
    accum_update = rho * accum_update + (1 - rho) * delta^2; param - lr * delta.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.Adadelta([w])((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.9968)
    """

    _op = "adadelta"
    _states = (State("accum", "accum"), State("accum_update", "accum_update"))

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        self.rho = bounded("Adadelta", "rho", rho, 0.0, 1.0)
        self.epsilon = bounded("Adadelta", "epsilon", epsilon, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, self.rho, self.epsilon, decay, 1 / self.loss_scale)


class FTRL(Optimizer):
    """Follow the regularised leader (McMahan et al. 2013), which makes weights of rare features
    exactly 0; the formula stands at ``ops.ftrl``.

    Args:
        initial_accum: what the accumulators start at.
        lr_power: at most 0.
        l1, l2: regularisation, at least 0.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.FTRL([w], learning_rate=0.5)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.2218)
    """

    _op, _decays_all = "ftrl", True

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: Any = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        refuse_locking("FTRL", use_locking)
        start = bounded("FTRL", "initial_accum", initial_accum, 0.0)
        self._states = (State("moments", "moments", start), State("linear", "linear"))
        self.lr_power = bounded("FTRL", "lr_power", lr_power, -float("inf"), 0.0)
        self.l1 = bounded("FTRL", "l1", l1, 0.0)
        self.l2 = bounded("FTRL", "l2", l2, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, self.l1, self.l2, self.lr_power, decay, 1 / self.loss_scale)
