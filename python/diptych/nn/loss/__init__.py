"""Loss functions as Cells."""

from .base import LossBase
from .classes import *  # noqa: F403
from .distance import *  # noqa: F403
from .margin import *  # noqa: F403
from .overlap import *  # noqa: F403

__all__ = ["LossBase"]
for _part in ("classes", "distance", "margin", "overlap"):
    __all__ += globals()[_part].__all__
