"""The receiver operating characteristic, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from .metric import Array, Metric, rearrange_inputs

__all__ = ["ROC", "auc"]


def _roc(scores: Array, is_positive: Array) -> tuple[Array, Array, Array]:
    """fpr, tpr, thresholds: one point a different score, before them (0, 0)."""
    order = np.argsort(-scores, kind="stable")
    scores, is_positive = scores[order], is_positive[order]
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    true = np.append(0, np.cumsum(is_positive)[last])
    false = np.append(0, 1 + last) - true
    for count, kind in ((true[-1], "positive"), (false[-1], "negative")):
        if not count:
            raise ValueError(f"ROC: the truth has no {kind} sample: the rate means nothing")
    thresholds = np.append(scores[0] + 1, scores[last])
    return false / false[-1], true / true[-1], thresholds


class ROC(Metric):
    """False and true positive rates for all thresholds, over all updates.

    Args:
        class_num: the number of classes, for scores (N, C); each class is then held against the
            others.
        pos_label: which label is positive, for scores of the truth's shape; None: 1.

    ``eval`` gives (fpr, tpr, thresholds), which fall; with class_num lists of C such arrays.

    >>> import diptych as ms
    >>> fpr, tpr, thresholds = ms.train.ROC()(ms.Tensor([3, 1, 4, 2]), ms.Tensor([0, 0, 1, 1]))
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise TypeError(f"ROC: {name} must be an int, but got {value!r}")
        self.class_num, self.pos_label = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        self._scores: list[Array] = []
        self._truth: list[Array] = []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        scores, truth = self._pair(inputs)
        is_binary = scores.ndim == truth.ndim
        plain = scores.shape if is_binary else scores.shape[:1] + scores.shape[2:]
        if plain != truth.shape:
            raise ValueError(
                f"ROC: scores have shape {scores.shape} and the truth {truth.shape}; they must be "
                "the same, or the truth must lack axis 1, the classes"
            )
        classes = 1 if is_binary else scores.shape[1]
        if self.class_num != classes and not (is_binary and self.class_num is None):
            raise ValueError(f"ROC: class_num is {self.class_num}; the scores have {classes}")
        if self.pos_label is not None and not is_binary:
            raise ValueError("ROC: pos_label must be None for scores of several classes")
        scores = scores.reshape(-1, 1) if is_binary else np.moveaxis(scores, 1, -1)
        scores = scores.reshape(-1, classes)
        if self._scores and self._scores[0].shape[1] != scores.shape[1]:
            raise ValueError("ROC: the number of classes changed between updates")
        self._scores.append(scores)
        self._truth.append(truth.ravel())

    def eval(self) -> Any:
        self._need(self._scores)
        scores, truth = np.concatenate(self._scores), np.concatenate(self._truth)
        if scores.shape[1] == 1:
            return _roc(scores[:, 0], truth == (1 if self.pos_label is None else self.pos_label))
        curves = [_roc(scores[:, c], truth == c) for c in range(scores.shape[1])]
        return tuple(map(list, zip(*curves, strict=True)))


def auc(x: Array, y: Array, reorder: bool = False) -> float:
    """The area under the points (x, y) by trapezoids; x must rise or fall, or ``reorder`` sorts.

    >>> import numpy as np, diptych as ms
    >>> ms.train.auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.8, 1.0]))
    0.65
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"auc: x and y must be NumPy arrays, but got {type(x)} and {type(y)}")
    x, y = (a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for a in (x, y))
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError(
            f"auc: x and y must be as many numbers, at least 2, but have shapes {x.shape} and "
            f"{y.shape}"
        )
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError("auc: x neither rises nor falls; reorder=True sorts it")
    area = float((steps * (y[1:] + y[:-1]) / 2).sum())
    return -area if (steps < 0).any() else area
