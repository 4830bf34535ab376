"""Optimisers, in MindSpore's names and with its defaults."""

from .adam import Adam, AdamW, AdamWeightDecay
from .optimizer import Optimizer
from .sgd import SGD, Momentum

__all__ = ["SGD", "Adam", "AdamW", "AdamWeightDecay", "Momentum", "Optimizer"]
