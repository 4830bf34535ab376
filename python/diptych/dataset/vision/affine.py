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

__all__ = ["RandomAffine"]


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
        height, width = x.shape[1:3]
        fill = fill_of("RandomAffine", self.fill_value, x)
        bounds = [self.degrees, self.scale, *self.translate, *self.shear]
        drawn = np.stack([draws.uniform(*pair) for pair in bounds], 1).tolist()
        cx, cy = (width - 1) / 2, (height - 1) / 2
        dx, dy = np.arange(width) - cx, np.arange(height)[:, None] - cy
        made = np.empty_like(x)
        for i, (degrees, scale, tx, ty, sx, sy) in enumerate(drawn):
            shift = round(tx * width), round(ty * height)
            back = np.linalg.inv(linear_part(degrees, scale, (sx, sy)))
            px, py = dx - shift[0], dy - shift[1]
            at_x = back[0, 0] * px + back[0, 1] * py + cx
            at_y = back[1, 0] * px + back[1, 1] * py + cy
            made[i] = sampled(x[i], at_x, at_y, self.resample, fill)
        return made
