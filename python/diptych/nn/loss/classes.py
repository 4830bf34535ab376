"""Cross-entropies: losses by the probability that a model gives to the truth."""

from __future__ import annotations

from typing import Any

from ... import ops
from ..._core import Tensor
from ..check import check_bool, check_probability
from .base import LossBase

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "NLLLoss",
    "SoftmaxCrossEntropyWithLogits",
]


class CrossEntropyLoss(LossBase):
    """Softmax cross-entropy of logits (N, C, ...) with class numbers (N, ...) or probabilities.

    Args:
        weight: Tensor (C,) that multiplies each class, or None; 'mean' divides by the weights.
        ignore_index: a class number that does not count.
        reduction: 'mean', 'sum' or 'none'.
        label_smoothing: in [0, 1]; this part of the truth is spread over all classes
            (Szegedy et al. 2016).

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
        check_probability("CrossEntropyLoss", label_smoothing=label_smoothing)
        self.weight, self.ignore_index = weight, ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.cross_entropy(
            logits, labels, self.weight, self.ignore_index, self.reduction, self.label_smoothing
        )


class NLLLoss(LossBase):
    """Minus the log-probability of the classes labels (N, ...); logits (N, C, ...) are
    log-probabilities.

    ``weight`` (C,) multiplies each class, ``ignore_index`` does not count.

    >>> import diptych as ms
    >>> logs = ms.ops.log_softmax(ms.ops.zeros((2, 4)), 1)
    >>> round(float(ms.nn.NLLLoss()(logs, ms.Tensor([0, 3], ms.int32))), 4)
    1.3863
    """

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Softmax cross-entropy of logits (N, C); ``sparse``: labels are class numbers (N,), else
    probabilities (N, C). ``reduction`` is 'none' unless it is given.

    >>> import diptych as ms
    >>> loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    >>> loss(ms.ops.zeros((2, 4)), ms.Tensor([0, 3], ms.int32)).shape
    (2,)
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        check_bool("SoftmaxCrossEntropyWithLogits", sparse=sparse)
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.sparse:
            return ops.cross_entropy(logits, labels, reduction=self.reduction)
        loss = -(labels * ops.log_softmax(logits, -1)).sum(-1)
        return self.get_loss(loss)


class BCELoss(LossBase):
    """-(y log p + (1 - y) log(1 - p)) of probabilities logits; logarithms are kept above -100.

    ``weight`` broadcasts to the labels.

    >>> import diptych as ms
    >>> round(float(ms.nn.BCELoss()(ms.Tensor([0.5]), ms.Tensor([1.0]))), 4)
    0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross-entropy of sigmoid(logits), without its overflow.

    ``weight`` broadcasts to the labels; ``pos_weight`` multiplies the part of label 1.

    >>> import diptych as ms
    >>> round(float(ms.nn.BCEWithLogitsLoss()(ms.Tensor([0.0]), ms.Tensor([1.0]))), 4)
    0.6931
    """

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy_with_logits(
            logits, labels, self.weight, self.pos_weight, self.reduction
        )


class CTCLoss(LossBase):
    """Connectionist temporal classification (Graves et al. 2006): minus the log-probability that a
    sequence of classes, with repeats and blanks left out, is the target.

    ``loss(log_probs, targets, input_lengths, target_lengths)`` with log_probs (T, N, C), targets
    (N, S) or all one after the other, and lengths (N) as Tensors or tuples; or one sample:
    log_probs (T, C), targets (S). 'mean' divides each loss by its target's length first.

    Args:
        blank: the class that stands for no output.
        reduction: 'mean', 'sum' or 'none'.
        zero_infinity: an impossible target costs 0, not infinity.

    >>> import diptych as ms
    >>> logs = ms.ops.log_softmax(ms.ops.zeros((3, 1, 2)))
    >>> round(float(ms.nn.CTCLoss()(logs, ms.Tensor([[1]], ms.int32), (3,), (1,))), 4)
    0.2877
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        check_bool("CTCLoss", zero_infinity=zero_infinity)
        if isinstance(blank, bool) or not isinstance(blank, int):
            raise TypeError(f"For 'CTCLoss', 'blank' must be an int, but got {blank!r}")
        if blank < 0:
            raise ValueError(f"For 'CTCLoss', 'blank' must be 0 or more, but got {blank}")
        self.blank, self.zero_infinity = blank, zero_infinity

    def construct(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return ops.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )[0]
