"""The confusion matrix and what can be read from one of two classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...nn.bounds import counted
from .metric import Array, Metric, rearrange_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(Metric):
    """How often class j was predicted where class i is true, as element (i, j).

    Args:
        num_classes: the number of classes.
        normalize: "no_norm" counts; "target" each row over its sum, "prediction" each column,
            "all" all over the sum of all; 0 where a sum is 0.
        threshold: float predictions of the truth's shape become classes 0 and 1 by it.

    ``update(prediction, truth)``: classes, or scores with the classes on axis 1, and classes.

    >>> import diptych as ms
    >>> metric = ms.train.ConfusionMatrix(2)
    >>> metric(ms.Tensor([1, 0, 1, 0]), ms.Tensor([1, 0, 0, 1])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5
    ) -> None:
        super().__init__()
        self.num_classes = counted("ConfusionMatrix", "num_classes", num_classes)
        if normalize not in ("no_norm", "target", "prediction", "all"):
            raise ValueError(
                f"ConfusionMatrix: normalize is {normalize!r}; it must be 'no_norm', 'target', "
                "'prediction' or 'all'"
            )
        if not isinstance(threshold, float):
            raise TypeError(f"ConfusionMatrix: threshold must be a float, but got {threshold!r}")
        self.normalize, self.threshold = normalize, threshold
        self.clear()

    def clear(self) -> None:
        self._matrix = np.zeros((self.num_classes, self.num_classes), np.int64)
        self._has_any = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._pair(inputs)
        if predicted.ndim == truth.ndim + 1:
            predicted = predicted.argmax(axis=1)
        elif np.issubdtype(predicted.dtype, np.floating):
            predicted = predicted >= self.threshold
        if predicted.shape != truth.shape:
            raise ValueError(
                f"ConfusionMatrix: prediction and truth do not fit, classes have the shapes "
                f"{predicted.shape} and {truth.shape}"
            )
        both = [x.ravel().astype(np.int64) for x in (truth, predicted)]
        for x in both:
            if x.size and not (0 <= x.min() and x.max() < self.num_classes):
                raise ValueError(
                    f"ConfusionMatrix: classes must be in [0, {self.num_classes}), but got "
                    f"{x.min()} to {x.max()}"
                )
        n = self.num_classes
        self._matrix += np.bincount(both[0] * n + both[1], minlength=n * n).reshape(n, n)
        self._has_any = True

    def eval(self) -> Array:
        self._need(self._has_any)
        counts = self._matrix.astype(np.float64)
        if self.normalize == "no_norm":
            return counts
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        sums = counts.sum(axis=axis, keepdims=True)
        return np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0)


# ---- measures of true and false positives and negatives; p and n: positives and negatives

_Measure = Callable[[Array, Array, Array, Array, Array, Array], Array]


def _mcc(tp: Array, fp: Array, tn: Array, fn: Array, p: Array, n: Array) -> Array:
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * p * n * (tn + fn))


def _prevalence_threshold(tp: Array, fp: Array, tn: Array, fn: Array, p: Array, n: Array) -> Array:
    tpr, tnr = tp / p, tn / n
    return (np.sqrt(tpr * (1 - tnr)) + tnr - 1) / (tpr + tnr - 1)


_MEASURES: dict[str, tuple[_Measure, str]] = {
    "tpr": (
        lambda tp, fp, tn, fn, p, n: tp / p,
        "sensitivity, recall, hit_rate, true_positive_rate",
    ),
    "tnr": (lambda tp, fp, tn, fn, p, n: tn / n, "specificity, selectivity, true_negative_rate"),
    "ppv": (lambda tp, fp, tn, fn, p, n: tp / (tp + fp), "precision, positive_predictive_value"),
    "npv": (lambda tp, fp, tn, fn, p, n: tn / (tn + fn), "negative_predictive_value"),
    "fnr": (lambda tp, fp, tn, fn, p, n: fn / p, "miss_rate, false_negative_rate"),
    "fpr": (lambda tp, fp, tn, fn, p, n: fp / n, "fall_out, false_positive_rate"),
    "fdr": (lambda tp, fp, tn, fn, p, n: fp / (fp + tp), "false_discovery_rate"),
    "for": (lambda tp, fp, tn, fn, p, n: fn / (fn + tn), "false_omission_rate"),
    "pt": (_prevalence_threshold, "prevalence_threshold"),
    "ts": (
        lambda tp, fp, tn, fn, p, n: tp / (tp + fn + fp),
        "threat_score, critical_success_index, csi",
    ),
    "acc": (lambda tp, fp, tn, fn, p, n: (tp + tn) / (p + n), "accuracy"),
    "ba": (lambda tp, fp, tn, fn, p, n: (tp / p + tn / n) / 2, "balanced_accuracy"),
    "f1": (lambda tp, fp, tn, fn, p, n: 2 * tp / (2 * tp + fn + fp), "f1_score"),
    "mcc": (_mcc, "matthews_correlation_coefficient"),
    "fm": (lambda tp, fp, tn, fn, p, n: np.sqrt(tp / (tp + fp) * tp / p), "fowlkes_mallows_index"),
    "bm": (
        lambda tp, fp, tn, fn, p, n: tp / p + tn / n - 1,
        "informedness, bookmaker_informedness",
    ),
    "mk": (lambda tp, fp, tn, fn, p, n: tp / (tp + fp) + tn / (tn + fn) - 1, "markedness, deltap"),
}
_NAMES = {
    name: short for short, (_, names) in _MEASURES.items() for name in (short, *names.split(", "))
}


def _measured(measure: _Measure, counts: Array) -> Array:
    """The measure of (..., 4) counts; NaN where it divides by 0."""
    tp, fp, tn, fn = np.moveaxis(counts.astype(np.float64), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = measure(tp, fp, tn, fn, tp + fn, fp + tn)
    return np.where(np.isfinite(values), values, np.nan)


def _mean(x: Array, axis: int) -> Array:
    """The mean of what is no NaN, and NaN where all are."""
    good = ~np.isnan(x)
    n = good.sum(axis)
    return np.where(n > 0, np.where(good, x, 0).sum(axis) / np.maximum(n, 1), np.nan)


_REDUCTIONS: dict[str, Callable[[Array], Any]] = {
    "none": lambda x: x,
    "mean": lambda x: _mean(_mean(x, 1), 0),
    "sum": np.nansum,
    "mean_batch": lambda x: _mean(x, 0),
    "sum_batch": lambda x: np.nansum(x, 0),
    "mean_channel": lambda x: _mean(x, 1),
    "sum_channel": lambda x: np.nansum(x, 1),
}


class ConfusionMatrixMetric(Metric):
    """A measure of true and false positives and negatives.

    Args:
        skip_channel: False leaves out channel 0, the background.
        metric_name: sensitivity, specificity, precision, negative predictive value, miss rate,
            fall out, false discovery rate, false omission rate, prevalence threshold, threat score,
            accuracy, balanced accuracy, f1 score, matthews correlation coefficient, fowlkes mallows
            index, informedness, markedness, or an abbreviation such as tpr.
        calculation_method: False counts over everything; True measures each channel of each sample.
        decrease: what then becomes of the (N, C) values: "none", "mean" (of channels, then of
            samples, leaving out what divides by 0), "sum", and "mean_batch", "sum_batch",
            "mean_channel", "sum_channel" over one axis.

    ``update(prediction, truth)``: 0 and 1 in shape (N, C, ...).

    >>> import diptych as ms
    >>> metric = ms.train.ConfusionMatrixMetric(metric_name="accuracy")
    >>> metric(ms.Tensor([[1, 0], [1, 1]]), ms.Tensor([[1, 0], [0, 1]])).tolist()
    [0.75]
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        for name, value, kind in (
            ("skip_channel", skip_channel, bool),
            ("metric_name", metric_name, str),
            ("calculation_method", calculation_method, bool),
            ("decrease", decrease, str),
        ):
            if not isinstance(value, kind):
                raise TypeError(
                    f"ConfusionMatrixMetric: {name} must be a {kind.__name__}, but got {value!r}"
                )
        short = _NAMES.get(metric_name.lower().replace(" ", "_"))
        if short is None:
            raise NotImplementedError(
                f"ConfusionMatrixMetric: metric_name is {metric_name!r}; legal: {', '.join(_NAMES)}"
            )
        if decrease not in _REDUCTIONS:
            raise ValueError(
                f"ConfusionMatrixMetric: decrease is {decrease!r}; legal: {', '.join(_REDUCTIONS)}"
            )
        self.skip_channel, self.calculation_method = skip_channel, calculation_method
        self.metric_name, self.decrease = metric_name, decrease
        self._measure = _MEASURES[short][0]
        self.clear()

    def clear(self) -> None:
        self._counts: list[Array] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        predicted, truth = self._pair(inputs)
        if predicted.shape != truth.shape or predicted.ndim < 2:
            raise ValueError(
                f"ConfusionMatrixMetric: the prediction has shape {predicted.shape}, the truth "
                f"{truth.shape}; they must be the same, (N, C, ...)"
            )
        if not (np.isin(predicted, (0, 1)).all() and np.isin(truth, (0, 1)).all()):
            raise ValueError("ConfusionMatrixMetric: values must be 0 or 1")
        if not self.skip_channel and predicted.shape[1] > 1:
            predicted, truth = predicted[:, 1:], truth[:, 1:]
        x, y = (a.reshape(*a.shape[:2], -1).astype(bool) for a in (predicted, truth))
        kinds = (x & y, x & ~y, ~x & ~y, ~x & y)
        counts = np.stack([k.sum(axis=2) for k in kinds], axis=-1)
        if not self.calculation_method:
            counts = counts.sum(axis=(0, 1))[None]
            self._counts = [sum(self._counts, counts)]
        else:
            self._counts.append(counts)

    def eval(self) -> Any:
        """The measure over all counts, shape (1,); or by ``decrease``, NaN where nothing counts."""
        self._need(self._counts)
        values = _measured(self._measure, np.concatenate(self._counts))
        return _REDUCTIONS[self.decrease](values) if self.calculation_method else values
