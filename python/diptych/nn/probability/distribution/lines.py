"""Distributions over the whole line or an interval of it, by place and scale."""

from __future__ import annotations

import math
from typing import Any

from .... import ops
from ...._core import Tensor
from .distribution import Distribution

__all__ = [
    "Cauchy",
    "Gumbel",
    "HalfNormal",
    "Laplace",
    "Logistic",
    "Normal",
    "StudentT",
    "Uniform",
]

_LOG_2PI = math.log(2 * math.pi)
_EULER = 0.57721566490153286
_FLOATS = (ops.float16, ops.float32, ops.float64)


class _PlaceAndScale(Distribution):
    """Distributions of z = (value - place) / scale."""

    _names = ("mean", "sd")

    def __init__(self, place: Any, scale: Any, seed: Any, dtype: Any, name: str) -> None:
        values = dict(zip(self._names, (place, scale), strict=True))
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        self._check_positive(self._names[1])


def _normal_log_prob(value: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    return ops.square((value - mean) / sd) * -0.5 - ops.log(sd) - 0.5 * _LOG_2PI


class Normal(_PlaceAndScale):
    """Normal distribution: log_prob = -((x - mean) / sd)^2 / 2 - log(sd) - log(2 pi) / 2.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Normal
    >>> n = Normal(0.0, 2.0)
    >>> float(n.cdf(ms.Tensor(0.0))), float(n.mean()), float(n.var())
    (0.5, 0.0, 4.0)
    """

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Normal",
    ) -> None:  # fmt: skip
        super().__init__(mean, sd, seed, dtype, name)

    def _log_prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return _normal_log_prob(value, mean, sd)

    def _cdf(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.erfc((mean - value) / (sd * math.sqrt(2))) * 0.5

    def _survival_function(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.erfc((value - mean) / (sd * math.sqrt(2))) * 0.5

    def _mean(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return mean + ops.zeros_like(sd)

    _mode = _mean

    def _sd(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return sd + ops.zeros_like(mean)

    def _entropy(self, mean: Any = None, sd: Any = None) -> Tensor:
        return ops.log(self._sd(mean, sd)) + 0.5 * (_LOG_2PI + 1)

    def _kl_loss(
        self, dist: Any, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        mean_b, sd_b = self._other(mean_b, sd_b)
        mean, sd = self._resolve(mean, sd)
        ratio = ops.square(sd / sd_b)
        return (ratio - 1 - ops.log(ratio) + ops.square((mean - mean_b) / sd_b)) * 0.5

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return (mean + sd * self._normal(shape, mean, sd)).astype(self.dtype)


class HalfNormal(_PlaceAndScale):
    """The upper half of a normal distribution: mean + abs(Normal(0, sd)).

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import HalfNormal
    >>> HalfNormal(0.0, 1.0).prob(ms.Tensor([-1.0, 0.0])).round().tolist()
    [0.0, 1.0]
    """

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "HalfNormal",
    ) -> None:  # fmt: skip
        super().__init__(mean, sd, seed, dtype, name)

    def _log_prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        inside = _normal_log_prob(value, mean, sd) + math.log(2)
        return ops.where(value >= mean, inside, float("-inf"))

    def _cdf(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.erf(ops.relu(value - mean) / (sd * math.sqrt(2)))

    def _mean(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return mean + sd * math.sqrt(2 / math.pi)

    def _mode(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return mean + ops.zeros_like(sd)

    def _var(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.square(sd) * (1 - 2 / math.pi) + ops.zeros_like(mean)

    def _entropy(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.log(sd) + 0.5 * math.log(math.pi / 2) + 0.5 + ops.zeros_like(mean)

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return (mean + sd * ops.abs(self._normal(shape, mean, sd))).astype(self.dtype)


class Laplace(_PlaceAndScale):
    """Laplace distribution: log_prob = -abs(x - mean) / sd - log(2 sd); sd is the scale, whose
    standard deviation is sqrt(2) times as large.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Laplace
    >>> float(Laplace(0.0, 0.5).prob(ms.Tensor(0.0)))
    1.0
    """

    def __init__(
        self, mean: Any = None, sd: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Laplace",
    ) -> None:  # fmt: skip
        super().__init__(mean, sd, seed, dtype, name)

    def _log_prob(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return -(ops.abs(value - mean) / sd) - ops.log(sd * 2)

    def _cdf(self, value: Tensor, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        z = (value - mean) / sd
        tail = ops.exp(-ops.abs(z)) * 0.5
        return ops.where(z > 0, 1 - tail, tail)

    def _mean(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return mean + ops.zeros_like(sd)

    _mode = _mean

    def _sd(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return sd * math.sqrt(2) + ops.zeros_like(mean)

    def _entropy(self, mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        return ops.log(sd * 2) + 1 + ops.zeros_like(mean)

    def _kl_loss(
        self, dist: Any, mean_b: Any, sd_b: Any, mean: Any = None, sd: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        mean_b, sd_b = self._other(mean_b, sd_b)
        mean, sd = self._resolve(mean, sd)
        off = ops.abs(mean - mean_b)
        return (sd * ops.exp(-off / sd) + off) / sd_b + ops.log(sd_b / sd) - 1

    def _sample(self, shape: Any = (), mean: Any = None, sd: Any = None) -> Tensor:
        mean, sd = self._resolve(mean, sd)
        u = self._uniform(shape, mean, sd) - 0.5
        drawn = mean - sd * ops.sign(u) * ops.log1p(ops.abs(u) * -2)
        return drawn.astype(self.dtype)


class Logistic(_PlaceAndScale):
    """Logistic distribution: cdf = sigmoid((x - loc) / scale).

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Logistic
    >>> float(Logistic(1.0, 3.0).cdf(ms.Tensor(1.0)))
    0.5
    """

    _names = ("loc", "scale")

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Logistic",
    ) -> None:  # fmt: skip
        super().__init__(loc, scale, seed, dtype, name)

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        z = (value - loc) / scale
        return -z - ops.softplus(-z) * 2 - ops.log(scale)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.sigmoid((value - loc) / scale)

    def _log_cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return -ops.softplus((loc - value) / scale)

    def _survival_function(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.sigmoid((loc - value) / scale)

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return loc + ops.zeros_like(scale)

    _mode = _mean

    def _sd(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return scale * (math.pi / math.sqrt(3)) + ops.zeros_like(loc)

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.log(scale) + 2 + ops.zeros_like(loc)

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        u = self._uniform(shape, loc, scale)
        return (loc + scale * (ops.log(u) - ops.log1p(-u))).astype(self.dtype)


class Cauchy(_PlaceAndScale):
    """Cauchy distribution: prob = 1 / (pi scale (1 + ((x - loc) / scale)^2)). It has no mean and no
    variance.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Cauchy
    >>> float(Cauchy(1.0, 3.0).cdf(ms.Tensor(1.0)))
    0.5
    """

    _names = ("loc", "scale")

    def __init__(
        self, loc: Any = None, scale: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Cauchy",
    ) -> None:  # fmt: skip
        super().__init__(loc, scale, seed, dtype, name)

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        z = (value - loc) / scale
        return -ops.log1p(z * z) - ops.log(scale) - math.log(math.pi)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.atan((value - loc) / scale) * (1 / math.pi) + 0.5

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        raise ValueError("A Cauchy distribution has no mean")

    def _sd(self, loc: Any = None, scale: Any = None) -> Tensor:
        raise ValueError("A Cauchy distribution has no variance")

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return loc + ops.zeros_like(scale)

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.log(scale) + math.log(4 * math.pi) + ops.zeros_like(loc)

    def _kl_loss(
        self, dist: Any, loc_b: Any, scale_b: Any, loc: Any = None, scale: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        loc_b, scale_b = self._other(loc_b, scale_b)
        loc, scale = self._resolve(loc, scale)
        squares = ops.square(scale + scale_b) + ops.square(loc - loc_b)
        return ops.log(squares / (scale * scale_b * 4))

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        u = self._uniform(shape, loc, scale)
        return (loc + scale * ops.tan((u - 0.5) * math.pi)).astype(self.dtype)


class Gumbel(_PlaceAndScale):
    """Gumbel distribution: cdf = exp(-exp(-(x - loc) / scale)), that of the largest of many draws.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Gumbel
    >>> round(float(Gumbel(0.0, 1.0).mean()), 4)
    0.5772
    """

    _names = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, seed: int | None = 0, dtype: Any = None, name: str = "Gumbel"
    ) -> None:
        super().__init__(loc, scale, seed, dtype, name)

    def _log_prob(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        z = (value - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _log_cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return -ops.exp((loc - value) / scale)

    def _cdf(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return ops.exp(self._log_cdf(value, loc, scale))

    def _survival_function(self, value: Tensor, loc: Any = None, scale: Any = None) -> Tensor:
        return -ops.expm1(self._log_cdf(value, loc, scale))

    def _mean(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return loc + scale * _EULER

    def _mode(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return loc + ops.zeros_like(scale)

    def _sd(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return scale * (math.pi / math.sqrt(6)) + ops.zeros_like(loc)

    def _entropy(self, loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        return ops.log(scale) + 1 + _EULER + ops.zeros_like(loc)

    def _kl_loss(
        self, dist: Any, loc_b: Any, scale_b: Any, loc: Any = None, scale: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        loc_b, scale_b = self._other(loc_b, scale_b)
        loc, scale = self._resolve(loc, scale)
        ratio, off = scale / scale_b, (loc_b - loc) / scale_b
        last = ops.exp(off + ops.lgamma(ratio + 1))
        return last - off - ops.log(ratio) + (ratio - 1) * _EULER - 1

    def _sample(self, shape: Any = (), loc: Any = None, scale: Any = None) -> Tensor:
        loc, scale = self._resolve(loc, scale)
        u = self._uniform(shape, loc, scale)
        return (loc - scale * ops.log(-ops.log(u))).astype(self.dtype)


class Uniform(Distribution):
    """Uniform distribution on [low, high].

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Uniform
    >>> Uniform(1.0, 3.0).prob(ms.Tensor([0.0, 2.0])).tolist()
    [0.0, 0.5]
    """

    _names = ("low", "high")

    def __init__(
        self, low: Any = None, high: Any = None, seed: int | None = None, dtype: Any = None,
        name: str = "Uniform",
    ) -> None:  # fmt: skip
        values = {"low": low, "high": high}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        low, high = self._low_value, self._high_value
        if low is not None and high is not None and not bool((low < high).all()):
            raise ValueError("For 'Uniform', 'low' must be below 'high'")

    def _log_prob(self, value: Tensor, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        inside = ops.logical_and(value >= low, value <= high)
        return ops.where(inside, -ops.log(high - low), float("-inf"))

    def _cdf(self, value: Tensor, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        return ops.clamp((value - low) / (high - low), 0.0, 1.0)

    def _mean(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        return (low + high) * 0.5

    def _var(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        return ops.square(high - low) * (1 / 12)

    def _entropy(self, low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        return ops.log(high - low)

    def _kl_loss(
        self, dist: Any, low_b: Any, high_b: Any, low: Any = None, high: Any = None
    ) -> Tensor:
        self._same_kind(dist, "kl_loss")
        low_b, high_b = self._other(low_b, high_b)
        low, high = self._resolve(low, high)
        within = ops.logical_and(low_b <= low, high <= high_b)
        return ops.where(within, ops.log((high_b - low_b) / (high - low)), float("inf"))

    def _sample(self, shape: Any = (), low: Any = None, high: Any = None) -> Tensor:
        low, high = self._resolve(low, high)
        return (low + (high - low) * self._uniform(shape, low, high)).astype(self.dtype)


class StudentT(Distribution):
    """Student's t distribution of ``df`` degrees of freedom, moved to ``mean`` and scaled by
    ``sd``.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import StudentT
    >>> t = StudentT(1.0, 0.0, 1.0)  # a Cauchy distribution
    >>> round(float(t.prob(ms.Tensor(0.0))) * 3.14159265, 3)
    1.0
    """

    _names = ("df", "mean", "sd")

    def __init__(
        self, df: Any = None, mean: Any = None, sd: Any = None, seed: int | None = None,
        dtype: Any = None, name: str = "StudentT",
    ) -> None:  # fmt: skip
        values = {"df": df, "mean": mean, "sd": sd}
        super().__init__(
            seed, ops.float32 if dtype is None else dtype, name, {"param_dict": values}
        )
        self._check_dtype(*_FLOATS)
        self._store(**values)
        self._check_positive("df", "sd")

    def _log_prob(self, value: Tensor, df: Any = None, mean: Any = None, sd: Any = None) -> Tensor:
        df, mean, sd = self._resolve(df, mean, sd)
        z, half = (value - mean) / sd, (df + 1) * 0.5
        norm = ops.lgamma(half) - ops.lgamma(df * 0.5) - ops.log(df * math.pi) * 0.5 - ops.log(sd)
        return norm - half * ops.log1p(z * z / df)
