"""Loss functions as Cells."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "L1Loss",
    "LossBase",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
    "SoftmaxCrossEntropyWithLogits",
]


class LossBase(Cell):
    """Base of losses that reduce a loss for each element by 'mean', 'sum' or 'none'."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"For '{type(self).__name__}', 'reduction' must be 'mean', 'sum' or 'none', "
                f"but got {reduction!r}"
            )
        self.reduction = reduction

    def get_loss(self, x: Tensor, weights: float | Tensor = 1.0) -> Tensor:
        """Weights and reduces a loss tensor."""
        x = x if isinstance(weights, float) and weights == 1.0 else x * weights
        if self.reduction == "mean":
            return x.mean()
        return x.sum() if self.reduction == "sum" else x


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(ops.square(logits - labels))


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss(ops.abs(logits - labels))


class SmoothL1Loss(LossBase):
    """0.5 d^2 / beta below beta, d - 0.5 beta above, with d = |logits - labels|."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        if beta <= 0:
            raise ValueError(f"For 'SmoothL1Loss', 'beta' must be positive, but got {beta}")
        self.beta = beta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        d = ops.abs(logits - labels)
        small = ops.square(d) * (0.5 / self.beta)
        return self.get_loss(ops.where(d < self.beta, small, d - 0.5 * self.beta))


class CrossEntropyLoss(LossBase):
    """Softmax cross-entropy of logits (N, C, ...) with class numbers (N, ...) or probabilities.

    >>> import diptych as ms
    >>> loss = ms.nn.CrossEntropyLoss()
    >>> round(float(loss(ms.ops.zeros((2, 4)), ms.Tensor([0, 3], ms.int32))), 4)
    1.3863
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(LossBase):
    """Minus the log-probability of the given classes; logits are log-probabilities."""

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross-entropy of logits (N, C); ``sparse``: labels are class numbers (N,)."""

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.sparse:
            return ops.cross_entropy(logits, labels, reduction=self.reduction)
        loss = -(labels * ops.log_softmax(logits, -1)).sum(-1)
        return self.get_loss(loss)


class BCELoss(LossBase):
    """Binary cross-entropy of probabilities."""

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross-entropy of logits."""

    def __init__(
        self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )
