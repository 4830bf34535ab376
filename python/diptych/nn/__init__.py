"""Layers, losses and optimisers, in MindSpore's names."""

from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .basic import *  # noqa: F403
from .cell import Cell
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .dynamic_lr import *  # noqa: F403
from .embedding import *  # noqa: F403
from .grad import *  # noqa: F403
from .image import *  # noqa: F403
from .learning_rate_schedule import *  # noqa: F403
from .loss import *  # noqa: F403
from .loss_scale import *  # noqa: F403
from .math import *  # noqa: F403
from .norm import *  # noqa: F403
from .optim import *  # noqa: F403
from .padding import *  # noqa: F403
from .pool import *  # noqa: F403
from .rnn import *  # noqa: F403
from .similarity import *  # noqa: F403
from .timedistributed import *  # noqa: F403
from .transformer import *  # noqa: F403
from .wrap import *  # noqa: F403

__all__ = ["Cell"]
for _part in (
    "activation",
    "attention",
    "basic",
    "container",
    "conv",
    "dynamic_lr",
    "embedding",
    "grad",
    "image",
    "learning_rate_schedule",
    "loss",
    "loss_scale",
    "math",
    "norm",
    "optim",
    "padding",
    "pool",
    "rnn",
    "similarity",
    "timedistributed",
    "transformer",
    "wrap",
):
    __all__ += globals()[_part].__all__
