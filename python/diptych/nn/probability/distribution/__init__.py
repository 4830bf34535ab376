"""Probability distributions as Cells: densities, moments, entropies, divergences, samples."""

from .counts import *  # noqa: F403
from .distribution import Distribution
from .lines import *  # noqa: F403
from .positive import *  # noqa: F403
from .transformed_distribution import TransformedDistribution

__all__ = ["Distribution", "TransformedDistribution"]
for _part in ("counts", "lines", "positive"):
    __all__ += globals()[_part].__all__
