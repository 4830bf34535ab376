"""Sizes, crops, flips, rotations, padding and holes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..config import check_int, check_list
from ..draws import Draws
from ..transform import check_number, check_pair, check_prob
from .formats import Decode
from .image import Border, ImageTransform, Inter, check_enum, size_pair, to_type

__all__ = [
    "CenterCrop",
    "Crop",
    "CutOut",
    "HorizontalFlip",
    "Pad",
    "RandomCrop",
    "RandomCropDecodeResize",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "Rotate",
    "VerticalFlip",
]


# ---- resizing


def _cubic(d: np.ndarray) -> np.ndarray:
    """Keys' kernel (1981) with a = -0.75, as OpenCV has it."""
    a, d = -0.75, np.abs(d)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def taps(n: int, m: int, method: Inter) -> tuple[np.ndarray, np.ndarray]:
    """For each of m places of the result: which of n pixels it takes (m, k), with which weights."""
    scale = n / m
    if method == Inter.NEAREST:
        first = np.floor(np.arange(m) * scale).astype(np.int64)[:, None]
        return np.minimum(first, n - 1), np.ones((m, 1))
    if method == Inter.AREA and scale > 1:
        low, high = np.arange(m) * scale, (np.arange(m) + 1) * scale
        places = np.floor(low).astype(np.int64)[:, None] + np.arange(math.ceil(scale) + 1)
        covered = np.minimum(high[:, None], places + 1) - np.maximum(low[:, None], places)
        weights = np.clip(covered, 0, None)
        return np.minimum(places, n - 1), weights / weights.sum(1, keepdims=True)
    centre = (np.arange(m) + 0.5) * scale - 0.5
    start = np.floor(centre).astype(np.int64)[:, None]
    if method == Inter.CUBIC:
        places = start + np.arange(-1, 3)
        weights = _cubic(centre[:, None] - places)
    else:
        places = start + np.arange(2)
        weights = 1 - np.abs(centre[:, None] - places)
    return np.clip(places, 0, n - 1), weights


def _along(x: np.ndarray, axis: int, size: int, method: Inter) -> np.ndarray:
    """x with ``axis`` resized to size."""
    if x.shape[axis] == size:
        return x
    places, weights = taps(x.shape[axis], size, method)
    if method == Inter.NEAREST:
        return np.take(x, places[:, 0], axis)
    shape = [1] * x.ndim
    shape[axis] = size
    made = 0.0
    for k in range(places.shape[1]):
        made = made + np.take(x, places[:, k], axis) * weights[:, k].astype(np.float32).reshape(
            shape
        )
    return made


def resized(x: np.ndarray, height: int, width: int, method: Inter) -> np.ndarray:
    """n images (n, H, W ...) in another size, in their type."""
    if method == Inter.NEAREST:
        return _along(_along(x, 1, height, method), 2, width, method)
    work = x.astype(np.float64 if x.dtype == np.float64 else np.float32, copy=False)
    return to_type(_along(_along(work, 1, height, method), 2, width, method), x.dtype)


class Resize(ImageTransform):
    """Another size: (height, width), or an int for the shorter side with the shape kept.

    Pixel centres are half-integers, as in OpenCV and PyTorch (align_corners False), without
    smoothing before shrinking except by Inter.AREA. Integer images are rounded.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Resize((1, 4))(np.array([[0, 8]], np.uint8))
    array([[0, 2, 6, 8]], dtype=uint8)
    """

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR) -> None:
        self.size = check_int("Resize", "size", size, 1) if isinstance(size, int) else size
        if not isinstance(size, int):
            self.size = size_pair("Resize", size)
        self.interpolation = check_enum("Resize", "interpolation", interpolation, Inter)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        height, width = x.shape[1:3]
        if isinstance(self.size, int):
            shorter = min(height, width)
            height, width = height * self.size // shorter, width * self.size // shorter
        else:
            height, width = self.size
        return resized(x, height, width, self.interpolation)


# ---- padding and crops


def _sides(where: str, padding: Any) -> tuple[int, int, int, int]:
    """left, top, right, bottom of 1 int, 2 (left and right, top and bottom) or 4."""
    given = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(given) not in (1, 2, 4):
        raise ValueError(f"{where}: 'padding' is {padding!r}; it must be 1, 2 or 4 int")
    sides = [check_int(where, "padding", n, 0, 2**20) for n in given]
    return tuple(sides * (4 // len(sides)))  # type: ignore[return-value]


def fill_values(where: str, value: Any) -> tuple[float, ...]:
    values = value if isinstance(value, tuple | list) else (value,)
    return tuple(check_number(where, "fill_value", v, -np.inf) for v in values)


def fill_of(where: str, fill: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """The fill values in the type of n images (n, H, W ...), one or one a channel."""
    channels = x.shape[3] if x.ndim == 4 else 1
    if len(fill) not in (1, channels):
        raise ValueError(
            f"{where}: 'fill_value' holds {len(fill)} numbers; the image has {channels} channels"
        )
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        for value in fill:
            check_number(where, "fill_value", value, info.min, info.max)
    return np.array(fill).astype(x.dtype)


def padded(
    x: np.ndarray, sides: tuple[int, int, int, int], fill: tuple[float, ...], border: Border
) -> np.ndarray:
    """n images with left, top, right, bottom added."""
    left, top, right, bottom = sides
    widths = [(0, 0), (top, bottom), (left, right)] + [(0, 0)] * (x.ndim - 3)
    if border != Border.CONSTANT:
        return np.pad(x, widths, mode=border.value)
    shape = [n + sum(w) for n, w in zip(x.shape, widths, strict=True)]
    made = np.empty(shape, x.dtype)
    made[...] = fill_of("Pad", fill, x)
    made[:, top : top + x.shape[1], left : left + x.shape[2]] = x
    return made


class Pad(ImageTransform):
    """Pixels added around: one int, (left and right, top and bottom) or (left, top, right, bottom).

    fill_value (one number or one a channel) belongs to Border.CONSTANT.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Pad((1, 0))(np.array([[1, 2]]))
    array([[0, 1, 2, 0]])
    """

    def __init__(
        self, padding: Any, fill_value: Any = 0, padding_mode: Border = Border.CONSTANT
    ) -> None:
        self.padding = _sides("Pad", padding)
        self.fill_value = fill_values("Pad", fill_value)
        self.padding_mode = check_enum("Pad", "padding_mode", padding_mode, Border)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return padded(x, self.padding, self.fill_value, self.padding_mode)


class Crop(ImageTransform):
    """The part of the given size whose upper left corner is at coordinates (row, column).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Crop((0, 1), (2, 2))(np.arange(12).reshape(3, 4))
    array([[1, 2],
           [5, 6]])
    """

    def __init__(self, coordinates: tuple[int, int], size: Any) -> None:
        places = check_list("Crop", "coordinates", coordinates)
        self.coordinates = tuple(check_int("Crop", "coordinates", c, 0) for c in places)
        if len(places) != 2:
            raise ValueError(f"Crop: 'coordinates' is {coordinates!r}; it must be (row, column)")
        self.size = size_pair("Crop", size)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        (top, left), (height, width) = self.coordinates, self.size
        if top + height > x.shape[1] or left + width > x.shape[2]:
            raise ValueError(
                f"Crop: {self.size} at {self.coordinates} leaves the image of {x.shape[1:3]} pixels"
            )
        return x[:, top : top + height, left : left + width]


class CenterCrop(ImageTransform):
    """The middle (size, size) or (height, width); smaller images get black around.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.CenterCrop((1, 2))(np.arange(12).reshape(3, 4))
    array([[5, 6]])
    """

    def __init__(self, size: Any) -> None:
        self.size = size_pair("CenterCrop", size)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        height, width = self.size
        down, right = max(height - x.shape[1], 0), max(width - x.shape[2], 0)
        if down or right:
            sides = (right // 2, down // 2, right - right // 2, down - down // 2)
            x = padded(x, sides, (0,), Border.CONSTANT)
        top, left = (x.shape[1] - height) // 2, (x.shape[2] - width) // 2
        return x[:, top : top + height, left : left + width]


class RandomCrop(ImageTransform):
    """A part of the given size at a random place, after padding.

    pad_if_needed pads images that are smaller; without it they raise ValueError.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomCrop((3, 2), padding=1)(np.zeros((4, 5, 3))).shape
    (3, 2, 3)
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size = size_pair("RandomCrop", size)
        self.padding = None if padding is None else _sides("RandomCrop", padding)
        self.pad_if_needed = bool(pad_if_needed)
        self.fill_value = fill_values("RandomCrop", fill_value)
        self.padding_mode = check_enum("RandomCrop", "padding_mode", padding_mode, Border)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        height, width = self.size
        if self.padding is not None:
            x = padded(x, self.padding, self.fill_value, self.padding_mode)
        down, right = max(height - x.shape[1], 0), max(width - x.shape[2], 0)
        if (down or right) and not self.pad_if_needed:
            raise ValueError(
                f"RandomCrop: the image has {x.shape[1:3]} pixels; they must be at least "
                f"{self.size} without 'pad_if_needed'"
            )
        if down or right:
            x = padded(x, (right, down, right, down), self.fill_value, self.padding_mode)
        top = draws.integers(x.shape[1] - height + 1)
        left = draws.integers(x.shape[2] - width + 1)
        made = np.empty((len(x), height, width, *x.shape[3:]), x.dtype)
        for i, (t, le) in enumerate(zip(top.tolist(), left.tolist(), strict=True)):
            made[i] = x[i, t : t + height, le : le + width]
        return made


class RandomResizedCrop(ImageTransform):
    """A part of random area and aspect ratio, resized: the crop of Inception (Szegedy et al. 2014).

    scale bounds the part of the area, ratio that of width / height; after max_attempts draws that
    do not fit, the largest part in the middle with a legal ratio is taken.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomResizedCrop((4, 4))(np.zeros((9, 8, 3), np.uint8)).shape
    (4, 4, 3)
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        where = "RandomResizedCrop"
        self.size = size_pair(where, size)
        self.scale = check_pair(where, "scale", scale, 0.0)
        self.ratio = check_pair(where, "ratio", ratio, 1e-6)
        self.interpolation = check_enum(where, "interpolation", interpolation, Inter)
        self.max_attempts = check_int(where, "max_attempts", max_attempts, 1, 1000)

    def _box(self, height: int, width: int, numbers: np.ndarray) -> tuple[int, int, int, int]:
        """top, left, height, width from (attempts, 4) numbers in [0, 1)."""
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for area, ratio, down, right in numbers:
            part = height * width * (self.scale[0] + area * (self.scale[1] - self.scale[0]))
            shape = math.exp(low + ratio * (high - low))
            w, h = round(math.sqrt(part * shape)), round(math.sqrt(part / shape))
            if 0 < w <= width and 0 < h <= height:
                return int(down * (height - h + 1)), int(right * (width - w + 1)), h, w
        h, w = height, width
        if width / height < self.ratio[0]:
            h = round(width / self.ratio[0])
        elif width / height > self.ratio[1]:
            w = round(height * self.ratio[1])
        h, w = max(min(h, height), 1), max(min(w, width), 1)
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        drawn = [draws.uniform() for _ in range(4 * self.max_attempts)]
        numbers = np.stack(drawn, 1).reshape(len(x), self.max_attempts, 4)
        made = np.empty((len(x), *self.size, *x.shape[3:]), x.dtype)
        for i in range(len(x)):
            top, left, h, w = self._box(*x.shape[1:3], numbers[i])
            part = x[i : i + 1, top : top + h, left : left + w]
            made[i] = resized(part, *self.size, self.interpolation)[0]
        return made


class RandomCropDecodeResize(RandomResizedCrop):
    """Decode and RandomResizedCrop as one: takes the bytes of an image file."""

    uniform = False

    def __call__(self, *columns: Any) -> Any:
        images = tuple(Decode()(column) for column in columns)
        return super().__call__(*images)


# ---- flips and rotations


class HorizontalFlip(ImageTransform):
    """Left and right exchanged.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.HorizontalFlip()(np.array([[1, 2, 3]]))
    array([[3, 2, 1]])
    """

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return x[:, :, ::-1]


class VerticalFlip(ImageTransform):
    """Top and bottom exchanged.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.VerticalFlip()(np.array([[1], [2]]))
    array([[2],
           [1]])
    """

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return x[:, ::-1]


class _RandomFlip(ImageTransform):
    _axis = 1

    def __init__(self, prob: float = 0.5) -> None:
        self.prob = check_prob(type(self).__name__, prob)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.uniform() < self.prob
        made = np.array(x)
        made[chosen] = np.flip(x[chosen], self._axis)
        return made


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomHorizontalFlip(1.0)(np.array([[1, 2, 3]]))
    array([[3, 2, 1]])
    """

    _axis = 2


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged with probability prob.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomVerticalFlip(1.0)(np.array([[1], [2]]))
    array([[2],
           [1]])
    """


def rotated(
    image: np.ndarray,
    degrees: float,
    method: Inter,
    expand: bool,
    center: tuple[float, float] | None,
    fill: np.ndarray,
) -> np.ndarray:
    """One image (H, W ...) turned counter-clockwise about center (x, y), its middle by default."""
    height, width = image.shape[:2]
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    cx, cy = ((width - 1) / 2, (height - 1) / 2) if center is None else center
    h, w, shift_x, shift_y = height, width, cx, cy
    if expand:
        # Rounded up, but a whole number that misses by its last bits is whole.
        w = math.ceil(abs(width * cos) + abs(height * sin) - 1e-6)
        h = math.ceil(abs(width * sin) + abs(height * cos) - 1e-6)
        cx, cy = (width - 1) / 2, (height - 1) / 2
        shift_x, shift_y = (w - 1) / 2, (h - 1) / 2
    dy, dx = np.mgrid[:h, :w].astype(np.float64)
    dx, dy = dx - shift_x, dy - shift_y
    return sampled(image, cx + cos * dx - sin * dy, cy + sin * dx + cos * dy, method, fill)


def sampled(
    image: np.ndarray, sx: np.ndarray, sy: np.ndarray, method: Inter, fill: np.ndarray
) -> np.ndarray:
    """The image at places (sx, sy), ``fill`` outside."""
    height, width = image.shape[:2]
    eps = 1e-6  # a place on the edge may miss it by its last bits
    outside = (sx < -0.5 - eps) | (sx > width - 0.5 + eps)
    outside |= (sy < -0.5 - eps) | (sy > height - 0.5 + eps)
    if method == Inter.NEAREST:
        ix = np.clip(np.floor(sx + 0.5 + eps), 0, width - 1).astype(np.int64)
        iy = np.clip(np.floor(sy + 0.5 + eps), 0, height - 1).astype(np.int64)
        made = image[iy, ix]
    else:
        x, y = np.clip(sx, 0, width - 1), np.clip(sy, 0, height - 1)
        x0, y0 = x.astype(np.int64), y.astype(np.int64)
        x1, y1 = np.minimum(x0 + 1, width - 1), np.minimum(y0 + 1, height - 1)
        more = (...,) + (None,) * (image.ndim - 2)
        fx, fy = (x - x0)[more], (y - y0)[more]
        upper = image[y0, x0] * (1 - fx) + image[y0, x1] * fx
        lower = image[y1, x0] * (1 - fx) + image[y1, x1] * fx
        made = to_type(upper * (1 - fy) + lower * fy, image.dtype)
    made[outside] = fill
    return made


class Rotate(ImageTransform):
    """The image turned counter-clockwise by degrees.

    Args:
        degrees: the angle.
        resample: Inter.NEAREST or Inter.BILINEAR.
        expand: the result is large enough for the whole turned image.
        center: (x, y) in pixels; the middle by default. expand has no use for it.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Rotate(90)(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """

    _resamples = (Inter.NEAREST, Inter.BILINEAR)

    def __init__(
        self,
        degrees: Any,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: tuple[float, float] | None = None,
        fill_value: Any = 0,
    ) -> None:
        where = type(self).__name__
        self.degrees = self._check_degrees(where, degrees)
        if resample not in self._resamples:
            raise ValueError(
                f"{where}: 'resample' is {resample!r}; it must be Inter.NEAREST or Inter.BILINEAR"
            )
        if expand and center is not None:
            raise ValueError(f"{where}: 'center' cannot be given together with 'expand'")
        if center is not None:
            point = [
                check_number(where, "center", c, -np.inf)
                for c in check_list(where, "center", center)
            ]
            if len(point) != 2:
                raise ValueError(f"{where}: 'center' is {center!r}; it must be (x, y)")
            center = point[0], point[1]
        self.resample, self.expand, self.center = resample, bool(expand), center
        self.fill_value = fill_values(where, fill_value)
        self.uniform = not expand

    @staticmethod
    def _check_degrees(where: str, degrees: Any) -> Any:
        return check_number(where, "degrees", degrees, -np.inf)

    def _angles(self, draws: Draws) -> np.ndarray:
        return np.full(len(draws), self.degrees)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        fill = fill_of(type(self).__name__, self.fill_value, x)
        how = (self.resample, self.expand, self.center, fill)
        angles = self._angles(draws).tolist()
        return np.stack([rotated(a, d, *how) for a, d in zip(x, angles, strict=True)])


class RandomRotation(Rotate):
    """Rotate by a random angle: degrees is a number d for [-d, d], or (lowest, highest).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomRotation(20)(np.zeros((4, 5))).shape
    (4, 5)
    """

    @staticmethod
    def _check_degrees(where: str, degrees: Any) -> Any:
        if isinstance(degrees, tuple | list):
            return check_pair(where, "degrees", degrees)
        most = check_number(where, "degrees", degrees, 0.0)
        return -most, most

    def _angles(self, draws: Draws) -> np.ndarray:
        return draws.uniform(*self.degrees)


class CutOut(ImageTransform):
    """num_patches squares of length x length pixels become 0, at random places (DeVries and Taylor
    2017). Patches may reach over the edge.

    is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> int((vision.CutOut(2)(np.ones((8, 8))) == 0).sum()) <= 4
    True
    """

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True) -> None:
        self.length = check_int("CutOut", "length", length, 1)
        self.num_patches = check_int("CutOut", "num_patches", num_patches, 1)
        self.is_hwc = bool(is_hwc)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        made = np.array(x)
        axis = 1 if self.is_hwc or x.ndim == 3 else 2
        height, width = x.shape[axis : axis + 2]
        for _ in range(self.num_patches):
            down, right = draws.integers(height), draws.integers(width)
            for i, (y, x0) in enumerate(zip(down.tolist(), right.tolist(), strict=True)):
                top, left = y - self.length // 2, x0 - self.length // 2
                rows = slice(max(top, 0), max(top + self.length, 0))
                columns = slice(max(left, 0), max(left + self.length, 0))
                made[(i, *[slice(None)] * (axis - 1), rows, columns)] = 0
        return made
