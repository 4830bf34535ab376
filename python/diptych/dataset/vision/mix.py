"""Transforms of whole batches: images mixed with others of their batch, labels likewise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..draws import current
from ..transform import Transform, check_number, check_prob
from .image import ImageBatchFormat, check_enum

__all__ = ["CutMixBatch", "MixUpBatch"]


class _BatchTransform(Transform):
    """Takes images (N, ...) and one-hot labels (N, classes); goes after batch()."""

    uniform = False

    def _checked(self, columns: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        where = type(self).__name__
        if len(columns) != 2:
            raise ValueError(f"{where}: got {len(columns)} columns; it takes images and labels")
        images, labels = (np.asarray(column) for column in columns)
        if images.ndim != 4 or labels.ndim != 2 or len(images) != len(labels):
            raise ValueError(
                f"{where}: the images have shape {list(images.shape)} and the labels "
                f"{list(labels.shape)}; they must be batches of N images and N one-hot labels"
            )
        return images, labels


class MixUpBatch(_BatchTransform):
    """images * r + others * (1 - r) and labels likewise, r from Beta(alpha, alpha), others a random
    order of the batch (Zhang et al. 2017). Both results are float32.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> mix = vision.MixUpBatch(0.2)
    >>> images, labels = mix(np.ones((2, 4, 4, 3), np.float32), np.eye(2))
    >>> labels.sum(1)
    array([1., 1.], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = check_number("MixUpBatch", "alpha", alpha, 1e-6)

    def __call__(self, *columns: Any) -> Any:
        images, labels = self._checked(columns)
        rng = current().generator()
        r, order = np.float32(rng.beta(self.alpha, self.alpha)), rng.permutation(len(images))
        images, labels = images.astype(np.float32), labels.astype(np.float32)
        mixed = images * r + images[order] * (1 - r)
        return mixed, labels * r + labels[order] * (1 - r)


class CutMixBatch(_BatchTransform):
    """A rectangle of each image comes from another of the batch with probability prob; the labels
    are mixed by area (Yun et al. 2019), float32.

    image_batch_format says which axes are height and width.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> mix = vision.CutMixBatch(vision.ImageBatchFormat.NHWC)
    >>> images, labels = mix(np.zeros((2, 4, 4, 3)), np.eye(2))
    >>> labels.sum(1)
    array([1., 1.], dtype=float32)
    """

    def __init__(
        self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0
    ) -> None:
        check_enum("CutMixBatch", "image_batch_format", image_batch_format, ImageBatchFormat)
        self.image_batch_format = image_batch_format
        self.alpha = check_number("CutMixBatch", "alpha", alpha, 1e-6)
        self.prob = check_prob("CutMixBatch", prob)

    def __call__(self, *columns: Any) -> Any:
        images, labels = self._checked(columns)
        rng = current().generator()
        order = rng.permutation(len(images))
        mixed, soft = np.array(images), labels.astype(np.float32)
        hot = soft.copy()
        first = 1 if self.image_batch_format == ImageBatchFormat.NHWC else 2
        height, width = images.shape[first : first + 2]
        for i, other in enumerate(order.tolist()):
            if rng.random() >= self.prob:
                continue
            side = np.sqrt(1 - rng.beta(self.alpha, self.alpha))
            y, x = rng.integers(height), rng.integers(width)
            h, w = int(height * side) // 2, int(width * side) // 2
            rows, cols = slice(max(y - h, 0), y + h), slice(max(x - w, 0), x + w)
            box = (*[slice(None)] * (first - 1), rows, cols)
            mixed[i][box] = images[other][box]
            area = (min(y + h, height) - rows.start) * (min(x + w, width) - cols.start)
            part = np.float32(area / (height * width))
            soft[i] = hot[i] * (1 - part) + hot[other] * part
        return mixed, soft
