"""Optimisers, in MindSpore's names and with its defaults."""

from .adafactor import AdaFactor
from .adam import Adam, AdaMax, AdamW, AdamWeightDecay, NAdam
from .adaptive import FTRL, Adadelta, Adagrad, RMSProp
from .layerwise import LARS, Lamb
from .optimizer import Optimizer
from .sgd import ASGD, SGD, Momentum, Rprop

__all__ = [
    "ASGD",
    "FTRL",
    "LARS",
    "SGD",
    "AdaFactor",
    "AdaMax",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "AdamWeightDecay",
    "Lamb",
    "Momentum",
    "NAdam",
    "Optimizer",
    "RMSProp",
    "Rprop",
]
