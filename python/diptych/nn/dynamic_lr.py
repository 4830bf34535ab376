"""Learning rates as lists, one a step, that stay the same within an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .bounds import bounded, counted

__all__ = [
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]


def _by_epoch(
    fn: str, rate: Callable[[int], float], total_step: int, step_per_epoch: int
) -> list[float]:
    """rate(epoch) for each of the steps."""
    counted(fn, "total_step", total_step)
    counted(fn, "step_per_epoch", step_per_epoch)
    return [rate(i // step_per_epoch) for i in range(total_step)]


def _check_bool(fn: str, name: str, value: bool) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"For '{fn}', '{name}' must be a bool, but got {value!r}")


def _check_decay(
    fn: str, learning_rate: float, decay_rate: float, decay_epoch: int, is_stair: bool
) -> None:
    bounded(fn, "learning_rate", learning_rate, 0.0, open_low=True)
    bounded(fn, "decay_rate", decay_rate, 0.0, open_low=True)
    counted(fn, "decay_epoch", decay_epoch)
    _check_bool(fn, "is_stair", is_stair)


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """learning_rates[i] up to (not including) step milestone[i].

    >>> import diptych as ms
    >>> ms.nn.piecewise_constant_lr([2, 5], [0.1, 0.05])
    [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    fn = "piecewise_constant_lr"
    if len(milestone) != len(learning_rates):
        raise ValueError(
            f"For '{fn}', 'milestone' has {len(milestone)} entries, 'learning_rates' "
            f"{len(learning_rates)}: they must be as many"
        )
    made: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        counted(fn, f"milestone[{i}]", end)
        bounded(fn, f"learning_rates[{i}]", rate, 0.0)
        if end < len(made):
            raise ValueError(f"For '{fn}', 'milestone' must not fall, but got {list(milestone)}")
        made += [rate] * (end - len(made))
    return made


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * decay_rate^(epoch / decay_epoch); is_stair floors the exponent.

    >>> from diptych import nn
    >>> nn.exponential_decay_lr(0.1, 0.5, 4, 2, 1)
    [0.1, 0.1, 0.05, 0.05]
    """
    _check_decay("exponential_decay_lr", learning_rate, decay_rate, decay_epoch, is_stair)

    def rate(epoch: int) -> float:
        p = epoch // decay_epoch if is_stair else epoch / decay_epoch
        return learning_rate * decay_rate**p

    return _by_epoch("exponential_decay_lr", rate, total_step, step_per_epoch)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate * e^(-decay_rate * epoch); is_stair: the last multiple of decay_epoch.

    >>> from diptych import nn
    >>> [round(lr, 4) for lr in nn.natural_exp_decay_lr(0.1, 1.0, 4, 2, 1)]
    [0.1, 0.1, 0.0368, 0.0368]
    """
    _check_decay("natural_exp_decay_lr", learning_rate, decay_rate, decay_epoch, is_stair)

    def rate(epoch: int) -> float:
        p = epoch // decay_epoch * decay_epoch if is_stair else epoch
        return learning_rate * math.exp(-decay_rate * p)

    return _by_epoch("natural_exp_decay_lr", rate, total_step, step_per_epoch)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """learning_rate / (1 + decay_rate * epoch / decay_epoch); is_stair floors the quotient.

    >>> from diptych import nn
    >>> nn.inverse_decay_lr(0.1, 1.0, 4, 2, 1)
    [0.1, 0.1, 0.05, 0.05]
    """
    _check_decay("inverse_decay_lr", learning_rate, decay_rate, decay_epoch, is_stair)

    def rate(epoch: int) -> float:
        p = epoch // decay_epoch if is_stair else epoch / decay_epoch
        return learning_rate / (1 + decay_rate * p)

    return _by_epoch("inverse_decay_lr", rate, total_step, step_per_epoch)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * min(epoch, decay_epoch) / decay_epoch)).

    >>> import diptych as ms
    >>> [round(r, 3) for r in ms.nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2)]
    [0.1, 0.1, 0.055, 0.055, 0.01, 0.01]
    """
    fn = "cosine_decay_lr"
    bounded(fn, "min_lr", min_lr, 0.0)
    bounded(fn, "max_lr", max_lr, 0.0, open_low=True)
    counted(fn, "decay_epoch", decay_epoch)
    if min_lr >= max_lr:
        raise ValueError(
            f"For '{fn}', 'max_lr' must be above 'min_lr', but got {max_lr} and {min_lr}"
        )

    def rate(epoch: int) -> float:
        p = min(epoch, decay_epoch) / decay_epoch
        return min_lr + 0.5 * (max_lr - min_lr) * (1 + math.cos(math.pi * p))

    return _by_epoch(fn, rate, total_step, step_per_epoch)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """(learning_rate - end) * (1 - min(epoch, decay_epoch) / decay_epoch)^power + end.

    ``update_decay_epoch``: decay_epoch grows to its next multiple instead.

    >>> from diptych import nn
    >>> [round(lr, 4) for lr in nn.polynomial_decay_lr(0.1, 0.01, 4, 2, 2, 1.0)]
    [0.1, 0.1, 0.055, 0.055]
    """
    fn = "polynomial_decay_lr"
    bounded(fn, "learning_rate", learning_rate, 0.0, open_low=True)
    bounded(fn, "end_learning_rate", end_learning_rate, 0.0)
    bounded(fn, "power", power, 0.0, open_low=True)
    counted(fn, "decay_epoch", decay_epoch)
    _check_bool(fn, "update_decay_epoch", update_decay_epoch)

    def rate(epoch: int) -> float:
        span = decay_epoch
        if update_decay_epoch:
            span *= max(math.ceil(epoch / decay_epoch), 1)
        p = min(epoch, span) / span
        return (learning_rate - end_learning_rate) * (1 - p) ** power + end_learning_rate

    return _by_epoch(fn, rate, total_step, step_per_epoch)


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """learning_rate * min(epoch, warmup_epoch) / warmup_epoch.

    >>> from diptych import nn
    >>> [round(lr, 4) for lr in nn.warmup_lr(0.1, 4, 2, 2)]
    [0.0, 0.0, 0.05, 0.05]
    """
    bounded("warmup_lr", "learning_rate", learning_rate, 0.0)
    counted("warmup_lr", "warmup_epoch", warmup_epoch)
    return _by_epoch(
        "warmup_lr",
        lambda epoch: learning_rate * min(epoch, warmup_epoch) / warmup_epoch,
        total_step,
        step_per_epoch,
    )
