"""Distributions over positive numbers: exponential, gamma, beta, log-normal."""

from __future__ import annotations

import math
from typing import Any

from .... import ops
from ...._core import Tensor
from .distribution import Distribution
from .lines import _FLOATS, _LOG_2PI, _PlaceAndScale

__all__ = ["Beta", "Exponential", "Gamma", "LogNormal"]


class Exponential(Distribution):
    """Exponential distribution: prob = rate exp(-rate x) for x of 0 or more.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Exponential
    >>> e = Exponential(2.0)
    >>> float(e.mean()), float(e.prob(ms.Tensor(0.0)))
    (0.5, 2.0)
    """

    _names = ("rate",)

    def __init__(
        self, rate: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Exponential",
    ) -> None:  # fmt: skip
        values = {"rate": rate}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        self._check_positive("rate")

    def _log_prob(self, value: Tensor, rate: Any = None) -> Tensor:
        rate = self._resolve(rate)
        return ops.where(value >= 0, ops.log(rate) - rate * value, float("-inf"))

    def _survival_function(self, value: Tensor, rate: Any = None) -> Tensor:
        return ops.exp(self._log_survival(value, rate))

    def _log_survival(self, value: Tensor, rate: Any = None) -> Tensor:
        return -(ops.relu(value) * self._resolve(rate))

    def _cdf(self, value: Tensor, rate: Any = None) -> Tensor:
        return -ops.expm1(self._log_survival(value, rate))

    def _mean(self, rate: Any = None) -> Tensor:
        return ops.reciprocal(self._resolve(rate))

    _sd = _mean

    def _mode(self, rate: Any = None) -> Tensor:
        return ops.zeros_like(self._resolve(rate))

    def _entropy(self, rate: Any = None) -> Tensor:
        return 1 - ops.log(self._resolve(rate))

    def _kl_loss(self, dist: Any, rate_b: Any, rate: Any = None) -> Tensor:
        self._same_kind(dist, "kl_loss")
        ratio = self._other(rate_b) / self._resolve(rate)
        return ratio - ops.log(ratio) - 1

    def _sample(self, shape: Any = (), rate: Any = None) -> Tensor:
        rate = self._resolve(rate)
        return (-ops.log(self._uniform(shape, rate)) / rate).astype(self.dtype)


class Gamma(Distribution):
    """Gamma distribution: prob = rate^a x^(a - 1) exp(-rate x) / gamma(a), a being the
    concentration.

    >>> from diptych.nn.probability.distribution import Gamma
    >>> g = Gamma([3.0], [2.0])
    >>> g.mean().tolist(), g.mode().tolist()
    ([1.5], [1.0])
    """

    _names = ("concentration", "rate")

    def __init__(
        self, concentration: Any = None, rate: Any = None, seed: int | None = None,
        dtype: Any = None, name: str = "Gamma",
    ) -> None:  # fmt: skip
        values = {"concentration": concentration, "rate": rate}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        self._check_positive(*self._names)

    def _log_prob(self, value: Tensor, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        return a * ops.log(rate) + (a - 1) * ops.log(value) - rate * value - ops.lgamma(a)

    def _mean(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        return a / rate

    def _var(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        return a / ops.square(rate)

    def _mode(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        return ops.where(a > 1, (a - 1) / rate, float("nan"))

    def _entropy(self, concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        return a - ops.log(rate) + ops.lgamma(a) + (1 - a) * ops.digamma(a)

    def _kl_loss(
        self, dist: Any, concentration_b: Any, rate_b: Any, concentration: Any = None,
        rate: Any = None,
    ) -> Tensor:  # fmt: skip
        self._same_kind(dist, "kl_loss")
        b, rate_b = self._other(concentration_b, rate_b)
        a, rate = self._resolve(concentration, rate)
        gammas = ops.lgamma(b) - ops.lgamma(a) + (a - b) * ops.digamma(a)
        return gammas + b * ops.log(rate / rate_b) + a * (rate_b / rate - 1)

    def _sample(self, shape: Any = (), concentration: Any = None, rate: Any = None) -> Tensor:
        a, rate = self._resolve(concentration, rate)
        a = ops.broadcast_to(a, self._batch([a, rate]))
        drawn = ops.gamma(tuple(shape), a, ops.ones_like(a), self._next_seed())
        return (drawn / rate).astype(self.dtype)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


class Beta(Distribution):
    """Beta distribution: prob = x^(a - 1) (1 - x)^(b - 1) / beta(a, b) on (0, 1), a and b being
    concentration1 and concentration0.

    >>> from diptych.nn.probability.distribution import Beta
    >>> b = Beta([3.0], [2.0])
    >>> b.mean().round().tolist(), round(float(b.mode()), 4)
    ([1.0], 0.6667)
    """

    _names = ("concentration1", "concentration0")

    def __init__(
        self, concentration1: Any = None, concentration0: Any = None, seed: int | None = None,
        dtype: Any = None, name: str = "Beta",
    ) -> None:  # fmt: skip
        values = {"concentration1": concentration1, "concentration0": concentration0}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        self._check_positive(*self._names)

    def _log_prob(
        self, value: Tensor, concentration1: Any = None, concentration0: Any = None
    ) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        return (a - 1) * ops.log(value) + (b - 1) * ops.log1p(-value) - _log_beta(a, b)

    def _mean(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        return a / (a + b)

    def _var(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        return a * b / (ops.square(a + b) * (a + b + 1))

    def _mode(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        inside = ops.logical_and(a > 1, b > 1)
        return ops.where(inside, (a - 1) / (a + b - 2), float("nan"))

    def _entropy(self, concentration1: Any = None, concentration0: Any = None) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        slopes = (a - 1) * ops.digamma(a) + (b - 1) * ops.digamma(b)
        return _log_beta(a, b) - slopes + (a + b - 2) * ops.digamma(a + b)

    def _kl_loss(
        self, dist: Any, concentration1_b: Any, concentration0_b: Any, concentration1: Any = None,
        concentration0: Any = None,
    ) -> Tensor:  # fmt: skip
        self._same_kind(dist, "kl_loss")
        c, d = self._other(concentration1_b, concentration0_b)
        a, b = self._resolve(concentration1, concentration0)
        slopes = (a - c) * ops.digamma(a) + (b - d) * ops.digamma(b)
        return _log_beta(c, d) - _log_beta(a, b) + slopes + (c - a + d - b) * ops.digamma(a + b)

    def _sample(
        self, shape: Any = (), concentration1: Any = None, concentration0: Any = None
    ) -> Tensor:
        a, b = self._resolve(concentration1, concentration0)
        sizes = self._batch([a, b])
        a, b = ops.broadcast_to(a, sizes), ops.broadcast_to(b, sizes)
        x = ops.gamma(tuple(shape), a, ops.ones_like(a), self._next_seed())
        y = ops.gamma(tuple(shape), b, ops.ones_like(b), self._next_seed())
        return (x / (x + y)).astype(self.dtype)


class LogNormal(_PlaceAndScale):
    """exp of a normal number of mean ``loc`` and standard deviation ``scale``.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import LogNormal
    >>> n = LogNormal(0.0, 1.0)
    >>> float(n.cdf(ms.Tensor(1.0))), round(float(n.mean()), 4)
    (0.5, 1.6487)
    """

    _names = ("loc", "scale")

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: int | None = 0, dtype: Any = None,
        name: str = "LogNormal",
    ) -> None:  # fmt: skip
        super().__init__(loc, scale, seed, dtype, name)

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        z = (ops.log(value) - loc) / scale
        return -ops.log(value) - ops.log(scale) - z * z * 0.5 - 0.5 * _LOG_2PI

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.erfc((loc - ops.log(value)) / (scale * math.sqrt(2))) * 0.5

    def _survival_function(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.erfc((ops.log(value) - loc) / (scale * math.sqrt(2))) * 0.5

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.exp(loc + ops.square(scale) * 0.5)

    def _var(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        squared = ops.square(scale)
        return ops.expm1(squared) * ops.exp(loc * 2 + squared)

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.exp(loc - ops.square(scale))

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return loc + 0.5 + ops.log(scale) + 0.5 * _LOG_2PI

    def _kl_loss(
        self, dist: Any, loc_b: Any, scale_b: Any, loc: Any = None, scale: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        loc_b, scale_b = self._other(loc_b, scale_b)
        loc, scale = self._resolve(loc, scale)
        ratio = ops.square(scale / scale_b)
        return (ratio - 1 - ops.log(ratio) + ops.square((loc - loc_b) / scale_b)) * 0.5

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.exp(loc + scale * self._normal(shape, loc, scale)).astype(self.dtype)
