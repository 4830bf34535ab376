"""What all optimisers share: parameters, learning rates, states, the two ways of stepping.

Functional: ``grads = grad_fn(x); optimizer(grads)``. By the tape: ``loss.backward()`` adds into
``Parameter.grad``, ``optimizer.step()`` applies that and clears it. Both do the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ... import ops
from ..._core import Tensor, update_params
from ...common.parameter import Parameter, ParameterTuple
from ..bounds import bounded
from ..cell import Cell
from ..learning_rate_schedule import CalledRate, ListedRate
from .groups import Choice, read_params

__all__ = ["Optimizer"]


class State(NamedTuple):
    """One state a parameter: the attribute that holds them all, and the prefix of their names."""

    attribute: str
    prefix: str
    init: float = 0.0


class _Batch(NamedTuple):
    """Parameters that one call of the update op steps: they share rate and decay."""

    places: tuple[int, ...]
    params: ParameterTuple
    states: tuple[ParameterTuple, ...]
    rate: str  # the attribute that holds the learning rate
    decay: Any
    centralized: bool


def _make_rate(cls: str, name: str, rate: Any) -> Parameter | Cell:
    """A rate as a Parameter, or as a Cell of the step."""
    if isinstance(rate, Cell):
        return rate
    if hasattr(rate, "tolist"):  # a Tensor or NumPy's
        if rate.ndim > 1:
            raise ValueError(
                f"For '{cls}', 'learning_rate' must have 0 or 1 dimensions, got {rate.ndim}"
            )
        rate = rate.tolist()
    elif callable(rate):
        return CalledRate(rate)
    if isinstance(rate, Iterable) and not isinstance(rate, str):
        return ListedRate(cls, rate)
    number = bounded(cls, "learning_rate", rate, 0.0)
    return Parameter(Tensor(number, ops.float32), name=name, requires_grad=False)


class Optimizer(Cell):
    """Base of optimisers. A subclass sets ``_op`` (an update op) and ``_states`` and gives
    ``_numbers(lr, step, decay)``; or it gives a ``construct`` of its own over ``parameters``,
    ``get_lr()``, ``decay_weight`` and ``scale_grad``.

    Args:
        learning_rate: a number of at least 0, a 0-d Tensor, a sequence (list, array, 1-d Tensor)
            with one rate a step whose last one stays, a function of the step, or a
            LearningRateSchedule.
        parameters: the Parameters to train (those that do not require a gradient are refused), or
            groups: dicts with ``params`` and, of their own, ``lr``, ``weight_decay`` and
            ``grad_centralization`` (the mean over all axes but the first is taken off gradients of
            two and more); a dict with ``order_params`` alone gives the order of gradients.
        weight_decay: at least 0, or a Cell of the step. In a plain list it leaves out parameters
            whose names hold "beta" or "gamma".
        loss_scale: above 0; gradients are divided by it.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 1)
    >>> groups = [{"params": [net.weight], "weight_decay": 0.01}, {"params": [net.bias], "lr": 0.1}]
    >>> optimizer = ms.nn.Momentum(groups, 0.5, 0.9)
    >>> [round(lr.item(), 2) for lr in optimizer.get_lr()]
    [0.5, 0.1]
    """

    _op: str
    _states: tuple[State, ...] = ()
    _decays_all = False

    def __init__(
        self,
        learning_rate: Any,
        parameters: Iterable[Parameter] | Iterable[dict],
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(auto_prefix=False)
        cls = type(self).__name__
        choices, groups = read_params(cls, parameters, weight_decay, self._decays_all)
        self.weight_decay = weight_decay
        self.loss_scale = bounded(cls, "loss_scale", loss_scale, 0.0, open_low=True)
        self.global_step = Parameter(
            ops.zeros((1,), ops.int32), name="global_step", requires_grad=False
        )
        self.learning_rate = _make_rate(cls, "learning_rate", learning_rate)
        for i, group in enumerate(groups):
            if "lr" in group:
                name = f"learning_rate_group_{i}"
                setattr(self, name, _make_rate(cls, name, group["lr"]))
        self.is_group = bool(groups)
        self.is_group_lr = any(c.rate >= 0 for c in choices)
        self.parameters = ParameterTuple(c.param for c in choices)
        for state in self._states:
            setattr(self, state.attribute, self._make_states(state))
        self._batches = self._make_batches(choices)

    def _make_states(self, state: State) -> ParameterTuple:
        """One a parameter, of its dtype, but of at least 32 bits."""
        return ParameterTuple(
            Parameter(
                ops.full(
                    p.shape, state.init, dtype=p.dtype if p.dtype.itemsize >= 4 else ops.float32
                ),
                name=f"{state.prefix}.{p.name}",
                requires_grad=False,
            )
            for p in self.parameters
        )

    def _make_batches(self, choices: list[Choice]) -> tuple[_Batch, ...]:
        places: dict[tuple[Any, ...], list[int]] = {}
        for i, c in enumerate(choices):
            key = (c.rate, id(c.decay) if isinstance(c.decay, Cell) else c.decay, c.centralized)
            places.setdefault(key, []).append(i)
        return tuple(self._make_batch(mine, choices[mine[0]]) for mine in places.values())

    def _make_batch(self, places: list[int], choice: Choice) -> _Batch:
        states = tuple(
            ParameterTuple(getattr(self, state.attribute)[i] for i in places)
            for state in self._states
        )
        rate = "learning_rate" if choice.rate < 0 else f"learning_rate_group_{choice.rate}"
        params = ParameterTuple(self.parameters[i] for i in places)
        return _Batch(tuple(places), params, states, rate, choice.decay, choice.centralized)

    # ---- rates and decays

    def _rate(self, name: str) -> Any:
        """The present rate that the attribute gives."""
        rate = getattr(self, name)
        return rate(self.global_step).reshape(()) if isinstance(rate, Cell) else rate

    def _decay(self, decay: Any) -> Any:
        return decay(self.global_step).reshape(()) if isinstance(decay, Cell) else decay

    def _spread(self, values: Iterable[Any]) -> tuple[Any, ...]:
        """A value for each batch as a value for each parameter."""
        made: list[Any] = [None] * len(self.parameters)
        for batch, value in zip(self._batches, values, strict=True):
            for i in batch.places:
                made[i] = value
        return tuple(made)

    def get_lr(self) -> Any:
        """The learning rate of the next step, a 0-d Tensor; with rates in groups a tuple, one a
        parameter."""
        if self.is_group_lr:
            return self._spread(self._rate(batch.rate) for batch in self._batches)
        return self._rate("learning_rate")

    def get_lr_parameter(self, param: Any) -> Any:
        """Where the rate of a Parameter (or of a list of them) is kept: a Parameter or a Cell."""
        if isinstance(param, list | tuple):
            return [self.get_lr_parameter(p) for p in param]
        for batch in self._batches:
            if any(p is param for p in batch.params):
                return getattr(self, batch.rate)
        raise ValueError(
            f"get_lr_parameter: {getattr(param, 'name', param)!r} is no parameter of this optimizer"
        )

    def get_weight_decay(self) -> Any:
        """The weight decay of the next step; with groups a tuple, one a parameter."""
        if self.is_group:
            return self._spread(self._decay(batch.decay) for batch in self._batches)
        return self._decay(self.weight_decay)

    # ---- steps

    def _check_gradients(self, gradients: Any) -> Sequence[Tensor | None]:
        """One a parameter; the update looks at their sizes."""
        cls = type(self).__name__
        if not isinstance(gradients, tuple | list):
            got = type(gradients).__name__
            raise TypeError(f"For '{cls}', the gradients must be a tuple, but got {got}")
        if len(gradients) != len(self.parameters):
            raise ValueError(
                f"For '{cls}', {len(self.parameters)} parameters but {len(gradients)} gradients"
            )
        return gradients

    def construct(self, gradients: Sequence[Tensor | None]) -> bool:
        """Applies one gradient a parameter (None leaves that parameter alone); returns True. A step
        that fails changes nothing."""
        gradients = self._check_gradients(gradients)
        step = self.global_step + 1
        numbers = [
            self._numbers(self._rate(b.rate), step, self._decay(b.decay)) for b in self._batches
        ]
        groups = []
        for batch, values in zip(self._batches, numbers, strict=True):
            whole = len(numbers) == 1
            grads = gradients if whole else [gradients[i] for i in batch.places]
            if batch.centralized:
                grads = [_centralized(g) for g in grads]
            groups.append((batch.params, batch.states, grads, values))
        update_params(self._op, groups, **self._attributes())
        self.global_step._assign(step)
        return True

    def step(self) -> None:
        """Applies every ``Parameter.grad`` and clears it."""
        self.construct([p.grad for p in self.parameters])
        self.zero_grad()

    def zero_grad(self) -> None:
        """Clears every ``Parameter.grad``."""
        for p in self.parameters:
            p.grad = None

    def _numbers(self, lr: Any, step: Any, decay: Any) -> tuple[Any, ...]:
        """The numbers of the update op. ``step``: an int32 Tensor, 1 at the first step."""
        raise NotImplementedError(f"{type(self).__name__} does not give its numbers")

    def _attributes(self) -> dict[str, Any]:
        return {}

    # ---- for optimisers with a construct of their own

    def decay_weight(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """gradient + loss_scale * weight_decay * parameter, where the parameter decays."""
        decays = self._spread(self._decay(batch.decay) for batch in self._batches)
        return tuple(
            g if isinstance(d, float) and d == 0 else g + p.value() * (d * self.loss_scale)
            for g, p, d in zip(gradients, self.parameters, decays, strict=True)
        )

    def scale_grad(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """gradient / loss_scale."""
        return tuple(g * (1 / self.loss_scale) for g in gradients)

    def gradients_centralization(self, gradients: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Centralised gradients, where the group asks for it."""
        flags = self._spread(batch.centralized for batch in self._batches)
        return tuple(
            _centralized(g) if flag else g for g, flag in zip(gradients, flags, strict=True)
        )

    # ---- as a Cell

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Leaves names alone: the parameters belong to the network."""

    def extend_repr(self) -> str:
        return f"parameters={len(self.parameters)}, weight_decay={self.weight_decay}"


class OptimizerAround(Optimizer):
    """Base of optimisers that change gradients for another one, ``opt``, whose parameters, rates
    and step they show as theirs."""

    def __init__(self, optimizer: Optimizer) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"For '{type(self).__name__}', 'optimizer' must be an Optimizer, but got "
                f"{type(optimizer).__name__}"
            )
        super().__init__(0.0, optimizer.parameters, 0.0, optimizer.loss_scale)
        self.opt = optimizer
        self.parameters = optimizer.parameters
        self.global_step = optimizer.global_step
        self.learning_rate = optimizer.learning_rate
        self.weight_decay = optimizer.weight_decay
        self.is_group, self.is_group_lr = optimizer.is_group, optimizer.is_group_lr
        self._batches = optimizer._batches
        for name in {batch.rate for batch in self._batches}:
            setattr(self, name, getattr(optimizer, name))


def _centralized(g: Tensor | None) -> Tensor | None:
    if g is None or g.ndim < 2:
        return g
    return g - g.mean(tuple(range(1, g.ndim)), True)
