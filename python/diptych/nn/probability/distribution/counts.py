"""Distributions over whole numbers: Bernoulli, categorical, geometric, Poisson."""

from __future__ import annotations

from typing import Any

from .... import ops
from ...._core import Tensor
from ....ops.random import _drawn as drawn_from
from .distribution import Distribution
from .lines import _FLOATS

__all__ = ["Bernoulli", "Categorical", "Geometric", "Poisson"]

_NUMBERS = (
    ops.int8, ops.int16, ops.int32, ops.int64, ops.uint8, ops.uint16, ops.uint32, ops.uint64,
    *_FLOATS,
)  # fmt: skip


class _ByProbability(Distribution):
    """Distributions of one probability (or one a class) called ``probs``."""

    _names = ("probs",)

    def __init__(self, probs: Any, seed: Any, dtype: Any, name: str) -> None:
        values = {"probs": probs}
        super().__init__(seed, ops.int32 if dtype is None else dtype, name, {"param_dict": values})
        self._check_dtype(*_NUMBERS)
        self._store(**values)
        self._check_between("probs")


class Bernoulli(_ByProbability):
    """1 with probability ``probs``, else 0.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Bernoulli
    >>> Bernoulli(0.25).prob(ms.Tensor([0.0, 1.0])).tolist()
    [0.75, 0.25]
    """

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Bernoulli",
    ) -> None:  # fmt: skip
        super().__init__(probs, seed, dtype, name)

    def _log_prob(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return value * ops.log(p) + (1 - value) * ops.log1p(-p)

    def _cdf(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return ops.where(value < 0, 0.0, ops.where(value < 1, 1 - p, ops.ones_like(p)))

    def _mean(self, probs: Any = None) -> Tensor:
        return +self._resolve(probs)

    def _var(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return p * (1 - p)

    def _mode(self, probs: Any = None) -> Tensor:
        return (self._resolve(probs) > 0.5).astype(self.dtype)

    def _entropy(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return -(p * ops.log(p)) - (1 - p) * ops.log1p(-p)

    def _kl_loss(self, dist: Any, probs_b: Any, probs: Any = None) -> Tensor:
        self._same_kind(dist, "kl_loss")
        q, p = self._other(probs_b), self._resolve(probs)
        return p * ops.log(p / q) + (1 - p) * ops.log((1 - p) / (1 - q))

    def _sample(self, shape: Any = (), probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return (self._uniform(shape, p) < p).astype(self.dtype)


class Categorical(_ByProbability):
    """Class k of the last axis of ``probs`` with probability probs[..., k]; they add up to 1.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Categorical
    >>> c = Categorical([0.25, 0.75])
    >>> float(c.prob(ms.Tensor(1))), int(c.mode())
    (0.75, 1)
    """

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Categorical",
    ) -> None:  # fmt: skip
        super().__init__(probs, seed, dtype, name)
        own = self._probs_value
        if own is not None:
            if own.ndim < 1:
                raise ValueError("For 'Categorical', 'probs' must have at least 1 axis")
            if not bool((ops.abs(own.sum(-1) - 1) < 1e-3).all()):
                raise ValueError("For 'Categorical', 'probs' must add up to 1 over the last axis")
            self.batch_shape = own.shape[:-1]

    def _log_prob(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        hot = ops.one_hot(value.astype(ops.int64), p.shape[-1]).astype(p.dtype)
        return (hot * ops.log(p)).sum(-1)

    def _cdf(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        below = ops.arange(p.shape[-1]) <= ops.expand_dims(ops.floor(value), -1)
        return (below.astype(p.dtype) * p).sum(-1)

    def _mean(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return (p * ops.arange(p.shape[-1])).sum(-1)

    def _var(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return (p * ops.square(ops.arange(p.shape[-1]))).sum(-1) - ops.square(self._mean(probs))

    def _mode(self, probs: Any = None) -> Tensor:
        return ops.argmax(self._resolve(probs), -1).astype(self.dtype)

    def _entropy(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return -(p * ops.log(p)).sum(-1)

    def _kl_loss(self, dist: Any, probs_b: Any, probs: Any = None) -> Tensor:
        self._same_kind(dist, "kl_loss")
        p = self._resolve(probs)
        return (p * ops.log(p / self._other(probs_b))).sum(-1)

    def _sample(self, shape: Any = (), probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        sizes = (*shape, *p.shape[:-1], 1)
        u = ops.rand(sizes, dtype=p.dtype, seed=self._next_seed())
        bounds = ops.cumsum(p, -1)[..., :-1]
        return (u >= bounds).astype(ops.int64).sum(-1).astype(self.dtype)


class Geometric(_ByProbability):
    """How many failures come before the first success of probability ``probs``.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Geometric
    >>> Geometric(0.5).prob(ms.Tensor([0.0, 1.0, 2.0])).tolist()
    [0.5, 0.25, 0.125]
    """

    def __init__(
        self, probs: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Geometric",
    ) -> None:  # fmt: skip
        super().__init__(probs, seed, dtype, name)

    def _log_prob(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return ops.where(value >= 0, value * ops.log1p(-p) + ops.log(p), float("-inf"))

    def _survival_function(self, value: Tensor, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        tail = ops.exp((ops.floor(value) + 1) * ops.log1p(-p))
        return ops.where(value < 0, ops.ones_like(p), tail)

    def _cdf(self, value: Tensor, probs: Any = None) -> Tensor:
        return 1 - self._survival_function(value, probs)

    def _mean(self, probs: Any = None) -> Tensor:
        return ops.reciprocal(self._resolve(probs)) - 1

    def _var(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return (1 - p) / ops.square(p)

    def _mode(self, probs: Any = None) -> Tensor:
        return ops.zeros_like(self._resolve(probs)).astype(self.dtype)

    def _entropy(self, probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return (-(p * ops.log(p)) - (1 - p) * ops.log1p(-p)) / p

    def _kl_loss(self, dist: Any, probs_b: Any, probs: Any = None) -> Tensor:
        self._same_kind(dist, "kl_loss")
        q, p = self._other(probs_b), self._resolve(probs)
        return ops.log(p / q) + (1 - p) / p * ops.log((1 - p) / (1 - q))

    def _sample(self, shape: Any = (), probs: Any = None) -> Tensor:
        p = self._resolve(probs)
        return ops.floor(ops.log(self._uniform(shape, p)) / ops.log1p(-p)).astype(self.dtype)


class Poisson(Distribution):
    """How many events of the mean number ``rate`` happen: prob = rate^k exp(-rate) / k!.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Poisson
    >>> p = Poisson([2.0])
    >>> p.mean().tolist(), p.var().tolist()
    ([2.0], [2.0])
    """

    _names = ("rate",)

    def __init__(
        self, rate: Any = None, seed: int | None = None, dtype: Any = None, name: str = "Poisson"
    ) -> None:
        values = {"rate": rate}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_NUMBERS)
        self._store(**values)
        self._check_positive("rate")

    def _log_prob(self, value: Tensor, rate: Any = None) -> Tensor:
        rate = self._resolve(rate)
        return value * ops.log(rate) - rate - ops.lgamma(value + 1)

    def _mean(self, rate: Any = None) -> Tensor:
        return +self._resolve(rate)

    _var = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return ops.floor(self._resolve(rate))

    def _kl_loss(self, dist: Any, rate_b: Any, rate: Any = None) -> Tensor:
        self._same_kind(dist, "kl_loss")
        other, rate = self._other(rate_b), self._resolve(rate)
        return rate * ops.log(rate / other) + other - rate

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        rate = self._resolve(rate)
        drawn = drawn_from(self._next_seed(), ops.random_poisson, rate, tuple(shape))
        return drawn.astype(self.dtype)
