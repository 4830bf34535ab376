"""Affine maps of images: rotation, shift, scale and shear at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..config import check_list
from ..draws import Draws
from ..transform import check_number, check_pair
from .geometry import fill_of, fill_values, sampled
from .image import ImageTransform, Inter

__all__ = ["Affine", "RandomAffine"]


def _bounds(where: str, name: str, value: Any, limit: float) -> list[tuple[float, float]]:
    """[(lowest, highest) along x, and along y] of 2 or 4 numbers; y stays 0 with 2."""
    numbers = [check_number(where, name, v, -limit, limit) for v in check_list(where, name, value)]
    if len(numbers) not in (2, 4):
        raise ValueError(f"{where}: '{name}' is {value!r}; it must hold 2 or 4 numbers")
    pairs = [*numbers, 0.0, 0.0][:4]
    return [check_pair(where, name, pairs[:2]), check_pair(where, name, pairs[2:])]


def linear_part(degrees: float, scale: float, shear: tuple[float, float]) -> np.ndarray:
    """Where (x, y) from the image's middle goes, before the shift: a matrix (2, 2).

    The shear comes first, then rotation (counter-clockwise) and scale.
    """
    angle, (a, b) = math.radians(degrees), (math.tan(math.radians(s)) for s in shear)
    # y points down: counter-clockwise turns x towards -y.
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return scale * turn @ np.array([[1, a], [b, 1]])


def placed(image: np.ndarray, matrix: np.ndarray, method: Inter, fill: np.ndarray) -> np.ndarray:
    """An image (H, W ...) whose pixel (x, y) comes from the place matrix (2, 3) @ (x, y, 1)."""
    height, width = image.shape[:2]
    x, y = np.arange(width), np.arange(height)[:, None]
    at_x, at_y = (row[0] * x + row[1] * y + row[2] for row in matrix)
    return sampled(image, at_x, at_y, method, fill)


def centred(
    image: np.ndarray,
    how: tuple[float, float, float, float, float, float],
    method: Inter,
    fill: np.ndarray,
) -> np.ndarray:
    """An image turned by ``how``: degrees, scale, shift along x and y (parts of its size), shear
    along x and y (degrees), about its middle."""
    degrees, scale, tx, ty, sx, sy = how
    height, width = image.shape[:2]
    middle = np.array([(width - 1) / 2, (height - 1) / 2])
    shift = np.array([round(tx * width), round(ty * height)])
    back = np.linalg.inv(linear_part(degrees, scale, (sx, sy)))
    offset = middle - back @ (middle + shift)
    return placed(image, np.column_stack([back, offset]), method, fill)


class RandomAffine(ImageTransform):
    """A random rotation, shift, scale and shear of each image, about its middle.

    Args:
        degrees: a number d for [-d, d], or (lowest, highest).
        translate: (lowest, highest) shift along x, or four numbers for x and y, as parts of the
            width and height in [-1, 1].
        scale: (lowest, highest) factor.
        shear: a number s for [-s, s] along x, or two or four degrees as for translate.
        resample: Inter.NEAREST or Inter.BILINEAR.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomAffine(10, translate=(-0.1, 0.1))(np.zeros((4, 5))).shape
    (4, 5)
    """

    def __init__(
        self,
        degrees: Any,
        translate: Any = None,
        scale: Any = None,
        shear: Any = None,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        where = "RandomAffine"
        if not isinstance(degrees, tuple | list):
            most = check_number(where, "degrees", degrees, 0.0)
            degrees = -most, most
        self.degrees = check_pair(where, "degrees", degrees)
        self.translate = _bounds(where, "translate", translate or (0, 0), 1.0)
        self.scale = check_pair(where, "scale", scale or (1.0, 1.0), 1e-6)
        if isinstance(shear, int | float):
            shear = -check_number(where, "shear", shear, 0.0, 89.0), shear
        self.shear = _bounds(where, "shear", shear or (0, 0), 89.0)
        if resample not in (Inter.NEAREST, Inter.BILINEAR):
            raise ValueError(
                f"{where}: 'resample' is {resample!r}; it must be Inter.NEAREST or Inter.BILINEAR"
            )
        self.resample = resample
        self.fill_value = fill_values(where, fill_value)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        fill = fill_of("RandomAffine", self.fill_value, x)
        bounds = [self.degrees, self.scale, *self.translate, *self.shear]
        drawn = np.stack([draws.uniform(*pair) for pair in bounds], 1).tolist()
        pairs = zip(x, drawn, strict=True)
        return np.stack([centred(image, how, self.resample, fill) for image, how in pairs])


class Affine(RandomAffine):
    """A fixed rotation, shift, scale and shear of each image, about its middle.

    Args:
        degrees: counter-clockwise.
        translate: (x, y) as parts of the width and height in [-1, 1].
        scale: the factor, above 0.
        shear: degrees along x, or (along x, along y).
        resample: Inter.NEAREST or Inter.BILINEAR.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Affine(90, (0, 0), 1, 0)(np.array([[1, 2], [3, 4]], np.uint8))
    array([[2, 4],
           [1, 3]], dtype=uint8)
    """

    def __init__(
        self,
        degrees: float,
        translate: Any,
        scale: float,
        shear: Any,
        resample: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        where = "Affine"
        angle = check_number(where, "degrees", degrees, -np.inf)
        factor = check_number(where, "scale", scale, 1e-6)
        shift, slant = (
            _point(where, *pair) for pair in (("translate", translate), ("shear", shear))
        )
        super().__init__((angle, angle), shift, (factor, factor), slant, resample, fill_value)


def _point(where: str, name: str, value: Any) -> tuple[float, ...]:
    """Twice each of one or two numbers: the bounds of what is not drawn."""
    given = [value, 0] if isinstance(value, int | float) else check_list(where, name, value)
    if len(given) != 2:
        raise ValueError(f"{where}: '{name}' is {value!r}; it must hold 2 numbers")
    return given[0], given[0], given[1], given[1]
