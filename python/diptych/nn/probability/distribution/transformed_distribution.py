"""A distribution of what a bijection makes of another distribution's numbers."""

from __future__ import annotations

from typing import Any

from ...._core import Tensor
from ..bijector import Bijector
from .distribution import Distribution

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of y = bijector(x) for x of ``distribution``; the bijector must grow.

    log_prob(y) = log_prob of x at the inverse of y, plus the bijector's inverse_log_jacobian.
    Parameters at a call are those of ``distribution``.

    >>> import diptych as ms
    >>> import diptych.nn.probability.bijector as msb
    >>> import diptych.nn.probability.distribution as msd
    >>> log_normal = msd.TransformedDistribution(msb.Exp(), msd.Normal(0.0, 1.0))
    >>> float(log_normal.cdf(ms.Tensor(1.0)))
    0.5
    """

    def __init__(
        self, bijector: Bijector, distribution: Distribution, seed: int | None = None,
        name: str = "transformed_distribution",
    ) -> None:  # fmt: skip
        for what, value, kind in (
            ("bijector", bijector, Bijector), ("distribution", distribution, Distribution),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(
                    f"For 'TransformedDistribution', '{what}' must be a {kind.__name__}, but got "
                    f"{type(value).__name__}"
                )
        super().__init__(seed, distribution.dtype, name, {})
        self.bijector, self.distribution = bijector, distribution
        self._names = distribution._names

    def _log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        x = self.bijector.inverse(value)
        slope = self.bijector.inverse_log_jacobian(value)
        return self.distribution.log_prob(x, *args, **kwargs) + slope

    def _cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.distribution.cdf(self.bijector.inverse(value), *args, **kwargs)

    def _survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self.distribution.survival_function(self.bijector.inverse(value), *args, **kwargs)

    def _mean(self, *args: Any, **kwargs: Any) -> Tensor:
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError(
                f"TransformedDistribution does not define mean for {type(self.bijector).__name__}"
            )
        return self.bijector.forward(self.distribution.mean(*args, **kwargs))

    def _sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        return self.bijector.forward(self.distribution.sample(shape, *args, **kwargs))
