"""Views of an image from another side."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config import check_list
from ..draws import Draws
from ..transform import check_number, check_prob
from .geometry import sampled
from .image import ImageTransform, Inter

__all__ = ["Perspective", "RandomPerspective"]


def _check_method(where: str, interpolation: Any) -> Inter:
    if interpolation not in (Inter.NEAREST, Inter.BILINEAR):
        raise ValueError(
            f"{where}: 'interpolation' is {interpolation!r}; it must be Inter.NEAREST or "
            "Inter.BILINEAR"
        )
    return interpolation


def homography(sources: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The 8 numbers of (a x + b y + c, d x + e y + f) / (g x + h y + 1), which takes four points
    (4, 2) to four others."""
    rows = []
    for (x, y), (u, v) in zip(sources, targets, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    return np.linalg.solve(np.array(rows, float), np.asarray(targets, float).reshape(-1))


def seen(image: np.ndarray, corners: np.ndarray, ends: np.ndarray, method: Inter) -> np.ndarray:
    """The image with the points ``corners`` moved to ``ends``; 0 where nothing comes from."""
    a, b, c, d, e, f, g, h = homography(ends, corners)
    x, y = np.arange(image.shape[1]), np.arange(image.shape[0])[:, None]
    below = g * x + h * y + 1
    below = np.where(np.abs(below) < 1e-12, 1e-12, below)
    at = (a * x + b * y + c) / below, (d * x + e * y + f) / below
    at_x, at_y = (np.clip(place, -1e9, 1e9) for place in at)
    return sampled(image, at_x, at_y, method, np.zeros((), image.dtype))


class Perspective(ImageTransform):
    """The image as seen when start_points (four (x, y): upper left, upper right, lower right, lower
    left) move to end_points.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> square, shifted = [[0, 0], [2, 0], [2, 1], [0, 1]], [[1, 0], [3, 0], [3, 1], [1, 1]]
    >>> vision.Perspective(square, shifted)(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[0, 1, 2],
           [0, 4, 5]])
    """

    def __init__(
        self, start_points: Any, end_points: Any, interpolation: Inter = Inter.BILINEAR
    ) -> None:
        self.start_points = self._points("start_points", start_points)
        self.end_points = self._points("end_points", end_points)
        self.interpolation = _check_method("Perspective", interpolation)
        try:
            homography(self.end_points, self.start_points)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"Perspective: 'end_points' is {end_points!r}; no three of them may be on one line"
            ) from None

    @staticmethod
    def _points(name: str, value: Any) -> np.ndarray:
        points = [
            check_list("Perspective", name, p) for p in check_list("Perspective", name, value)
        ]
        if len(points) != 4 or any(len(point) != 2 for point in points):
            raise ValueError(f"Perspective: '{name}' is {value!r}; it must hold four (x, y)")
        return np.array(
            [[check_number("Perspective", name, c, -1e6, 1e6) for c in point] for point in points]
        )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        both = self.start_points, self.end_points
        return np.stack([seen(image, *both, self.interpolation) for image in x])


class RandomPerspective(ImageTransform):
    """With probability prob each corner of an image moves inwards, by up to half of
    distortion_scale times the size.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandomPerspective(prob=1.0)(np.zeros((8, 9, 3), np.uint8)).shape
    (8, 9, 3)
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        prob: float = 0.5,
        interpolation: Inter = Inter.BILINEAR,
    ) -> None:
        where = "RandomPerspective"
        self.distortion_scale = check_number(where, "distortion_scale", distortion_scale, 0.0, 1.0)
        self.prob = check_prob(where, prob)
        self.interpolation = _check_method(where, interpolation)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.uniform() < self.prob
        # Below 1, so that no two corners meet.
        parts = np.stack([draws.uniform(0, 0.99) for _ in range(8)], 1).reshape(-1, 4, 2)
        height, width = x.shape[1:3]
        far = np.array([width - 1, height - 1])
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * far
        inwards = np.where(corners > 0, -1, 1) * far * self.distortion_scale / 2
        made = np.array(x)
        if min(height, width) < 2:
            return made
        for i in np.flatnonzero(chosen):
            made[i] = seen(x[i], corners, corners + parts[i] * inwards, self.interpolation)
        return made
