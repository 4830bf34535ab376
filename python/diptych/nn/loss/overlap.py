"""Losses of segmentation and detection: Dice and focal."""

from __future__ import annotations

from typing import Any

from ... import ops
from ..._core import Tensor
from ..activation import get_activation
from ..check import check_number, check_tensor
from .base import LossBase

__all__ = ["DiceLoss", "FocalLoss", "MultiClassDiceLoss"]


def _check_shapes(cls: str, logits: Tensor, labels: Tensor) -> None:
    check_tensor(cls, logits=logits, labels=labels)
    if logits.shape != labels.shape:
        raise ValueError(
            f"For '{cls}', 'logits' and 'labels' must have one shape, but got {logits.shape} and "
            f"{labels.shape}"
        )


def _dice(logits: Tensor, labels: Tensor, smooth: float) -> Tensor:
    both = (logits * labels).sum()
    return 1 - 2 * both / (ops.square(logits).sum() + ops.square(labels).sum() + smooth)


class DiceLoss(LossBase):
    """1 - 2 sum(logits labels) / (sum(logits^2) + sum(labels^2) + smooth) (Milletari et al. 2016).

    >>> import diptych as ms
    >>> mask = ms.Tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> round(float(ms.nn.DiceLoss()(mask, mask)), 4)
    0.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        check_number("DiceLoss", smooth=smooth)
        if smooth <= 0:
            raise ValueError(f"For 'DiceLoss', 'smooth' must be positive, but got {smooth}")
        self.smooth = smooth

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        _check_shapes("DiceLoss", logits, label)
        return _dice(logits, label, self.smooth)


class MultiClassDiceLoss(LossBase):
    """Mean over the classes (axis 1) of the Dice loss of activation(logits) and one-hot labels.

    Args:
        weights: Tensor (C, ...) by whose rows the classes' losses are multiplied, or None.
        ignore_indiex: a class that does not count, or None (the name is MindSpore's).
        activation: name or Cell applied to logits; None for none.

    >>> import diptych as ms
    >>> labels = ms.Tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> round(float(ms.nn.MultiClassDiceLoss(activation=None)(labels, labels)), 4)
    0.0
    """

    def __init__(
        self,
        weights: Tensor | None = None,
        ignore_indiex: int | None = None,
        activation: Any = "softmax",
    ) -> None:
        super().__init__()
        if weights is not None:
            check_tensor("MultiClassDiceLoss", weights=weights)
            if weights.ndim != 2:
                raise ValueError(
                    "For 'MultiClassDiceLoss', 'weights' must have 2 axes, but its shape is "
                    f"{weights.shape}"
                )
        if ignore_indiex is not None and not isinstance(ignore_indiex, int):
            raise TypeError(
                f"For 'MultiClassDiceLoss', 'ignore_indiex' must be an int, but got "
                f"{ignore_indiex!r}"
            )
        self.weights, self.ignore_indiex = weights, ignore_indiex
        self.activation = get_activation(activation)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        _check_shapes("MultiClassDiceLoss", logits, label)
        if label.ndim < 2:
            raise ValueError(
                "For 'MultiClassDiceLoss', 'logits' must have at least 2 axes, but its shape is "
                f"{logits.shape}"
            )
        classes = label.shape[1]
        if self.weights is not None and self.weights.shape[0] != classes:
            raise ValueError(
                f"For 'MultiClassDiceLoss', 'weights' must have {classes} rows, one a class, but "
                f"its shape is {self.weights.shape}"
            )
        if self.activation is not None:
            logits = self.activation(logits)
        total: Any = 0
        for i in range(classes):
            if i != self.ignore_indiex:
                loss = _dice(logits[:, i], label[:, i], 1e-5)
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / classes


class FocalLoss(LossBase):
    """-(1 - p)^gamma log p of the softmax p over axis 1 (Lin et al. 2017).

    logits (N, C, ...); labels (N, 1, ...) with class numbers, or (N, C, ...) with weights of the
    classes. ``weight`` (C,) multiplies each class. Without reduction the result is averaged over
    the last axis (class numbers: over all axes after the first).

    >>> import diptych as ms
    >>> logits, labels = ms.ops.zeros((2, 2)), ms.Tensor([[0], [1]], ms.int32)
    >>> round(float(ms.nn.FocalLoss(gamma=1.0)(logits, labels)), 4)
    0.3466
    """

    def __init__(
        self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        if weight is not None:
            check_tensor("FocalLoss", weight=weight)
            if weight.ndim != 1:
                raise ValueError(
                    f"For 'FocalLoss', 'weight' must have 1 axis, but its shape is {weight.shape}"
                )
        check_number("FocalLoss", gamma=gamma)
        self.weight, self.gamma = weight, gamma

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        check_tensor("FocalLoss", logits=logits, labels=labels)
        if logits.ndim != labels.ndim or logits.ndim < 2:
            raise ValueError(
                "For 'FocalLoss', 'logits' and 'labels' must have the same 2 to 4 axes, but got "
                f"{logits.shape} and {labels.shape}"
            )
        n, classes = logits.shape[:2]
        if labels.shape[1] not in (1, classes):
            raise ValueError(
                f"For 'FocalLoss', axis 1 of 'labels' must be 1 or {classes}, but its shape is "
                f"{labels.shape}"
            )
        logs = ops.log_softmax(logits.reshape((n, classes, -1)), 1)
        labels = labels.reshape((n, labels.shape[1], -1))
        numbers = None
        if labels.shape[1] == 1:
            numbers = labels.astype(ops.int64)
            numbers = ops.where(numbers < 0, numbers + classes, numbers)
            logs = ops.gather_elements(logs, 1, numbers)
        loss = -ops.pow(1 - ops.exp(logs), self.gamma) * logs
        if self.weight is not None:
            weight = self.weight.reshape((1, -1, 1))
            if numbers is not None:
                weight = ops.broadcast_to(weight, (n, classes, logs.shape[2]))
                weight = ops.gather_elements(weight, 1, numbers)
            loss = loss * weight
        if numbers is None:
            return self.get_loss((loss * labels).mean(-1))
        return self.get_loss(loss.reshape((n, -1)).mean(1))
