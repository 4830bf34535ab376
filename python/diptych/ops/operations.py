"""The primitive classes under the name of MindSpore's older module: ``operations.ReLU()(x)``."""

from .function import Print
from .primitive import *  # noqa: F403
from .primitive import __all__ as _primitives

__all__ = ["Print", *_primitives]
