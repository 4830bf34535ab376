"""How much each part of an input matters for a class: OcclusionSensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import Tensor
from ...nn.cell import Cell
from .metric import Array, Metric, as_array, rearrange_inputs

__all__ = ["OcclusionSensitivity"]


class OcclusionSensitivity(Metric):
    """How far the score of a class falls when a box around each element is covered (Zeiler and
    Fergus 2014): ``update(model, image, label)`` with one image (1, ...) and its class; ``eval``
    gives an array in the sizes of the image without its batch axis, high where it matters.

    Args:
        pad_val: what covered elements become.
        margin: an element's box goes from ``margin`` elements before it to ``margin - 1`` after it.
        n_batch: images that the model gets at once.
        b_box: (first, last) of each axis but the batch, one after the other: only these elements
            are looked at; -1 is the end of the axis. None: all.

    >>> import diptych as ms
    >>> model = ms.nn.Dense(4, 2, weight_init=1.0, bias_init=0.0)
    >>> metric = ms.train.OcclusionSensitivity()
    >>> metric(model, ms.Tensor([[1.0, 2.0, 3.0, 4.0]]), 1).tolist()
    [3.0, 6.0, 10.0, 9.0]
    """

    def __init__(
        self,
        pad_val: float = 0.0,
        margin: int | Sequence[int] = 2,
        n_batch: int = 128,
        b_box: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if isinstance(pad_val, bool) or not isinstance(pad_val, int | float):
            raise TypeError(f"OcclusionSensitivity: pad_val is {pad_val!r}; it must be a number")
        margins = margin if isinstance(margin, list | tuple) else [margin]
        for name, value in (*(("margin", m) for m in margins), ("n_batch", n_batch)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"OcclusionSensitivity: {name} is {value!r}; it must be an int")
            if value < 1:
                raise ValueError(f"OcclusionSensitivity: {name} is {value}; it must be 1 or more")
        self.pad_val, self.margin, self.n_batch, self.b_box = pad_val, margin, n_batch, b_box
        self.clear()

    def clear(self) -> None:
        """Forgets the image."""
        self._found: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Scores the covered images."""
        model, image, label = self._take(inputs, 3)
        if not isinstance(model, Cell):
            raise TypeError(
                f"OcclusionSensitivity: the model is of type {type(model).__name__}; it must be a "
                "Cell"
            )
        image, label = as_array(image), np.asarray(label)
        if image.ndim < 2 or image.shape[0] != 1 or label.size != 1:
            raise ValueError(
                f"OcclusionSensitivity: the image has shape {image.shape}, the label {label.shape};"
                " there must be one image (1, ...) and one label"
            )
        first, last = self._box(image.shape[1:])
        places = [tuple(p + first) for p in np.ndindex(*(last - first + 1))]
        number = int(label.reshape(())[()])
        baseline = self._scores(model, image, number)[0]
        scores = [
            self._scores(model, self._covered(image[0], places[i : i + self.n_batch]), number)
            for i in range(0, len(places), self.n_batch)
        ]
        self._found = (baseline - np.concatenate(scores)).reshape(last - first + 1)

    def eval(self) -> Array:
        """The fall of the score for each element."""
        self._need(self._found is not None)
        return self._found  # type: ignore[return-value]

    def _box(self, sizes: Sequence[int]) -> tuple[Array, Array]:
        """First and last index of each axis."""
        ends = np.array(sizes) - 1
        if self.b_box is None:
            return np.zeros_like(ends), ends
        box = np.array(self.b_box)
        if box.shape != (2 * len(ends),):
            raise ValueError(
                f"OcclusionSensitivity: b_box is {self.b_box}; it must have {2 * len(ends)} numbers"
            )
        first, last = np.maximum(box[::2], 0), np.where(box[1::2] < 0, ends, box[1::2])
        if (first > last).any() or (last > ends).any():
            raise ValueError(
                f"OcclusionSensitivity: b_box is {self.b_box} for an image of {tuple(sizes)}; each "
                "axis must have first <= last inside it"
            )
        return first, last

    def _covered(self, image: Array, places: Sequence[tuple[int, ...]]) -> Array:
        """One image a place, with the box around it covered."""
        margin = np.broadcast_to(self.margin, image.ndim)
        made = np.repeat(image[None], len(places), axis=0)
        for one, place in zip(made, places, strict=True):
            box = (slice(max(0, p - m), p + m) for p, m in zip(place, margin, strict=True))
            one[tuple(box)] = self.pad_val
        return made

    @staticmethod
    def _scores(model: Cell, images: Array, label: int) -> Array:
        scores = model(Tensor(images)).asnumpy()
        if scores.ndim != 2 or not 0 <= label < scores.shape[1]:
            raise ValueError(
                f"OcclusionSensitivity: the model gives {scores.shape}, the label is {label}; it "
                "must give (images, classes), the label be one of them"
            )
        return scores[:, label]
