"""Probability distributions, and bijections that make distributions of others."""

from . import bijector, distribution

__all__ = ["bijector", "distribution"]
