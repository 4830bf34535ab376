"""What all optimisers share: parameters, learning rate, states, the two ways of stepping.

Functional: ``grads = grad_fn(x); optimizer(grads)``. By the tape: ``loss.backward()`` adds into
``Parameter.grad``, ``optimizer.step()`` applies that and clears it. Both do the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ... import ops
from ..._core import Tensor, update_params
from ...common.parameter import Parameter, ParameterTuple
from ..cell import Cell

__all__ = ["Optimizer"]


def _number(cls: str, name: str, value: Any, low: float, high: float = float("inf")) -> float:
    """``value`` as float within [low, high], or an error naming it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"For '{cls}', '{name}' must be a number, but got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"For '{cls}', '{name}' must be in [{low}, {high}], but got {value}")
    return float(value)


class Optimizer(Cell):
    """Base of optimisers. A subclass sets ``_op`` (an update op), ``_states`` (the prefixes of its
    state parameters) and gives ``_numbers(lr)`` and ``_attributes()``.

    Args:
        learning_rate: a positive number, a 0-d Tensor, a sequence with one rate a step, or a
            Cell called with the step number.
        parameters: the Parameters to train; those that do not require a gradient are refused.
        weight_decay: at least 0.
        loss_scale: gradients are divided by it.
    """

    _op: str
    _states: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: Any,
        parameters: Iterable[Parameter],
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        cls = type(self).__name__
        params = list(parameters)
        if not params:
            raise ValueError(f"For '{cls}', the list of parameters is empty")
        for i, p in enumerate(params):
            if not isinstance(p, Parameter):
                raise TypeError(
                    f"For '{cls}', 'params' must hold Parameters, but item {i} is "
                    f"{type(p).__name__}"
                )
            if not p.requires_grad:
                raise ValueError(f"For '{cls}', parameter '{p.name}' does not require a gradient")
        if len({id(p) for p in params}) != len(params):
            raise ValueError(f"For '{cls}', a parameter is given twice")
        self.weight_decay = _number(cls, "weight_decay", weight_decay, 0.0)
        self.loss_scale = _number(cls, "loss_scale", loss_scale, 1e-38)
        self._schedule: Any = None
        self.learning_rate = self._rate(learning_rate)
        self.global_step = Parameter(
            ops.zeros((1,), ops.int32), name="global_step", requires_grad=False)
        self.parameters = ParameterTuple(params)
        self._lists: tuple[ParameterTuple, ...] = tuple(
            ParameterTuple([
                Parameter(ops.zeros(p.shape, p.dtype), name=f"{prefix}.{p.name}",
                          requires_grad=False)
                for p in params
            ])
            for prefix in self._states
        )
        for prefix, states in zip(self._states, self._lists, strict=True):
            setattr(self, prefix, states)

    def _rate(self, rate: Any) -> Parameter:
        """The learning rate as a Parameter; schedules are kept beside it."""
        cls = type(self).__name__
        if callable(rate) and not isinstance(rate, Tensor):
            self._schedule = rate
            rate = float(rate(ops.zeros((1,), ops.int32)))
        elif isinstance(rate, list | tuple) or (isinstance(rate, Tensor) and rate.ndim == 1):
            rates = [float(r) for r in rate]
            if not rates:
                raise ValueError(f"For '{cls}', 'learning_rate' is an empty sequence")
            self._schedule = lambda step: rates[min(int(step.item()), len(rates) - 1)]
            rate = rates[0]
        elif isinstance(rate, Tensor):
            rate = float(rate)
        _number(cls, "learning_rate", rate, 0.0)
        return Parameter(Tensor(rate, ops.float32), name="learning_rate", requires_grad=False)

    def get_lr(self) -> Tensor:
        """The learning rate of the next step, a 0-d Tensor."""
        if self._schedule is not None:
            self.learning_rate.set_data(
                Tensor(float(self._schedule(self.global_step)), ops.float32))
        return self.learning_rate

    def construct(self, gradients: Sequence[Tensor | None]) -> bool:
        """Applies one gradient a parameter (None leaves that parameter alone); returns True.
        When it fails, out of memory included, parameters, states and step are as before."""
        lr = self.get_lr()
        next_step = self.global_step + 1
        update_params(
            self._op,
            self.parameters,
            self._lists,
            gradients,
            (lr, *self._numbers(next_step)),
            **self._attributes(),
        )
        self.global_step.set_data(next_step)
        return True

    def step(self) -> None:
        """Applies every ``Parameter.grad`` and clears it."""
        self.construct([p.grad for p in self.parameters])
        self.zero_grad()

    def zero_grad(self) -> None:
        """Clears every ``Parameter.grad``."""
        for p in self.parameters:
            p.grad = None

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Leaves names alone: the parameters belong to the network."""

    def _numbers(self, step: Tensor) -> tuple[Any, ...]:
        """The numbers of the update op after the learning rate; step: of this step, from 1."""
        raise NotImplementedError(f"{type(self).__name__} does not give its numbers")

    def _attributes(self) -> dict[str, Any]:
        return {}

    def extend_repr(self) -> str:
        return f"parameters={len(self.parameters)}, weight_decay={self.weight_decay}"
