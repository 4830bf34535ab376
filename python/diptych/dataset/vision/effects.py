"""Histograms, blurs and erased rectangles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..config import check_int
from ..draws import Draws
from ..transform import Transform, check_number, check_pair, check_prob
from .color import blend
from .image import ImageTransform, to_type

__all__ = [
    "AdjustSharpness",
    "AutoContrast",
    "Equalize",
    "GaussianBlur",
    "Posterize",
    "RandomErasing",
    "Solarize",
]


def need_bytes(where: str, x: np.ndarray) -> None:
    """TypeError for other images."""
    if x.dtype != np.uint8:
        raise TypeError(f"{where}: the image is {x.dtype}; it must be uint8")


def _by_channel(x: np.ndarray, table_of: Any) -> np.ndarray:
    """Each channel of each image through the table that its histogram gives."""
    made = np.empty_like(x)
    for i, image in enumerate(x):
        planes = image[..., None] if image.ndim == 2 else image
        for c in range(planes.shape[2]):
            histogram = np.bincount(planes[..., c].reshape(-1), minlength=256)
            plane = table_of(histogram)[planes[..., c]]
            made[(i, ..., c) if image.ndim == 3 else i] = plane
    return made


class AutoContrast(ImageTransform):
    """Each channel of uint8 images spread over 0 to 255, after cutoff percent of its darkest and
    of its lightest pixels are left out of account.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AutoContrast()(np.array([[50, 100, 150]], np.uint8))
    array([[  0, 127, 255]], dtype=uint8)
    """

    def __init__(self, cutoff: float = 0.0) -> None:
        self.cutoff = check_number("AutoContrast", "cutoff", cutoff, 0.0, 49.999)

    def _table(self, histogram: np.ndarray) -> np.ndarray:
        ignored = int(histogram.sum() * self.cutoff // 100)
        low = int(np.searchsorted(np.cumsum(histogram), ignored, "right"))
        high = 255 - int(np.searchsorted(np.cumsum(histogram[::-1]), ignored, "right"))
        if high <= low:
            return np.arange(256, dtype=np.uint8)
        scale = 255.0 / (high - low)
        return np.clip(np.arange(256) * scale - low * scale, 0, 255).astype(np.uint8)

    def changed(self, x: np.ndarray) -> np.ndarray:
        """n images."""
        need_bytes("AutoContrast", x)
        return _by_channel(x, self._table)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return self.changed(x)


class Equalize(ImageTransform):
    """Each channel of uint8 images through its cumulative histogram, as Pillow has it.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Equalize()(np.zeros((2, 3), np.uint8)).shape
    (2, 3)
    """

    @staticmethod
    def _table(histogram: np.ndarray) -> np.ndarray:
        used = histogram[histogram > 0]
        step = (histogram.sum() - used[-1]) // 255
        if len(used) <= 1 or not step:
            return np.arange(256, dtype=np.uint8)
        before = np.cumsum(histogram) - histogram
        return np.minimum((step // 2 + before) // step, 255).astype(np.uint8)

    def changed(self, x: np.ndarray) -> np.ndarray:
        """n images."""
        need_bytes("Equalize", x)
        return _by_channel(x, self._table)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return self.changed(x)


class Posterize(ImageTransform):
    """The upper ``bits`` bits of each byte of uint8 images; 8 keeps all.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Posterize(1)(np.array([[100, 200]], np.uint8))
    array([[  0, 128]], dtype=uint8)
    """

    def __init__(self, bits: int) -> None:
        self.bits = check_int("Posterize", "bits", bits, 0, 8)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        need_bytes("Posterize", x)
        return x & np.uint8(256 - (1 << (8 - self.bits)))


class Solarize(ImageTransform):
    """Pixels of uint8 images in [low, high], or from a number on, become 255 - pixel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Solarize(100)(np.array([[99, 100, 255]], np.uint8))
    array([[ 99, 155,   0]], dtype=uint8)
    """

    def __init__(self, threshold: Any) -> None:
        if isinstance(threshold, tuple | list):
            self.threshold = check_pair("Solarize", "threshold", threshold, 0.0)
        else:
            self.threshold = (check_number("Solarize", "threshold", threshold, 0.0, 255.0), 255.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        need_bytes("Solarize", x)
        low, high = self.threshold
        return np.where((x >= low) & (x <= high), 255 - x, x)


def _gauss(size: int, sigma: float) -> np.ndarray:
    """The kernel's weights; sigma 0: from its size, as OpenCV takes it."""
    sigma = sigma or 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    weights = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * sigma * sigma))
    return weights / weights.sum()


class GaussianBlur(ImageTransform):
    """Convolution with a Gauss kernel, edges mirrored without the edge pixel.

    Args:
        kernel_size: odd; one int or (width, height).
        sigma: one number or (width, height); 0.3 ((size - 1) / 2 - 1) + 0.8 by default.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.GaussianBlur(3)(np.full((4, 5), 7.0)).round(3)[0]
    array([7., 7., 7., 7., 7.])
    """

    def __init__(self, kernel_size: Any, sigma: Any = None) -> None:
        where = "GaussianBlur"
        sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        self.kernel_size = tuple(check_int(where, "kernel_size", n, 1, 1001) for n in sizes)
        if len(self.kernel_size) != 2 or any(n % 2 == 0 for n in self.kernel_size):
            raise ValueError(
                f"{where}: 'kernel_size' is {kernel_size!r}; it must be an odd int or two of them"
            )
        sigmas = sigma if isinstance(sigma, tuple | list) else (sigma or 0, sigma or 0)
        self.sigma = tuple(check_number(where, "sigma", s, 0.0) for s in sigmas)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        made = x.astype(np.float64 if x.dtype == np.float64 else np.float32, copy=False)
        for axis, size, sigma in zip((2, 1), self.kernel_size, self.sigma, strict=True):
            widths = [(0, 0)] * x.ndim
            widths[axis] = (size // 2, size // 2)
            wide = np.pad(made, widths, "reflect" if x.shape[axis] > 1 else "edge")
            weights = _gauss(size, sigma).astype(made.dtype)
            n = x.shape[axis]
            made = sum(
                np.take(wide, range(k, k + n), axis) * weight for k, weight in enumerate(weights)
            )
        return to_type(made, x.dtype)


def sharpened(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Blend with an image smoothed by 3 x 3 weights, 5 in the middle and 1 around; the edge stays
    as it is."""
    values = x.astype(np.float32)
    smooth, height, width = values.copy(), x.shape[1], x.shape[2]
    if height > 2 and width > 2:
        parts = [
            values[:, i : height - 2 + i, j : width - 2 + j] for i in range(3) for j in range(3)
        ]
        mean = (sum(parts) + 4 * parts[4]) / np.float32(13)
        smooth[:, 1:-1, 1:-1] = to_type(mean, x.dtype)
    return blend(x, smooth, factor)


class AdjustSharpness(ImageTransform):
    """smooth + sharpness_factor * (image - smooth): 0 is smoothed by 3 x 3 weights (5 in the
    middle, 1 around, over 13), 1 the image itself, 2 sharper.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustSharpness(0)(13 * np.eye(3))[1]
    array([0., 7., 0.])
    """

    def __init__(self, sharpness_factor: float) -> None:
        self.sharpness_factor = check_number(
            "AdjustSharpness", "sharpness_factor", sharpness_factor, 0.0
        )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return sharpened(x, np.full(len(x), self.sharpness_factor))


class RandomErasing(Transform):
    """With probability prob a rectangle of an image (C, H, W) gets new values (Zhong et al. 2017).

    Args:
        prob: the probability.
        scale: bounds of its part of the area.
        ratio: bounds of height / width.
        value: a number, three of them, or 'random' (normal numbers for each pixel).
        inplace: False; arrays that come from elsewhere are not written to.
        max_attempts: draws before an image is left as it is.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomErasing(1.0)(np.ones((3, 8, 8), np.float32)).shape
    (3, 8, 8)
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ) -> None:
        where = "RandomErasing"
        self.prob = check_prob(where, prob)
        self.scale = check_pair(where, "scale", scale, 0.0)
        self.ratio = check_pair(where, "ratio", ratio, 1e-6)
        self.value = value
        if value != "random":
            values = value if isinstance(value, tuple | list) else (value,)
            self.value = [check_number(where, "value", v, -np.inf) for v in values]
        if inplace:
            raise ValueError(f"{where}: 'inplace' is True; it must be False: rows are shared")
        self.max_attempts = check_int(where, "max_attempts", max_attempts, 1, 1000)

    def _box(self, height: int, width: int, rng: np.random.Generator) -> tuple[slice, slice] | None:
        """Rows and columns of the rectangle."""
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(self.max_attempts):
            area = height * width * rng.uniform(*self.scale)
            shape = math.exp(rng.uniform(low, high))
            h, w = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < h < height and 0 < w < width:
                top, left = rng.integers(height - h + 1), rng.integers(width - w + 1)
                return slice(top, top + h), slice(left, left + w)
        return None

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        if x.ndim != 4:
            raise ValueError(
                f"RandomErasing: the image has shape {list(x.shape[1:])}; it must be (C, H, W)"
            )
        made = np.array(x)
        chosen, seeds = draws.uniform() < self.prob, draws.bits()
        for i in np.flatnonzero(chosen).tolist():
            rng = np.random.default_rng(int(seeds[i]))
            box = self._box(*x.shape[2:], rng)
            if box is None:
                continue
            part = made[(i, slice(None), *box)]
            if self.value == "random":
                part[...] = rng.standard_normal(part.shape)
            else:
                part[...] = np.array(self.value).reshape(-1, 1, 1)
        return made
