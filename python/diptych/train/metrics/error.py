"""Metrics of numbers: errors, the loss, perplexity, similarity, overlap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...nn.bounds import bounded
from .metric import Array, Metric, as_array, rearrange_inputs

__all__ = ["MAE", "MSE", "CosineSimilarity", "Dice", "Loss", "Perplexity"]


class _Mean(Metric):
    """A sum over the number of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._total = 0

    def _error(self, difference: Array) -> Array:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._pair(inputs)
        if truth.size != predicted.size:
            raise ValueError(
                f"{type(self).__name__}: the prediction has shape {predicted.shape}, the truth "
                f"{truth.shape}: their sizes must be the same"
            )
        difference = truth.astype(np.float64).reshape(predicted.shape) - predicted
        self._sum += float(self._error(difference).sum())
        self._total += truth.shape[0]

    def eval(self) -> float:
        self._need(self._total)
        return self._sum / self._total


class MAE(_Mean):
    """The sum of |truth - prediction| over the number of samples (rows).

    >>> import diptych as ms
    >>> ms.train.MAE()(ms.Tensor([1.0, 2.0]), ms.Tensor([2.0, 4.0]))
    1.5
    """

    def _error(self, difference: Array) -> Array:
        return np.abs(difference)


class MSE(_Mean):
    """The sum of (truth - prediction)^2 over the number of samples (rows).

    >>> import diptych as ms
    >>> metric = ms.train.MSE()
    >>> metric.update(ms.Tensor([1.0, 2.0]), ms.Tensor([2.0, 4.0]))
    >>> metric.eval()
    2.5
    """

    def _error(self, difference: Array) -> Array:
        return np.square(difference)


class Loss(Metric):
    """The mean of the losses of batches. ``update(loss)``: 0-d, or 1-d, whose mean counts.

    >>> import diptych as ms
    >>> metric = ms.train.Loss()
    >>> metric.update(ms.Tensor(2.0))
    >>> metric.update(ms.Tensor(4.0))
    >>> metric.eval()
    3.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._total = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        (loss,) = self._take(inputs, 1)
        loss = as_array(loss)
        if loss.ndim > 1 or not loss.size:
            raise ValueError(f"Loss: the loss must have 0 or 1 dimensions, got shape {loss.shape}")
        self._sum += float(loss.astype(np.float64).mean())
        self._total += 1

    def eval(self) -> float:
        self._need(self._total)
        return self._sum / self._total


class Perplexity(Metric):
    """e to the mean of -log(probability of the true class).

    ``update(probabilities, classes)``: (..., C) and (...); classes equal to ``ignore_label`` do not
    count.

    >>> import diptych as ms
    >>> metric = ms.train.Perplexity()
    >>> metric.update(ms.Tensor([[0.5, 0.5], [0.25, 0.75]]), ms.Tensor([0, 0]))
    >>> round(metric.eval(), 3)
    2.828
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        if ignore_label is not None and (
            isinstance(ignore_label, bool) or not isinstance(ignore_label, int)
        ):
            raise TypeError(f"Perplexity: ignore_label must be an int, but got {ignore_label!r}")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._total = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        probabilities, truth = self._pair(inputs)
        if not probabilities.ndim or probabilities.size != truth.size * probabilities.shape[-1]:
            raise RuntimeError(
                f"Perplexity: the prediction has shape {probabilities.shape}, the truth "
                f"{truth.shape}: the prediction must have one axis more, the classes"
            )
        rows = probabilities.reshape(-1, probabilities.shape[-1]).astype(np.float64)
        classes = truth.ravel().astype(np.int64)
        if self.ignore_label is not None:
            rows, classes = (
                rows[classes != self.ignore_label],
                classes[classes != self.ignore_label],
            )
        if classes.size and not (0 <= classes.min() and classes.max() < rows.shape[1]):
            raise ValueError(
                f"Perplexity: classes must be in [0, {rows.shape[1]}), but got {classes.min()} to "
                f"{classes.max()}"
            )
        self._sum -= float(np.log(np.maximum(rows[np.arange(len(rows)), classes], 1e-10)).sum())
        self._total += len(rows)

    def eval(self) -> float:
        self._need(self._total)
        return math.exp(self._sum / self._total)


class CosineSimilarity(Metric):
    """Similarities of all pairs of rows of the last update.

    Args:
        similarity: "cosine", or "dot" without dividing by the lengths.
        reduction: "none" (a matrix), "sum" or "mean" of its rows.
        zero_diagonal: puts 0 for a row with itself.

    >>> import diptych as ms
    >>> metric = ms.train.CosineSimilarity()
    >>> metric.update(ms.Tensor([[1.0, 0.0], [0.0, 1.0]]))
    >>> metric.eval()
    array([[0., 0.],
           [0., 0.]])
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        for name, value, legal in (
            ("similarity", similarity, ("dot", "cosine")),
            ("reduction", reduction, ("none", "sum", "mean")),
        ):
            if not isinstance(value, str):
                raise TypeError(f"CosineSimilarity: {name} must be a str, but got {value!r}")
            if value not in legal:
                raise ValueError(f"CosineSimilarity: {name} is {value!r}; legal: {legal}")
        if not isinstance(zero_diagonal, bool):
            raise TypeError(
                f"CosineSimilarity: zero_diagonal must be a bool, got {zero_diagonal!r}"
            )
        self.similarity, self.reduction = similarity, reduction
        self.zero_diagonal = zero_diagonal
        self.clear()

    def clear(self) -> None:
        self._matrix: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        (rows,) = self._take(inputs, 1)
        x = as_array(rows)
        if x.ndim != 2:
            raise ValueError(f"CosineSimilarity: rows must be (N, D), but got shape {x.shape}")
        x = x.astype(np.float64)
        if self.similarity == "cosine":
            x = x / np.linalg.norm(x, axis=1, keepdims=True)
        self._matrix = x @ x.T

    def eval(self) -> Array:
        self._need(self._matrix is not None)
        matrix: Array = self._matrix.copy()  # type: ignore[union-attr]
        if self.zero_diagonal:
            np.fill_diagonal(matrix, 0)
        if self.reduction == "none":
            return matrix
        return matrix.mean(axis=-1) if self.reduction == "mean" else matrix.sum(axis=-1)


class Dice(Metric):
    """2 * sum(prediction * truth) / (sum(prediction^2) + sum(truth^2) + smooth) of each update; the
    sum of these over the number of samples (rows), as MindSpore has it: with one sample an update
    it is the mean over samples.

    >>> import diptych as ms
    >>> metric = ms.train.Dice()
    >>> metric.update(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]]))
    >>> round(metric.eval(), 3)
    0.667
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = bounded("Dice", "smooth", smooth, 0.0, open_low=True)
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._total = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._pair(inputs)
        if predicted.shape != truth.shape or not truth.ndim:
            raise ValueError(
                f"Dice: the prediction has shape {predicted.shape}, the truth {truth.shape}: they "
                "must be the same"
            )
        x, y = predicted.astype(np.float64), truth.astype(np.float64)
        both = np.square(x).sum() + np.square(y).sum()
        self._sum += float(2 * (x * y).sum() / (both + self.smooth))
        self._total += truth.shape[0]

    def eval(self) -> float:
        self._need(self._total)
        return self._sum / self._total
