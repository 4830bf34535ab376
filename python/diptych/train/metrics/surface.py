"""Distances between the surfaces of two segmentations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nn.bounds import bounded
from .metric import Array, Metric, as_array, rearrange_inputs

__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]

_NORMS = {
    "euclidean": lambda d: np.sqrt(np.square(d).sum(-1)),
    "chessboard": lambda d: np.abs(d).max(-1),
    "taxicab": lambda d: np.abs(d).sum(-1),
}
_BLOCK = 2**20  # pairs of points at a time


def _edges(mask: Array) -> Array:
    """Points of the mask with a neighbour along an axis that is outside, as (n, axes)."""
    inner = np.pad(mask, 1)
    for axis in range(mask.ndim):
        for shift in (1, -1):
            inner = inner & np.roll(np.pad(mask, 1), shift, axis)
    return np.argwhere(mask & ~inner[(slice(1, -1),) * mask.ndim])


def _distances(points: Array, to: Array, metric: str) -> Array:
    """From each point to the nearest of ``to``; infinite when there is none."""
    if not len(to):
        return np.full(len(points), np.inf)
    rows = max(_BLOCK // len(to), 1)
    parts = [
        _NORMS[metric]((points[i : i + rows, None] - to[None]).astype(np.float64)).min(axis=1)
        for i in range(0, len(points), rows)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


class _SurfaceMetric(Metric):
    """The surfaces of the last update: ``update(prediction, truth, label)``, arrays of labels."""

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        cls = type(self).__name__
        if not isinstance(distance_metric, str):
            raise TypeError(f"{cls}: distance_metric must be a str, but got {distance_metric!r}")
        if distance_metric not in _NORMS:
            raise ValueError(
                f"{cls}: distance_metric is {distance_metric!r}; legal: {', '.join(_NORMS)}"
            )
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        self._surfaces: tuple[Array, Array] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        cls = type(self).__name__
        predicted, truth, label = self._take(inputs, 3)
        predicted, truth = as_array(predicted), as_array(truth)
        if isinstance(label, bool) or not isinstance(label, int | float):
            raise ValueError(f"{cls}: the label must be a number, but got {label!r}")
        if not predicted.size or predicted.shape != truth.shape:
            raise ValueError(
                f"{cls}: the prediction has shape {predicted.shape}, the truth {truth.shape}; they "
                "must be the same and not empty"
            )
        masks = [x if x.dtype == bool else x == label for x in (predicted, truth)]
        if not (masks[0].any() or masks[1].any()):
            raise ValueError(f"{cls}: the label {label} is neither in the prediction nor the truth")
        self._surfaces = (_edges(masks[0]), _edges(masks[1]))

    def _both(self, symmetric: bool) -> list[Array]:
        """Distances from the prediction to the truth, and with ``symmetric`` back."""
        self._need(self._surfaces is not None)
        a, b = self._surfaces  # type: ignore[misc]
        pairs = [(a, b), (b, a)] if symmetric else [(a, b)]
        return [_distances(x, y, self.distance_metric) for x, y in pairs]


class HausdorffDistance(_SurfaceMetric):
    """The largest distance from a point of one surface to the other surface.

    Args:
        distance_metric: "euclidean", "chessboard" or "taxicab".
        percentile: this percentile of the distances instead of the largest, 0 to 100.
        directed: only from the prediction to the truth.
        crop: whether to look only at the box around both; the result is the same.

    Infinite when one of the surfaces is empty.

    >>> import diptych as ms
    >>> a, b = ms.Tensor([[1, 0, 0]]), ms.Tensor([[0, 0, 1]])
    >>> ms.train.HausdorffDistance()(a, b, 1)
    2.0
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        super().__init__(distance_metric)
        if percentile is not None:
            bounded("HausdorffDistance", "percentile", percentile, 0.0, 100.0)
        for name, value in (("directed", directed), ("crop", crop)):
            if not isinstance(value, bool):
                raise TypeError(f"HausdorffDistance: {name} must be a bool, but got {value!r}")
        self.percentile, self.directed, self.crop = percentile, directed, crop

    def eval(self) -> float:
        found = [
            (d.max() if self.percentile is None else np.percentile(d, self.percentile))
            if len(d)
            else np.inf
            for d in self._both(not self.directed)
        ]
        return float(max(found))


class MeanSurfaceDistance(_SurfaceMetric):
    """The mean distance from the surface of the prediction to that of the truth.

    Args:
        symmetric: the mean of both directions.
        distance_metric: "euclidean", "chessboard" or "taxicab".

    Infinite when one of the surfaces is empty.

    >>> import numpy as np
    >>> import diptych as ms
    >>> metric = ms.train.MeanSurfaceDistance()
    >>> square = np.zeros((8, 8), int)
    >>> square[2:6, 2:6] = 1
    >>> metric.update(np.roll(square, 1, 0), square, 1)
    >>> round(metric.eval(), 3)
    0.5
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        if not isinstance(symmetric, bool):
            raise TypeError(
                f"{type(self).__name__}: symmetric must be a bool, but got {symmetric!r}"
            )
        self.symmetric = symmetric

    def eval(self) -> float:
        found = self._both(self.symmetric)
        return float(np.mean([d.mean() if len(d) else np.inf for d in found]))


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The root of the mean square of the distances that MeanSurfaceDistance averages.

    >>> import numpy as np
    >>> import diptych as ms
    >>> metric = ms.train.RootMeanSquareDistance()
    >>> square = np.zeros((8, 8), int)
    >>> square[2:6, 2:6] = 1
    >>> metric.update(np.roll(square, 1, 0), square, 1)
    >>> round(metric.eval(), 3)
    0.707
    """

    def eval(self) -> float:
        found = self._both(self.symmetric)
        return float(np.sqrt(np.mean([np.square(d).mean() if len(d) else np.inf for d in found])))
