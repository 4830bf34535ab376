"""Losses that ask for a margin between scores or distances, over ops.*_loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ..._core import Tensor
from ..check import check_bool, check_number, check_tensor
from .base import LossBase

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultilabelMarginLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class MarginRankingLoss(LossBase):
    """max(0, margin - target * (input1 - input2)); target 1: input1 should be larger, -1: smaller.

    >>> import diptych as ms
    >>> loss = ms.nn.MarginRankingLoss(margin=1.0)
    >>> float(loss(ms.Tensor([2.0]), ms.Tensor([1.5]), ms.Tensor([1.0])))
    0.5
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_number("MarginRankingLoss", margin=margin)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        check_tensor("MarginRankingLoss", input1=input1, input2=input2, target=target)
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos(x1, x2) where labels is 1, max(0, cos - margin) where it is -1; cosine over axis 1.

    >>> import diptych as ms
    >>> x = ms.Tensor([[3.0, 4.0]])
    >>> round(float(ms.nn.CosineEmbeddingLoss()(x, -x, ms.Tensor([1.0]))), 4)
    2.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_number("CosineEmbeddingLoss", margin=margin)
        if not -1 <= margin <= 1:
            raise ValueError(
                f"For 'CosineEmbeddingLoss', 'margin' must be in [-1, 1], but got {margin}"
            )
        self.margin = margin

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """logits where labels is 1, max(0, margin - logits) where it is -1.

    >>> import diptych as ms
    >>> loss = ms.nn.HingeEmbeddingLoss(reduction="none")
    >>> loss(ms.Tensor([0.25, 0.25]), ms.Tensor([1.0, -1.0])).tolist()
    [0.25, 0.75]
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        check_number("HingeEmbeddingLoss", margin=margin)
        self.margin = margin

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels * logits)) with labels 1 and -1.

    >>> import diptych as ms
    >>> round(float(ms.nn.SoftMarginLoss()(ms.Tensor([0.0]), ms.Tensor([1.0]))), 4)
    0.6931
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """Binary cross-entropy of logits x (N, C) with targets 0 and 1, averaged over the classes.

    ``weight`` (C,), or a number, multiplies the part of each class.

    >>> import diptych as ms
    >>> loss = ms.nn.MultiLabelSoftMarginLoss()
    >>> round(float(loss(ms.ops.zeros((2, 3)), ms.ops.ones((2, 3)))), 4)
    0.6931
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """Hinge loss of scores x (N, C) and class numbers (N,):
    sum over i != y of max(0, weight[y] * (margin - x[y] + x[i]))^p / C, with p 1 or 2.

    >>> import diptych as ms
    >>> loss = ms.nn.MultiMarginLoss()
    >>> float(loss(ms.Tensor([[0.0, 0.5]]), ms.Tensor([1], ms.int64)))
    0.25
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        reduction: str = "mean",
        weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        check_number("MultiMarginLoss", p=p, margin=margin)
        if p not in (1, 2):
            raise ValueError(f"For 'MultiMarginLoss', 'p' must be 1 or 2, but got {p}")
        self.p, self.margin, self.weight = p, margin, weight

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        weight = self.weight if weight is None else weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """Hinge loss of scores x (N, C) and lists of class numbers (N, C), each ended by -1:
    sum over listed y and unlisted i of max(0, 1 - (x[y] - x[i])) / C.

    >>> import diptych as ms
    >>> loss = ms.nn.MultilabelMarginLoss()
    >>> float(loss(ms.Tensor([[1.0, 0.5]]), ms.Tensor([[0, -1]], ms.int32)))
    0.25
    """

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), d being the p-norm of the difference
    (+ eps) over axis 1 of (N, D, ...).

    ``swap``: the negative's distance is the smaller of those to x and positive (Balntas et al.
    2016). A margin given at the call goes before that of the constructor.

    >>> import diptych as ms
    >>> x, near, far = ms.ops.zeros((1, 4)), ms.ops.zeros((1, 4)), ms.ops.ones((1, 4))
    >>> round(float(ms.nn.TripletMarginLoss(margin=3.0)(x, near, far)), 3)
    1.0
    """

    def __init__(
        self,
        p: int = 2,
        swap: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        check_number("TripletMarginLoss", p=p, eps=eps, margin=margin)
        check_bool("TripletMarginLoss", swap=swap)
        self.p, self.swap, self.eps, self.margin = p, swap, eps, margin

    def construct(
        self, x: Tensor, positive: Tensor, negative: Tensor, margin: Any = None
    ) -> Tensor:
        margin = self.margin if margin is None else margin
        return ops.triplet_margin_loss(
            x, positive, negative, margin, self.p, self.eps, self.swap, self.reduction
        )


def _euclidean(x: Tensor, y: Tensor) -> Tensor:
    """Distance over axis 1; the small term keeps the gradient finite where x equals y."""
    return ops.norm(x - y + 1e-6, dim=1)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin) with any distance d of two (N, D) tensors.

    ``distance_function`` None: the Euclidean distance.

    >>> import diptych as ms
    >>> def city_block(a, b):
    ...     return ms.ops.abs(a - b).sum(1)
    >>> loss = ms.nn.TripletMarginWithDistanceLoss(city_block)
    >>> float(loss(ms.ops.zeros((1, 4)), ms.ops.ones((1, 4)), ms.ops.ones((1, 4))))
    1.0
    """

    def __init__(
        self,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        swap: bool = False,
        reduction: str = "mean",
        margin: float = 1.0,
    ) -> None:
        super().__init__(reduction)
        check_number("TripletMarginWithDistanceLoss", margin=margin)
        check_bool("TripletMarginWithDistanceLoss", swap=swap)
        self.distance_function = _euclidean if distance_function is None else distance_function
        self.swap, self.margin = swap, margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = ops.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(ops.relu(near - far + self.margin))
