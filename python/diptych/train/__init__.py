"""Training: Model, callbacks, metrics, checkpoints, mixed precision."""

from . import amp, callback, loss_scale_manager, metrics, serialization
from .amp import *  # noqa: F403
from .callback import *  # noqa: F403
from .loss_scale_manager import *  # noqa: F403
from .metrics import *  # noqa: F403
from .model import Model
from .serialization import *  # noqa: F403

__all__ = ["Model"]
for _part in (amp, callback, loss_scale_manager, metrics, serialization):
    __all__ += _part.__all__
