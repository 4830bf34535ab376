"""What the image transforms share: layouts, sizes, and the enums of MindSpore."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum
from typing import Any

import numpy as np

from ..config import check_int
from ..draws import Draws
from ..transform import Transform

__all__ = ["Border", "ImageBatchFormat", "ImageTransform", "Inter"]


class Inter(IntEnum):
    """How values between pixels are found.

    >>> from diptych.dataset import vision
    >>> vision.Inter.BILINEAR is vision.Inter.LINEAR
    True
    """

    NEAREST = 0
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4


class Border(StrEnum):
    """What lies outside of an image: one value, its edge, or its mirror with and without the
    edge.

    >>> from diptych.dataset import vision
    >>> vision.Border("reflect") is vision.Border.REFLECT
    True
    """

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ImageBatchFormat(IntEnum):
    """Axes of a batch of images.

    >>> from diptych.dataset import vision
    >>> vision.ImageBatchFormat.NCHW.name
    'NCHW'
    """

    NHWC = 0
    NCHW = 1


def pillow(where: str) -> Any:
    """Pillow's Image module, which encoded images need."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            f"{where}: needs Pillow, which is not installed: pip install pillow"
        ) from None
    return Image


class ImageTransform(Transform):
    """A transform of images (H, W) or (H, W, C), arrays or Pillow's, into arrays."""

    def _check(self, columns: list[np.ndarray]) -> None:
        for image in columns:
            if image.ndim not in (3, 4) or 0 in image.shape[1:] or image.dtype.kind not in "biuf":
                raise ValueError(
                    f"{type(self).__name__}: the image is {image.dtype} of shape "
                    f"{list(image.shape[1:])}; it must hold numbers of shape (H, W) or (H, W, C)"
                )

    def block(self, columns: list[np.ndarray], draws: Draws) -> list[np.ndarray]:
        self._check(columns)
        return super().block(columns, draws)


def size_pair(where: str, size: Any) -> tuple[int, int]:
    """(height, width) of one int or two."""
    pair = (size, size) if isinstance(size, int) else size
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"{where}: 'size' is {size!r}; it must be an int or (height, width)")
    height, width = (check_int(where, "size", n, 1, 2**20) for n in pair)
    return height, width


def check_enum(where: str, name: str, value: Any, kind: type[Enum]) -> Any:
    """value, a member of the enum."""
    if not isinstance(value, kind):
        raise TypeError(f"{where}: '{name}' is {value!r}; it must be a member of {kind.__name__}")
    return value


def to_type(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Computed values in an image's type: integers are rounded and kept in range."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.clip(np.rint(values), info.min, info.max).astype(dtype)
    if dtype.kind == "b":
        return values >= 0.5
    return values.astype(dtype, copy=False)
