"""Brightness, contrast, saturation, hue and grey."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..draws import Draws
from ..transform import check_number, check_pair, check_prob
from .image import ImageTransform, to_type

__all__ = [
    "AdjustBrightness",
    "AdjustContrast",
    "AdjustGamma",
    "AdjustHue",
    "AdjustSaturation",
    "Grayscale",
    "HsvToRgb",
    "Invert",
    "RandomColor",
    "RandomColorAdjust",
    "RandomGrayscale",
    "RandomLighting",
    "RgbToBgr",
    "RgbToHsv",
]

# The weights of ITU-R BT.601, as Pillow and OpenCV use them.
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def _need_rgb(where: str, x: np.ndarray) -> None:
    if x.ndim != 4 or x.shape[3] != 3:
        raise ValueError(f"{where}: the image has shape {list(x.shape[1:])}; it must be (H, W, 3)")


def luma(x: np.ndarray) -> np.ndarray:
    """The grey value of n RGB images, float32 (n, H, W)."""
    return x.astype(np.float32) @ _LUMA


def _per_image(factor: np.ndarray, x: np.ndarray) -> np.ndarray:
    return factor.astype(np.float32).reshape(-1, *[1] * (x.ndim - 1))


def blend(x: np.ndarray, other: Any, factor: np.ndarray) -> np.ndarray:
    """other + factor * (x - other): factor 1 keeps the image."""
    values = x.astype(np.float32)
    return to_type(other + _per_image(factor, x) * (values - other), x.dtype)


def brighter(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Blend with black."""
    return blend(x, np.float32(0), factor)


def contrasted(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Blend with the mean grey of each image."""
    grey = luma(x) if x.ndim == 4 and x.shape[3] == 3 else x.astype(np.float32)
    mean = grey.reshape(len(x), -1).mean(1)
    if x.dtype.kind in "iu":
        mean = np.floor(mean + np.float32(0.5))
    return blend(x, _per_image(mean, x), factor)


def saturated(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Blend with the grey image."""
    return blend(x, to_type(luma(x), x.dtype).astype(np.float32)[..., None], factor)


def _hue(rgb: np.ndarray, most: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """In sixths of the colour circle, -1 to 5; 0 for grey."""
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(most == g, 2 + (b - r) / spread, 4 + (r - g) / spread)
        h = np.where(most == r, (g - b) / spread, rest)
    return np.where(spread > 0, h, 0)


def hue_turned(x: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The hue moved by ``turn`` of the colour circle (Smith 1978)."""
    top = np.float32(np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 1)
    rgb = x.astype(np.float32) / top
    most, least = rgb.max(3), rgb.min(3)
    spread = most - least
    h = _hue(rgb, most, spread) + 6 * turn.astype(np.float32).reshape(-1, 1, 1)
    made = [most - spread * _ramp(h + n) for n in (5, 3, 1)]
    return to_type(np.stack(made, 3).astype(np.float32) * top, x.dtype)


def _ramp(k: np.ndarray) -> np.ndarray:
    """max(0, min(k mod 6, 4 - k mod 6, 1))."""
    k = np.mod(k, 6)
    return np.clip(np.minimum(k, 4 - k), 0, 1)


class AdjustBrightness(ImageTransform):
    """image * brightness_factor: 0 is black, 1 the image itself.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustBrightness(1.5)(np.array([[10, 200]], np.uint8))
    array([[ 15, 255]], dtype=uint8)
    """

    def __init__(self, brightness_factor: float) -> None:
        self.brightness_factor = check_number(
            "AdjustBrightness", "brightness_factor", brightness_factor, 0.0
        )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return brighter(x, np.full(len(x), self.brightness_factor))


class AdjustContrast(ImageTransform):
    """mean + contrast_factor * (image - mean), with the mean of the grey image.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustContrast(0.5)(np.array([[0, 200]], np.uint8))
    array([[ 50, 150]], dtype=uint8)
    """

    def __init__(self, contrast_factor: float) -> None:
        self.contrast_factor = check_number(
            "AdjustContrast", "contrast_factor", contrast_factor, 0.0
        )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return contrasted(x, np.full(len(x), self.contrast_factor))


class AdjustSaturation(ImageTransform):
    """grey + saturation_factor * (image - grey), images (H, W, 3).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustSaturation(0.0)(np.array([[[255, 0, 0]]], np.uint8))
    array([[[76, 76, 76]]], dtype=uint8)
    """

    def __init__(self, saturation_factor: float) -> None:
        self.saturation_factor = check_number(
            "AdjustSaturation", "saturation_factor", saturation_factor, 0.0
        )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("AdjustSaturation", x)
        return saturated(x, np.full(len(x), self.saturation_factor))


class AdjustHue(ImageTransform):
    """The hue turned by hue_factor of the colour circle, -0.5 to 0.5; images (H, W, 3).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustHue(1 / 3)(np.array([[[255, 0, 0]]], np.uint8))
    array([[[  0, 255,   0]]], dtype=uint8)
    """

    def __init__(self, hue_factor: float) -> None:
        self.hue_factor = check_number("AdjustHue", "hue_factor", hue_factor, -0.5, 0.5)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("AdjustHue", x)
        return hue_turned(x, np.full(len(x), self.hue_factor))


def _factors(name: str, value: Any) -> tuple[float, float]:
    """(lowest, highest) of a pair, or of v: [max(0, 1 - v), 1 + v]."""
    where = "RandomColorAdjust"
    if isinstance(value, tuple | list):
        return check_pair(where, name, value, 0.0)
    spread = check_number(where, name, value, 0.0)
    return max(0.0, 1 - spread), 1 + spread


def _hues(value: Any) -> tuple[float, float]:
    where = "RandomColorAdjust"
    if not isinstance(value, tuple | list):
        value = (-check_number(where, "hue", value, 0.0, 0.5), value)
    low, high = check_pair(where, "hue", value, -0.5)
    return low, check_number(where, "hue", high, -0.5, 0.5)


class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue by random factors, in this order.

    Each is (lowest, highest), or a number v for [max(0, 1 - v), 1 + v] (hue: [-v, v], at most 0.5).
    Saturation and hue need images (H, W, 3).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomColorAdjust(brightness=0.2)(np.zeros((4, 5, 3), np.uint8)).shape
    (4, 5, 3)
    """

    def __init__(
        self,
        brightness: Any = (1, 1),
        contrast: Any = (1, 1),
        saturation: Any = (1, 1),
        hue: Any = (0, 0),
    ) -> None:
        self.brightness = _factors("brightness", brightness)
        self.contrast = _factors("contrast", contrast)
        self.saturation = _factors("saturation", saturation)
        self.hue = _hues(hue)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        if self.saturation != (1, 1) or self.hue != (0, 0):
            _need_rgb("RandomColorAdjust", x)
        steps = (
            (brighter, self.brightness, (1, 1)),
            (contrasted, self.contrast, (1, 1)),
            (saturated, self.saturation, (1, 1)),
            (hue_turned, self.hue, (0, 0)),
        )
        for change, bounds, nothing in steps:
            if bounds != nothing:
                x = change(x, draws.uniform(*bounds))
        return x


class Grayscale(ImageTransform):
    """RGB (H, W, 3) to grey: (H, W), or (H, W, 3) with three equal channels.

    grey = 0.299 R + 0.587 G + 0.114 B.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Grayscale()(np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8))
    array([[ 76, 150]], dtype=uint8)
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        if num_output_channels not in (1, 3):
            raise ValueError(
                f"Grayscale: 'num_output_channels' is {num_output_channels!r}; it must be 1 or 3"
            )
        self.num_output_channels = num_output_channels

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("Grayscale", x)
        grey = to_type(luma(x), x.dtype)
        return grey if self.num_output_channels == 1 else np.repeat(grey[..., None], 3, 3)


class RandomGrayscale(ImageTransform):
    """RGB to three equal grey channels with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomGrayscale(0.5)(np.zeros((4, 5, 3), np.uint8)).shape
    (4, 5, 3)
    """

    def __init__(self, prob: float = 0.1) -> None:
        self.prob = check_prob("RandomGrayscale", prob)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("RandomGrayscale", x)
        chosen = draws.uniform() < self.prob
        made = np.array(x)
        made[chosen] = to_type(luma(x[chosen]), x.dtype)[..., None]
        return made


def turned_over(x: np.ndarray) -> np.ndarray:
    """The largest value of the type minus x."""
    return (np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 1) - x


class Invert(ImageTransform):
    """255 - image for uint8; 1 - image for floats.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Invert()(np.array([[10, 20]], np.uint8))
    array([[245, 235]], dtype=uint8)
    """

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return turned_over(x)


class AdjustGamma(ImageTransform):
    """top * gain * (image / top) ** gamma, top being 255 for uint8 and 1 for floats.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.AdjustGamma(2.0)(np.array([[0.5, 1.0]]))
    array([[0.25, 1.  ]])
    """

    def __init__(self, gamma: float, gain: float = 1.0) -> None:
        self.gamma = check_number("AdjustGamma", "gamma", gamma, 0.0)
        self.gain = check_number("AdjustGamma", "gain", gain, 0.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        top = np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 1
        part = np.clip(x / top, 0, None)
        return to_type(np.clip(self.gain * part**self.gamma, 0, 1) * top, x.dtype)


class RandomColor(ImageTransform):
    """Saturation by a factor drawn from degrees, (lowest, highest) at least 0; images (H, W, 3).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomColor((0.0, 0.0))(np.array([[[255, 0, 0]]], np.uint8))
    array([[[76, 76, 76]]], dtype=uint8)
    """

    def __init__(self, degrees: Any = (0.1, 1.9)) -> None:
        self.degrees = check_pair("RandomColor", "degrees", degrees, 0.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("RandomColor", x)
        return saturated(x, draws.uniform(*self.degrees))


# Principal components of ImageNet's colours, in parts of 255 (Krizhevsky et al. 2012).
_EIGENVALUES = np.array([0.2175, 0.0188, 0.0045])
_EIGENVECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


class RandomLighting(ImageTransform):
    """Light of another colour: the principal components of ImageNet's colours times normal numbers
    of standard deviation alpha are added to all pixels (Krizhevsky et al. 2012); images (H, W, 3).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomLighting(0.1)(np.full((4, 5, 3), 100, np.uint8)).shape
    (4, 5, 3)
    """

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = check_number("RandomLighting", "alpha", alpha, 0.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        _need_rgb("RandomLighting", x)
        top = np.iinfo(x.dtype).max if x.dtype.kind in "iu" else 1.0
        # Box and Muller's normal numbers from uniform ones.
        radius = [np.sqrt(-2 * np.log1p(-draws.uniform())) for _ in range(3)]
        normal = np.stack([r * np.cos(2 * np.pi * draws.uniform()) for r in radius], 1)
        change = (self.alpha * normal * _EIGENVALUES) @ _EIGENVECTORS.T * top
        return to_type(x + change[:, None, None].astype(np.float32), x.dtype)


class RgbToBgr(ImageTransform):
    """The three channels in the other order.

    is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RgbToBgr(is_hwc=True)(np.array([[[1, 2, 3]]]))
    array([[[3, 2, 1]]])
    """

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = bool(is_hwc)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        axis = 3 if self.is_hwc else 1
        if x.ndim != 4 or x.shape[axis] != 3:
            shape = "(H, W, 3)" if self.is_hwc else "(3, H, W)"
            raise ValueError(
                f"RgbToBgr: the image has shape {list(x.shape[1:])}; it must be {shape}"
            )
        return np.flip(x, axis)


class _ThreeChannels(ImageTransform):
    """A map of the three channels of float images in [0, 1]."""

    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc = bool(is_hwc)

    def _mapped(self, channels: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        axis = 3 if self.is_hwc else 1
        name = type(self).__name__
        if x.ndim != 4 or x.shape[axis] != 3:
            shape = "(H, W, 3)" if self.is_hwc else "(3, H, W)"
            raise ValueError(f"{name}: the image has shape {list(x.shape[1:])}; it must be {shape}")
        if x.dtype.kind != "f":
            raise TypeError(f"{name}: the image is {x.dtype}; it must hold floats in [0, 1]")
        made = self._mapped(np.moveaxis(x, axis, -1))
        return np.moveaxis(made, -1, axis).astype(x.dtype, copy=False)


class RgbToHsv(_ThreeChannels):
    """Red, green and blue in [0, 1] to hue, saturation and value in [0, 1] (Smith 1978), as
    Python's colorsys has them.

    is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RgbToHsv(is_hwc=True)(np.array([[[0.0, 1.0, 1.0]]]))
    array([[[0.5, 1. , 1. ]]])
    """

    def _mapped(self, channels: np.ndarray) -> np.ndarray:
        most = channels.max(-1)
        spread = most - channels.min(-1)
        saturation = np.divide(spread, most, out=np.zeros_like(most), where=spread > 0)
        return np.stack([_hue(channels, most, spread) / 6 % 1, saturation, most], -1)


class HsvToRgb(_ThreeChannels):
    """The way back from RgbToHsv.

    is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.HsvToRgb(is_hwc=True)(np.array([[[0.5, 1.0, 1.0]]]))
    array([[[0., 1., 1.]]])
    """

    def _mapped(self, channels: np.ndarray) -> np.ndarray:
        hue, saturation, value = np.moveaxis(channels, -1, 0)
        return np.stack([value * (1 - saturation * _ramp(6 * hue + n)) for n in (5, 3, 1)], -1)
