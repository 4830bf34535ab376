"""Effects that come with a probability, or with a random strength."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import check_int
from ..draws import Draws
from ..transform import check_pair, check_prob
from .color import Invert
from .effects import AdjustSharpness, AutoContrast, Equalize, need_bytes, sharpened
from .image import ImageTransform

__all__ = [
    "RandomAdjustSharpness",
    "RandomAutoContrast",
    "RandomEqualize",
    "RandomInvert",
    "RandomPosterize",
    "RandomSharpness",
    "RandomSolarize",
]


class _Chance(ImageTransform):
    """A transform of each image with probability prob."""

    def __init__(self, transform: ImageTransform, prob: float) -> None:
        self._transform = transform
        self.prob = check_prob(type(self).__name__, prob)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.uniform() < self.prob
        made = np.array(x)
        if chosen.any():
            made[chosen] = self._transform._apply(x[chosen], draws)
        return made


class RandomAutoContrast(_Chance):
    """AutoContrast(cutoff) with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomAutoContrast(prob=1.0)(np.array([[10, 20]], np.uint8))
    array([[  0, 255]], dtype=uint8)
    """

    def __init__(self, cutoff: float = 0.0, prob: float = 0.5) -> None:
        super().__init__(AutoContrast(cutoff), prob)


class RandomEqualize(_Chance):
    """Equalize with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomEqualize(0.5)(np.zeros((4, 5), np.uint8)).shape
    (4, 5)
    """

    def __init__(self, prob: float = 0.5) -> None:
        super().__init__(Equalize(), prob)


class RandomInvert(_Chance):
    """Invert with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomInvert(1.0)(np.array([[10, 20]], np.uint8))
    array([[245, 235]], dtype=uint8)
    """

    def __init__(self, prob: float = 0.5) -> None:
        super().__init__(Invert(), prob)


class RandomAdjustSharpness(_Chance):
    """AdjustSharpness(degree) with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomAdjustSharpness(2.0)(np.zeros((4, 5, 3), np.uint8)).shape
    (4, 5, 3)
    """

    def __init__(self, degree: float, prob: float = 0.5) -> None:
        super().__init__(AdjustSharpness(degree), prob)


class RandomSharpness(ImageTransform):
    """AdjustSharpness by a factor drawn from degrees, (lowest, highest) at least 0.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomSharpness((0.5, 2.0))(np.zeros((4, 5), np.uint8)).shape
    (4, 5)
    """

    def __init__(self, degrees: Any = (0.1, 1.9)) -> None:
        self.degrees = check_pair("RandomSharpness", "degrees", degrees, 0.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return sharpened(x, draws.uniform(*self.degrees))


class RandomPosterize(ImageTransform):
    """Posterize by a number of bits drawn from (least, most), 1 to 8, or by one number.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomPosterize((1, 1))(np.array([[100, 200]], np.uint8))
    array([[  0, 128]], dtype=uint8)
    """

    def __init__(self, bits: Any = (8, 8)) -> None:
        where = "RandomPosterize"
        given = (bits, bits) if isinstance(bits, int) else bits
        pair = check_pair(where, "bits", given, 1)
        self.bits = tuple(check_int(where, "bits", int(b), 1, 8) for b in pair)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        need_bytes("RandomPosterize", x)
        bits = self.bits[0] + draws.integers(self.bits[1] - self.bits[0] + 1)
        masks = (256 - (1 << (8 - bits))).astype(np.uint8)
        return x & masks.reshape(-1, *[1] * (x.ndim - 1))


class RandomSolarize(ImageTransform):
    """Solarize by two thresholds drawn from (lowest, highest), 0 to 255: pixels between them become
    255 - pixel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomSolarize((0, 255))(np.zeros((4, 5), np.uint8)).shape
    (4, 5)
    """

    def __init__(self, threshold: Any = (0, 255)) -> None:
        low, high = check_pair("RandomSolarize", "threshold", threshold, 0.0)
        if high > 255:
            raise ValueError(f"RandomSolarize: 'threshold' is {threshold}; it must be in [0, 255]")
        self.threshold = (low, high)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        need_bytes("RandomSolarize", x)
        shape = (-1, *[1] * (x.ndim - 1))
        a, b = (draws.uniform(*self.threshold).reshape(shape) for _ in range(2))
        inside = (x >= np.minimum(a, b)) & (x <= np.maximum(a, b))
        return np.where(inside, 255 - x, x)
