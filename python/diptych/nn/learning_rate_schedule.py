"""Learning rates that follow the step: Cells that an optimiser calls with its step number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from .. import ops
from .._core import Tensor
from .bounds import bounded, counted
from .cell import Cell

__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "LearningRateSchedule",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
]


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` gives the rate of a step.

    ``global_step`` is an int32 Tensor, 0 before the first step.

    >>> import diptych as ms
    >>> class Halving(ms.nn.LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5 ** global_step
    >>> Halving()(ms.Tensor(2, ms.int32)).item()
    0.25
    """

    def construct(self, global_step: Tensor) -> Tensor:
        """The rate of step ``global_step``, a Tensor of one element."""
        raise NotImplementedError(f"{type(self).__name__} does not give construct(global_step)")


class _Decay(LearningRateSchedule):
    """What the three decays with a rate share: p = global_step / decay_steps, in whole steps with
    ``is_stair``."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        self.learning_rate = bounded(cls, "learning_rate", learning_rate, 0.0, open_low=True)
        self.decay_rate = bounded(cls, "decay_rate", decay_rate, 0.0, open_low=True)
        self.decay_steps = counted(cls, "decay_steps", decay_steps)
        if not isinstance(is_stair, bool):
            raise TypeError(f"For '{cls}', 'is_stair' must be a bool, but got {is_stair!r}")
        self.is_stair = is_stair

    def _progress(self, global_step: Tensor) -> Tensor:
        p = global_step.astype("float32") / self.decay_steps
        return ops.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate^p, with p = global_step / decay_steps, floored: is_stair.

    >>> import diptych as ms
    >>> round(ms.nn.ExponentialDecayLR(0.1, 0.9, 4)(ms.Tensor(2, ms.int32)).item(), 5)
    0.09487
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate * ops.pow(self.decay_rate, self._progress(global_step))


class NaturalExpDecayLR(_Decay):
    """learning_rate * e^(-decay_rate * p), with p = global_step, or with is_stair the last multiple
    of decay_steps.

    >>> import diptych as ms
    >>> round(ms.nn.NaturalExpDecayLR(0.1, 0.5, 4)(ms.Tensor(2, ms.int32)).item(), 5)
    0.03679
    """

    def construct(self, global_step: Tensor) -> Tensor:
        p = global_step.astype("float32")
        if self.is_stair:
            p = self._progress(global_step) * self.decay_steps
        return self.learning_rate * ops.exp(-self.decay_rate * p)


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * p); p = global_step / decay_steps, floored: is_stair.

    >>> import diptych as ms
    >>> round(ms.nn.InverseDecayLR(0.1, 1.0, 4)(ms.Tensor(4, ms.int32)).item(), 5)
    0.05
    """

    def construct(self, global_step: Tensor) -> Tensor:
        return self.learning_rate / (1 + self.decay_rate * self._progress(global_step))


class CosineDecayLR(LearningRateSchedule):
    """min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * min(global_step, decay_steps) / decay_steps)).

    >>> import diptych as ms
    >>> round(ms.nn.CosineDecayLR(0.01, 0.1, 4)(ms.Tensor(2, ms.int32)).item(), 4)
    0.055
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr = bounded("CosineDecayLR", "min_lr", min_lr, 0.0)
        self.max_lr = bounded("CosineDecayLR", "max_lr", max_lr, 0.0, open_low=True)
        if min_lr >= max_lr:
            raise ValueError(
                f"For 'CosineDecayLR', 'max_lr' must be above 'min_lr', but got {max_lr} and "
                f"{min_lr}"
            )
        self.decay_steps = counted("CosineDecayLR", "decay_steps", decay_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.minimum(global_step, self.decay_steps).astype("float32") / self.decay_steps
        half = 0.5 * (self.max_lr - self.min_lr)
        return self.min_lr + half * (1 + ops.cos(math.pi * p))


class PolynomialDecayLR(LearningRateSchedule):
    """(learning_rate - end_learning_rate) * (1 - p)^power + end_learning_rate.

    p = min(global_step, decay_steps) / decay_steps; with ``update_decay_steps`` the span grows to
    the next multiple of decay_steps instead, so that the rate rises again after each span.

    >>> import diptych as ms
    >>> rate = ms.nn.PolynomialDecayLR(0.1, 0.02, 4, 1.0)
    >>> round(rate(ms.Tensor(2, ms.int32)).item(), 5)
    0.06
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        cls = "PolynomialDecayLR"
        self.learning_rate = bounded(cls, "learning_rate", learning_rate, 0.0, open_low=True)
        self.end_learning_rate = bounded(cls, "end_learning_rate", end_learning_rate, 0.0)
        self.decay_steps = counted(cls, "decay_steps", decay_steps)
        self.power = bounded(cls, "power", power, 0.0, open_low=True)
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Tensor) -> Tensor:
        step, span = global_step.astype("float32"), self.decay_steps
        if self.update_decay_steps:
            span = span * ops.maximum(ops.ceil(step / span), 1.0)
        else:
            step = ops.minimum(step, span)
        drop = self.learning_rate - self.end_learning_rate
        return drop * ops.pow(1 - step / span, self.power) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """learning_rate * min(global_step, warmup_steps) / warmup_steps.

    >>> import diptych as ms
    >>> ms.nn.WarmUpLR(0.5, 4)(ms.Tensor(2, ms.int32)).item()
    0.25
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate = bounded("WarmUpLR", "learning_rate", learning_rate, 0.0)
        self.warmup_steps = counted("WarmUpLR", "warmup_steps", warmup_steps)

    def construct(self, global_step: Tensor) -> Tensor:
        p = ops.minimum(global_step, self.warmup_steps).astype("float32") / self.warmup_steps
        return self.learning_rate * p


class ListedRate(LearningRateSchedule):
    """One rate a step; the last one stays."""

    def __init__(self, cls: str, rates: Iterable[float]) -> None:
        super().__init__()
        listed = [bounded(cls, "learning_rate", float(r), 0.0) for r in rates]
        if not listed:
            raise ValueError(f"For '{cls}', 'learning_rate' is an empty sequence")
        self.rates = Tensor(listed, ops.float32)

    def construct(self, global_step: Tensor) -> Tensor:
        return self.rates[ops.minimum(global_step, len(self.rates) - 1)]


class CalledRate(LearningRateSchedule):
    """A function of the step."""

    def __init__(self, fn: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, global_step: Tensor) -> Tensor:
        rate = self.fn(global_step)
        return rate if isinstance(rate, Tensor) else Tensor(float(rate), ops.float32)
