"""Gradient descent: plain, with momentum, averaged, and by signs."""

from __future__ import annotations

from typing import Any

from ..bounds import bounded, pair_of
from .optimizer import Optimizer, State

__all__ = ["ASGD", "SGD", "Momentum", "Rprop"]


class SGD(Optimizer):
    """v = momentum * v + (1 - dampening) * g; param - lr * v, with g including weight decay.

    ``nesterov``: param - lr * (g + momentum * v); needs momentum above 0 and dampening 0. The first
    step takes the gradient whole: v starts as g.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.SGD([w], 0.5)((ms.Tensor([1.0]),)), w.tolist()
    (True, [0.5])
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        self.momentum = bounded("SGD", "momentum", momentum, 0.0)
        self.dampening = bounded("SGD", "dampening", dampening, 0.0)
        if nesterov and (not momentum or dampening):
            raise ValueError(
                "For 'SGD', 'nesterov' needs momentum above 0 and dampening 0, "
                f"but got momentum={momentum}, dampening={dampening}"
            )
        self._op = "momentum" if momentum else "sgd"
        self._states = (State("accum", "accum"),) if momentum else ()
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.nesterov = nesterov

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        if not self.momentum:
            return (lr, decay, 1 / self.loss_scale)
        dampening = self.dampening and self.dampening * (step > 1)
        return (lr, self.momentum, dampening, decay, 1 / self.loss_scale)

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.nesterov} if self.momentum else {}


class Momentum(Optimizer):
    """v = momentum * v + g; param - lr * v, or param - lr * (g + momentum * v) with Nesterov.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.Momentum([w], 0.5, 0.9)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.5)
    """

    _op, _states = "momentum", (State("moments", "moments"),)

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        self.momentum = bounded("Momentum", "momentum", momentum, 0.0)
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.use_nesterov = use_nesterov

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, self.momentum, 0.0, decay, 1 / self.loss_scale)

    def _attributes(self) -> dict[str, Any]:
        return {"use_nesterov": self.use_nesterov}


class ASGD(Optimizer):
    """Averaged gradient descent (Polyak and Juditsky 1992).

    eta = lr / (1 + lambd * lr * (step - 1))^alpha; param * (1 - lambd * eta) - eta * g. The average
    ``ax`` is the parameter until step t0 + 2 and its running mean from there on.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.ASGD([w], 0.5)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.4999)
    """

    _op, _states = "asgd", (State("ax", "ax"),)

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        self.lambd = bounded("ASGD", "lambd", lambd, 0.0)
        self.alpha = bounded("ASGD", "alpha", alpha, 0.0)
        self.t0 = bounded("ASGD", "t0", t0, 0.0)
        super().__init__(learning_rate, params, weight_decay)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        return (lr, step, self.lambd, self.alpha, self.t0, decay, 1.0)


class Rprop(Optimizer):
    """Resilient propagation (Riedmiller and Braun 1993): each weight moves by a size of its own
    against the sign of its gradient.

    Args:
        learning_rate: the sizes of the first step.
        etas: the factor where the sign turned, in (0, 1), and where it stayed, above 1.
        step_sizes: the least and the largest size.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
    >>> ms.nn.Rprop([w], 0.25)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 0.75)
    """

    _op, _states = "rprop", (State("prev", "prev"), State("step_size", "step_size"))

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        minus, plus = pair_of("Rprop", "etas", etas)
        low, high = pair_of("Rprop", "step_sizes", step_sizes)
        self.etaminus = bounded("Rprop", "etas[0]", minus, 0.0, 1.0, open_low=True, open_high=True)
        self.etaplus = bounded("Rprop", "etas[1]", plus, 1.0, open_low=True)
        self.step_size_min = bounded("Rprop", "step_sizes[0]", low, 0.0)
        self.step_size_max = bounded("Rprop", "step_sizes[1]", high, self.step_size_min)
        super().__init__(learning_rate, params, weight_decay)

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        sizes = (self.etaminus, self.etaplus, self.step_size_min, self.step_size_max)
        return (lr, step, *sizes, decay, 1.0)
