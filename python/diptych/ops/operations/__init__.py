"""The primitive classes under the name of MindSpore's older package: ``operations.ReLU()(x)``. Its
division into files is kept as names for the whole: ``operations.nn_ops.ReLU()(x)``."""

import sys

from .. import apply, ctc, detect, older, primitive, sampling
from ..apply import *  # noqa: F403
from ..basic import Print
from ..ctc import *  # noqa: F403
from ..detect import *  # noqa: F403
from ..older import *  # noqa: F403
from ..primitive import *  # noqa: F403
from ..sampling import *  # noqa: F403

array_ops = image_ops = linalg_ops = math_ops = nn_ops = other_ops = random_ops = sys.modules[
    __name__
]

__all__ = [
    "Print",
    *(n for m in (apply, ctc, detect, older, primitive, sampling) for n in m.__all__),
]
