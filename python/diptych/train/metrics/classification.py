"""Metrics of classifiers: accuracy, precision, recall, F, top k."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...nn.bounds import bounded, counted
from .metric import Array, EvaluationBase, Metric, classes_of, rearrange_inputs

__all__ = [
    "Accuracy",
    "F1",
    "Fbeta",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]


class Accuracy(EvaluationBase):
    """The share of samples that are right; "multilabel": in all labels.

    ``update(prediction, truth)``: (N, C, ...) scores and (N, ...) classes, or one-hot rows.

    >>> import diptych as ms
    >>> ms.train.Accuracy()(ms.Tensor([[0.2, 0.5], [0.3, 0.1]]), ms.Tensor([1, 1]))
    0.5
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def clear(self) -> None:
        super().clear()
        self._right = self._total = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._checked(inputs)
        self._right += int((predicted == truth).all(axis=1).sum())
        self._total += len(truth)

    def eval(self) -> float:
        self._need(self._total)
        return self._right / self._total


class _Ratio(EvaluationBase):
    """True positives over something: of each class, or with "multilabel" of each sample."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__(eval_type)

    def clear(self) -> None:
        super().clear()
        self._true: list[Array] = []
        self._of: list[Array] = []

    def _denominator(self, predicted: Array, truth: Array) -> Array:
        raise NotImplementedError

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._checked(inputs)
        axis = 0 if self._type == "classification" else 1
        true, of = (predicted * truth).sum(axis), self._denominator(predicted, truth).sum(axis)
        if self._type == "classification" and self._true:
            self._true, self._of = [self._true[0] + true], [self._of[0] + of]
        else:
            self._true.append(true)
            self._of.append(of)

    def eval(self, average: bool = False) -> Any:
        """A value for each class (sample), 0 where nothing was there; or their mean."""
        self._need(self._class_num)
        if not isinstance(average, bool):
            raise TypeError(f"{type(self).__name__}: average must be a bool, but got {average!r}")
        true, of = np.concatenate(self._true), np.concatenate(self._of)
        values = true / np.maximum(of, 1)
        return values.mean() if average else values


class Precision(_Ratio):
    """True positives over predicted positives.

    >>> import diptych as ms
    >>> scores = ms.Tensor([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]])
    >>> ms.train.Precision()(scores, ms.Tensor([1, 0, 1])).tolist()
    [0.5, 1.0]
    """

    def _denominator(self, predicted: Array, truth: Array) -> Array:
        return predicted


class Recall(_Ratio):
    """True positives over positives.

    >>> import diptych as ms
    >>> metric = ms.train.Recall()
    >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
    >>> metric.eval()
    array([0. , 0.5])
    """

    def _denominator(self, predicted: Array, truth: Array) -> Array:
        return truth


class Fbeta(Metric):
    """(1 + beta^2) * precision * recall / (beta^2 * precision + recall) of each class.

    >>> import diptych as ms
    >>> metric = ms.train.Fbeta(2.0)
    >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
    >>> metric.eval().round(3)
    array([0.   , 0.556])
    """

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = bounded("Fbeta", "beta", beta, 0.0, open_low=True)
        self.clear()

    def clear(self) -> None:
        self._counts: Array | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._pair(inputs)
        truth = classes_of(type(self).__name__, truth, predicted)
        n = predicted.shape[1]
        if self._counts is not None and self._counts.shape[1] != n:
            raise ValueError(f"Fbeta: there were {self._counts.shape[1]} classes before, now {n}")
        chosen, real = predicted.argmax(axis=1).ravel(), truth.ravel().astype(np.int64)
        made = np.stack(
            [np.bincount(x, minlength=n) for x in (chosen[chosen == real], chosen, real)]
        )
        self._counts = made if self._counts is None else self._counts + made

    def eval(self, average: bool = False) -> Any:
        """A value for each class, 0 where nothing was there; or their mean."""
        self._need(self._counts is not None)
        if not isinstance(average, bool):
            raise TypeError(f"{type(self).__name__}: average must be a bool, but got {average!r}")
        true, chosen, real = self._counts  # type: ignore[misc]
        square = self.beta**2
        of = square * real + chosen
        values = np.divide((1 + square) * true, of, out=np.zeros(len(of)), where=of > 0)
        return values.mean() if average else values


class F1(Fbeta):
    """Fbeta with beta 1.

    >>> import diptych as ms
    >>> metric = ms.train.F1()
    >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
    >>> metric.eval(True).round(3)
    np.float64(0.333)
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the k highest scores.

    >>> import diptych as ms
    >>> metric = ms.train.TopKCategoricalAccuracy(2)
    >>> metric(ms.Tensor([[0.1, 0.5, 0.4], [0.9, 0.06, 0.04]]), ms.Tensor([2, 2]))
    0.5
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = counted(type(self).__name__, "k", k)
        self.clear()

    def clear(self) -> None:
        self._right = self._total = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, truth = self._pair(inputs)
        truth = classes_of(type(self).__name__, truth, scores)
        if scores.ndim != 2:
            raise ValueError(f"{type(self).__name__}: scores must be (N, C), got {scores.shape}")
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self._right += int((best == truth[:, None]).any(axis=1).sum())
        self._total += len(truth)

    def eval(self) -> float:
        self._need(self._total)
        return self._right / self._total


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k 1.

    >>> import diptych as ms
    >>> metric = ms.train.Top1CategoricalAccuracy()
    >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
    >>> metric.eval()
    0.5
    """

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """TopKCategoricalAccuracy with k 5.

    >>> import diptych as ms
    >>> metric = ms.train.Top5CategoricalAccuracy()
    >>> metric.update(ms.ops.randn((4, 6)), ms.Tensor([0, 1, 2, 3]))
    >>> 0 <= metric.eval() <= 1
    True
    """

    def __init__(self) -> None:
        super().__init__(5)
