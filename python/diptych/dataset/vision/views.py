"""Parts of an image: several crops, patches, one resized part, a hole; and images of one size."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ..config import check_int
from ..draws import Draws
from .geometry import CenterCrop, fill_of, fill_values, padded, resized
from .image import Border, ImageTransform, Inter, check_enum, size_pair

__all__ = [
    "Erase",
    "FiveCrop",
    "PadToSize",
    "RandomResize",
    "ResizedCrop",
    "SliceMode",
    "SlicePatches",
    "TenCrop",
]


def _box(where: str, top: Any, left: Any, height: Any, width: Any) -> tuple[int, int, int, int]:
    return (
        check_int(where, "top", top, 0),
        check_int(where, "left", left, 0),
        check_int(where, "height", height, 1),
        check_int(where, "width", width, 1),
    )


def _inside(where: str, x: np.ndarray, box: tuple[int, int, int, int]) -> tuple[slice, slice]:
    """Rows and columns of the box, which lies in the images."""
    top, left, height, width = box
    if top + height > x.shape[1] or left + width > x.shape[2]:
        raise ValueError(
            f"{where}: {(height, width)} at {(top, left)} leaves the image of {x.shape[1:3]} pixels"
        )
    return slice(top, top + height), slice(left, left + width)


class ResizedCrop(ImageTransform):
    """The part (top, left, height, width) of an image, resized to size.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.ResizedCrop(0, 1, 1, 2, (1, 4))(np.array([[0, 0, 8]], np.uint8))
    array([[0, 2, 6, 8]], dtype=uint8)
    """

    def __init__(
        self,
        top: int,
        left: int,
        height: int,
        width: int,
        size: Any,
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        where = "ResizedCrop"
        self.box = _box(where, top, left, height, width)
        self.size = size_pair(where, size)
        self.interpolation = check_enum(where, "interpolation", interpolation, Inter)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        rows, columns = _inside("ResizedCrop", x, self.box)
        return resized(x[:, rows, columns], *self.size, self.interpolation)


class RandomResize(ImageTransform):
    """Resized to (height, width) by a random one of the interpolations.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomResize((4, 3))(np.zeros((9, 8), np.uint8)).shape
    (4, 3)
    """

    def __init__(self, size: Any) -> None:
        self.size = size_pair("RandomResize", size)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        methods = list(Inter)
        chosen = [methods[i] for i in draws.integers(len(methods))]
        parts = zip(x, chosen, strict=True)
        return np.stack([resized(image[None], *self.size, how)[0] for image, how in parts])


class PadToSize(ImageTransform):
    """Padded to (height, width), the image at offset (row, column), in the middle by default.

    fill_value (one number or one a channel) belongs to Border.CONSTANT. Raises ValueError for
    images that are larger.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.PadToSize((1, 4), (0, 1))(np.array([[7, 8]]))
    array([[0, 7, 8, 0]])
    """

    def __init__(
        self,
        size: Any,
        offset: Any = None,
        fill_value: Any = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        where = "PadToSize"
        self.size = size_pair(where, size)
        if offset is not None:
            pair = (offset, offset) if isinstance(offset, int) else offset
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(f"{where}: 'offset' is {offset!r}; it must be (row, column)")
            offset = tuple(check_int(where, "offset", n, 0) for n in pair)
        self.offset = offset
        self.fill_value = fill_values(where, fill_value)
        self.padding_mode = check_enum(where, "padding_mode", padding_mode, Border)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        down, right = self.size[0] - x.shape[1], self.size[1] - x.shape[2]
        top, left = (down // 2, right // 2) if self.offset is None else self.offset
        if min(down, right, down - top, right - left) < 0:
            raise ValueError(
                f"PadToSize: the image of {x.shape[1:3]} pixels at {(top, left)} does not fit into "
                f"{self.size}"
            )
        sides = (left, top, right - left, down - top)
        return padded(x, sides, self.fill_value, self.padding_mode)


class Erase(ImageTransform):
    """The rectangle (top, left, height, width) becomes value, one number or one a channel.

    inplace: False; arrays that come from elsewhere are not written to.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Erase(0, 1, 1, 2, 9)(np.array([[1, 2, 3, 4]]))
    array([[1, 9, 9, 4]])
    """

    def __init__(
        self, top: int, left: int, height: int, width: int, value: Any = 0, inplace: bool = False
    ) -> None:
        self.box = _box("Erase", top, left, height, width)
        self.value = fill_values("Erase", value)
        if inplace:
            raise ValueError("Erase: 'inplace' is True; it must be False: rows are shared")

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        made = np.array(x)
        made[:, *_inside("Erase", x, self.box)] = fill_of("Erase", self.value, x)
        return made


class _Several(ImageTransform):
    """A transform of one image into several: name as many output columns."""

    uniform = False

    def _parts(self, x: np.ndarray, draws: Draws) -> Sequence[np.ndarray]:
        raise NotImplementedError

    def block(self, columns: list[np.ndarray], draws: Draws) -> list[np.ndarray]:
        if len(columns) != 1:
            raise ValueError(f"{type(self).__name__}: got {len(columns)} columns; it takes one")
        self._check(columns)
        return list(self._parts(columns[0], draws))


class FiveCrop(_Several):
    """The four corners (size, size) or (height, width) of an image and its middle, five columns:
    upper left, upper right, lower left, lower right, middle.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> [part.tolist() for part in vision.FiveCrop(1)(np.array([[1, 2, 3], [4, 5, 6]]))]
    [[[1]], [[3]], [[4]], [[6]], [[2]]]
    """

    def __init__(self, size: Any) -> None:
        self.size = size_pair(type(self).__name__, size)

    def _parts(self, x: np.ndarray, draws: Draws) -> Sequence[np.ndarray]:
        height, width = self.size
        down, right = x.shape[1] - height, x.shape[2] - width
        if down < 0 or right < 0:
            raise ValueError(
                f"{type(self).__name__}: the image has {x.shape[1:3]} pixels; they must be at "
                f"least {self.size}"
            )
        corners = [x[:, i : i + height, j : j + width] for i in (0, down) for j in (0, right)]
        return [*corners, CenterCrop(self.size)._apply(x, draws)]


class TenCrop(FiveCrop):
    """FiveCrop of an image and of the image with left and right (use_vertical_flip: top and bottom)
    exchanged, ten columns.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> len(vision.TenCrop((2, 2))(np.zeros((3, 4))))
    10
    """

    def __init__(self, size: Any, use_vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.use_vertical_flip = bool(use_vertical_flip)

    def _parts(self, x: np.ndarray, draws: Draws) -> Sequence[np.ndarray]:
        turned = np.flip(x, 1 if self.use_vertical_flip else 2)
        return [*super()._parts(x, draws), *super()._parts(turned, draws)]


class SliceMode(IntEnum):
    """What SlicePatches does with a size that its numbers do not divide.

    >>> from diptych.dataset import vision
    >>> vision.SliceMode.DROP.name
    'DROP'
    """

    PAD = 0
    DROP = 1


class SlicePatches(_Several):
    """num_height x num_width patches of one size, row by row, a column each.

    SliceMode.PAD fills the image up at its lower right end with fill_value, SliceMode.DROP leaves
    out what is too much there.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> [part.tolist() for part in vision.SlicePatches(1, 2)(np.array([[1, 2, 3]]))]
    [[[1, 2]], [[3, 0]]]
    """

    def __init__(
        self,
        num_height: int = 1,
        num_width: int = 1,
        slice_mode: SliceMode = SliceMode.PAD,
        fill_value: int = 0,
    ) -> None:
        where = "SlicePatches"
        self.num_height = check_int(where, "num_height", num_height, 1)
        self.num_width = check_int(where, "num_width", num_width, 1)
        self.slice_mode = check_enum(where, "slice_mode", slice_mode, SliceMode)
        self.fill_value = fill_values(where, fill_value)

    def _parts(self, x: np.ndarray, draws: Draws) -> Sequence[np.ndarray]:
        down, right = -x.shape[1] % self.num_height, -x.shape[2] % self.num_width
        if self.slice_mode == SliceMode.PAD:
            x = padded(x, (0, 0, right, down), self.fill_value, Border.CONSTANT)
        height, width = x.shape[1] // self.num_height, x.shape[2] // self.num_width
        if not height or not width:
            raise ValueError(
                f"SlicePatches: an image of {x.shape[1:3]} pixels has no "
                f"{self.num_height} x {self.num_width} patches"
            )
        return [
            x[:, i * height : (i + 1) * height, j * width : (j + 1) * width]
            for i in range(self.num_height)
            for j in range(self.num_width)
        ]
