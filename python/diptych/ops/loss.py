"""Losses made of elementwise ops and sums, under MindSpore's signatures: margins, embeddings and
the Gaussian likelihood. All take ``reduction`` 'mean', 'sum' or 'none'."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor, op_table

__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]

_table = op_table


def _reduce(op: str, loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction != "none":
        raise ValueError(f"{op}: reduction is {reduction!r}; it must be 'mean', 'sum' or 'none'")
    return loss


def _check_classes(op: str, x: Tensor, target: Tensor) -> None:
    if x.ndim != 2 or target.ndim != 1 or target.shape[0] != x.shape[0]:
        raise ValueError(
            f"{op}: input has shape {x.shape} and target {target.shape}; they must be (N, C) and "
            "(N,)"
        )


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """max(0, margin - target * (input1 - input2)); target is 1 where input1 should be the larger
    one and -1 where input2 should.

    >>> import diptych as ms
    >>> high, low = ms.Tensor([2.0, 0.5]), ms.Tensor([1.0, 1.0])
    >>> ms.ops.margin_ranking_loss(high, low, ms.ops.ones(2), reduction="none").tolist()
    [0.0, 0.5]
    """
    return _reduce(
        "margin_ranking_loss", _table["relu"](margin - target * (input1 - input2)), reduction
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1, else 0.

    The cosine is taken over axis 1 of inputs (N, D, ...), or over inputs (D,); squares are kept
    from 0 by 1e-12. target has the shape of the inputs without that axis; margin is in [-1, 1].

    >>> import diptych as ms
    >>> from diptych import ops
    >>> a, b = ms.Tensor([[1.0, 0.0]]), ms.Tensor([[0.0, 1.0]])
    >>> print(ops.cosine_embedding_loss(a, b, ms.Tensor([1])))
    1.0
    """
    if not -1 <= margin <= 1:
        raise ValueError(f"cosine_embedding_loss: margin is {margin}; it must be in [-1, 1]")
    axis = 1 if input1.ndim > 1 else 0
    squares = ((input1 * input1).sum(axis) + 1e-12) * ((input2 * input2).sum(axis) + 1e-12)
    cosine = (input1 * input2).sum(axis) * _table["rsqrt"](squares)
    zero = _table["zeros_like"](cosine)
    near = _table["where"](target == 1, 1 - cosine, zero)
    far = _table["where"](target == -1, _table["relu"](cosine - margin), zero)
    return _reduce("cosine_embedding_loss", near + far, reduction)


def hinge_embedding_loss(
    inputs: Tensor, targets: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """inputs where targets is 1, max(0, margin - inputs) where it is -1 (distances of pairs).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.hinge_embedding_loss(ms.Tensor([0.5, 0.25]), ms.Tensor([1, -1])))
    0.625
    """
    zero = _table["zeros_like"](inputs)
    far = _table["where"](targets == 1, zero, _table["relu"](margin - inputs))
    near = _table["where"](targets == -1, zero, inputs)
    return _reduce("hinge_embedding_loss", near + far, reduction)


def _distance(a: Tensor, b: Tensor, p: float, eps: float) -> Tensor:
    return _table["norm"](a - b + eps, 1 if a.ndim > 1 else 0, False, float(p))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being the p-norm of the
    difference (+ eps) over axis 1 of (N, D, ...).

    ``swap``: the negative's distance is the smaller of those to anchor and positive (Balntas et al.
    2016).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> a, p, n = ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 0.1]]), ms.Tensor([[1.0, 0.5]])
    >>> print(ops.triplet_margin_loss(a, p, n))
    0.6
    """
    near, far = _distance(anchor, positive, p, eps), _distance(anchor, negative, p, eps)
    if swap:
        far = _table["minimum"](far, _distance(positive, negative, p, eps))
    return _reduce("triplet_margin_loss", _table["relu"](near - far + margin), reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)) with targets 1 and -1.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.soft_margin_loss(ms.Tensor([0.0]), ms.Tensor([1.0])))
    0.6931472
    """
    return _reduce("soft_margin_loss", _table["softplus"](-(target * input)), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Any = None, reduction: str = "mean"
) -> Tensor:
    """Binary cross-entropy of the logits input (N, C) with targets 0 and 1, averaged over classes.

    ``weight`` (C,) multiplies the part of each class.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.multilabel_soft_margin_loss(ops.zeros((1, 2)), ms.Tensor([[1.0, 0.0]])))
    0.6931472
    """
    if input.ndim != 2 or input.shape != target.shape:
        raise ValueError(
            f"multilabel_soft_margin_loss: input has shape {input.shape} and target "
            f"{target.shape}; both must be (N, C)"
        )
    loss = _table["binary_cross_entropy_with_logits"](input, target, reduction="none")
    loss = loss if weight is None else loss * weight
    return _reduce("multilabel_soft_margin_loss", loss.mean(1), reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss of scores (N, C) and class numbers (N,):
    sum over i != y of max(0, weight[y] * (margin - x[y] + x[i]))^p, divided by C; p is 1 or 2.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.multi_margin_loss(ms.Tensor([[0.1, 0.5]]), ms.Tensor([1])))
    0.3
    """
    _check_classes("multi_margin_loss", input, target)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is {p!r}; it must be 1 or 2")
    classes = input.shape[1]
    own = _table["gather_elements"](input, target.reshape((-1, 1)), 1)
    gap = margin - own + input
    if weight is not None:
        gap = gap * _table["embedding"](target, weight.reshape((-1, 1)))
    loss = _table["relu"](gap) * (1 - _table["one_hot"](target, classes).astype(input.dtype))
    loss = loss if p == 1 else loss * loss
    return _reduce("multi_margin_loss", loss.sum(1) / classes, reduction)


def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Hinge loss of scores (N, C) and lists of class numbers (N, C), each ended by -1:
    sum over listed y and unlisted i of max(0, 1 - (x[y] - x[i])), divided by C.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> target = ms.Tensor([[2, -1, 0]], ms.int32)
    >>> print(ops.multilabel_margin_loss(ms.Tensor([[0.1, 0.2, 0.4]]), target))
    0.5
    """
    if input.ndim not in (1, 2) or input.shape != target.shape:
        raise ValueError(
            f"multilabel_margin_loss: input has shape {input.shape} and target {target.shape}; "
            "both must be (N, C) or (C,)"
        )
    x = input if input.ndim == 2 else input.reshape((1, -1))
    y = target.reshape(x.shape)
    classes = x.shape[1]
    listed = _table["cumprod"]((y >= 0).astype(x.dtype), 1)
    y = _table["maximum"](y, 0)
    hot = _table["one_hot"](y, classes).astype(x.dtype) * listed.reshape((*x.shape, 1))
    unlisted = 1 - hot.amax(1)
    own = _table["gather_elements"](x, y, 1).reshape((*x.shape, 1))
    gaps = _table["relu"](1 - own + x.reshape((x.shape[0], 1, classes)))
    gaps = gaps * listed.reshape((*x.shape, 1)) * unlisted.reshape((x.shape[0], 1, classes))
    loss = gaps.sum((1, 2)) / classes
    return _reduce(
        "multilabel_margin_loss", loss if input.ndim == 2 else loss.reshape(()), reduction
    )


def gaussian_nll_loss(
    x: Tensor,
    target: Tensor,
    var: Tensor,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """(log v + (x - target)^2 / v) / 2 with v = max(var, eps); ``full`` adds log(2 pi) / 2.

    var has the shape of x, or 1 in its last axis, or lacks that axis.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.gaussian_nll_loss(ms.Tensor([1.0]), ms.Tensor([3.0]), ms.Tensor([1.0])))
    2.0
    """
    if eps <= 0:
        raise ValueError(f"gaussian_nll_loss: eps is {eps}; it must be positive")
    if var.shape != x.shape and var.shape == x.shape[:-1]:
        var = _table["expand_dims"](var, -1)
    v = _table["maximum"](var, eps)
    loss = (_table["log"](v) + _table["square"](x - target) / v) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce("gaussian_nll_loss", loss, reduction)
