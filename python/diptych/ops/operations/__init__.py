"""The primitive classes under the name of MindSpore's older package: ``operations.ReLU()(x)``. Its
division into files is kept as names for the whole: ``operations.nn_ops.ReLU()(x)``."""

import sys

from ..function import Print
from ..primitive import *  # noqa: F403
from ..primitive import __all__ as _primitives

array_ops = image_ops = linalg_ops = math_ops = nn_ops = other_ops = random_ops = sys.modules[
    __name__
]

__all__ = ["Print", *_primitives]
