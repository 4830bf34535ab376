"""Softmax, normalisation, losses and dropout, in NumPy."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .random import _word

Array = NDArray[Any]
Optional = Array | None


def log_softmax(x: Array, axis: int = -1) -> Array:
    if x.size == 0 or x.ndim == 0:
        return np.zeros(x.shape)
    top = x.max(axis=axis, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=axis, keepdims=True))


def softmax(x: Array, axis: int = -1) -> Array:
    return np.exp(log_softmax(x, axis))


# ---- normalisation


def _affine(x: Array, weight: Optional, bias: Optional) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _centered(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    off = x - x.mean(axis=axes, keepdims=True)
    return off / np.sqrt((off**2).mean(axis=axes, keepdims=True) + eps)


def layer_norm(
    x: Array,
    weight: Optional = None,
    bias: Optional = None,
    normalized_shape: tuple[int, ...] = (),
    eps: float = 1e-5,
) -> Array:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return _affine(_centered(x, axes, eps), weight, bias)


def rms_norm(x: Array, weight: Optional = None, eps: float = 1e-6) -> tuple[Array, Array]:
    axes = tuple(range(x.ndim - (1 if weight is None else weight.ndim), x.ndim))
    rstd = 1 / np.sqrt((x**2).mean(axis=axes, keepdims=True) + eps)
    return _affine(x * rstd, weight, None), rstd


def group_norm(
    x: Array,
    weight: Optional = None,
    bias: Optional = None,
    num_groups: int = 1,
    eps: float = 1e-5,
) -> Array:
    n, c = x.shape[:2]
    groups = x.reshape(n, num_groups, c // num_groups, *x.shape[2:])
    y = _centered(groups, tuple(range(2, groups.ndim)), eps).reshape(x.shape)
    one_each = (c,) + (1,) * (x.ndim - 2)
    w = None if weight is None else weight.reshape(one_each)
    b = None if bias is None else bias.reshape(one_each)
    return _affine(y, w, b)


def instance_norm(
    x: Array, weight: Optional = None, bias: Optional = None, eps: float = 1e-5
) -> Array:
    return group_norm(x, weight, bias, x.shape[1], eps)


# ---- losses


def _reduce(loss: Array, reduction: str) -> Array:
    return {"none": loss, "mean": loss.mean(), "sum": loss.sum()}[reduction]


def _class_loss(
    logs: Array, target: Array, weight: Optional, ignore: int, reduction: str, smoothing: float
) -> Array:
    axis = 1 if logs.ndim > 1 else 0
    logs = np.moveaxis(logs, axis, -1)
    classes = logs.shape[-1]
    w = np.ones(classes) if weight is None else weight
    live = np.ones(logs.shape[:-1], bool)
    if target.dtype.kind == "f":
        q, scale = np.moveaxis(target, axis, -1), live.astype(float)
    else:
        live = target != ignore
        labels = np.where(live, target, 0)
        q, scale = np.eye(classes)[labels], np.where(live, w[labels], 0.0)
    t = ((1 - smoothing) * q + smoothing / classes) * w
    loss = np.where(live, -(t * logs).sum(-1), 0.0)
    if reduction == "mean":
        return loss.sum() / scale.sum()
    return _reduce(loss, reduction)


def cross_entropy(
    x: Array,
    target: Array,
    weight: Optional = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0,
) -> Array:
    logs = log_softmax(x, 1 if x.ndim > 1 else 0)
    return _class_loss(logs, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(
    x: Array,
    target: Array,
    weight: Optional = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0,
) -> Array:
    return _class_loss(x, target, weight, ignore_index, reduction, label_smoothing)


def _spelled(path: tuple[int, ...], blank: int) -> list[int]:
    """What a path of classes spells: repetitions dropped, then blanks."""
    return [c for i, c in enumerate(path) if (i == 0 or c != path[i - 1]) and c != blank]


def _state_sums(logs: Array, labels: list[int], blank: int) -> Array:
    """log of the summed probability of the beginnings that end in each state, for each step."""
    states = [blank, *(c for label in labels for c in (label, blank))]
    n = len(states)
    moves = np.eye(n) + np.eye(n, k=1)
    for k in range(3, n, 2):
        moves[k - 2, k] = states[k] != states[k - 2]
    weight, rows = np.eye(1, n)[0] + np.eye(1, n, 1)[0], []
    for row in logs:
        weight = weight * np.exp(row[states])
        rows.append(np.log(weight))
        weight = weight @ moves
    return np.array(rows).reshape(len(logs), n)


def ctc_loss(
    logs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Array, Array]:
    """Every path of classes, one by one."""
    steps, batch, classes = logs.shape
    loss = np.zeros(batch)
    sums = np.full((batch, steps, 2 * targets.shape[1] + 1), -np.inf)
    for n in range(batch):
        length, labels = input_lengths[n], list(targets[n, : target_lengths[n]])
        paths = itertools.product(range(classes), repeat=int(length))
        spelling = [p for p in paths if _spelled(p, blank) == labels]
        total = sum(np.exp(logs[np.arange(length), n, list(p)].sum()) for p in spelling)
        loss[n] = -np.log(total) if spelling else 0 if zero_infinity else np.inf
        sums[n, :length, : 2 * len(labels) + 1] = _state_sums(logs[:length, n], labels, blank)
    if reduction == "mean":
        loss = loss / np.maximum(target_lengths, 1)
    return _reduce(loss, reduction), sums


def mse_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    return _reduce((x - y) ** 2, reduction)


def l1_loss(x: Array, y: Array, reduction: str = "mean") -> Array:
    return _reduce(np.abs(x - y), reduction)


def huber_loss(x: Array, y: Array, reduction: str = "mean", delta: float = 1) -> Array:
    d = np.abs(x - y)
    return _reduce(np.where(d < delta, d * d / 2, delta * (d - delta / 2)), reduction)


def smooth_l1_loss(x: Array, y: Array, beta: float = 1, reduction: str = "none") -> Array:
    d = np.abs(x - y)
    if beta == 0:
        return _reduce(d, reduction)
    return _reduce(np.where(d < beta, d * d / (2 * beta), d - beta / 2), reduction)


def binary_cross_entropy(
    p: Array, y: Array, weight: Optional = None, reduction: str = "mean"
) -> Array:
    loss = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    return _reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    x: Array,
    y: Array,
    weight: Optional = None,
    pos_weight: Optional = None,
    reduction: str = "mean",
) -> Array:
    yes = y * np.log1p(np.exp(-x)) * (1 if pos_weight is None else pos_weight)
    loss = yes + (1 - y) * np.log1p(np.exp(x))
    return _reduce(loss if weight is None else loss * weight, reduction)


def kl_div(x: Array, y: Array, reduction: str = "mean", log_target: bool = False) -> Array:
    loss = np.exp(y) * (y - x) if log_target else y * (np.log(y) - x)
    if reduction == "batchmean":
        return loss.sum() / x.shape[0]
    return _reduce(loss, reduction)


def dropout(x: Array, p: float = 0.5) -> Callable[..., None]:
    """Element i survives when its float32 random number is p or more."""

    def check(got: Array) -> None:
        u = np.array([(_word(i) >> 8) * 2.0**-24 for i in range(x.size)]).reshape(x.shape)
        kept = u >= np.float32(p)
        want = np.where(kept, x / (1 - p) if p < 1 else 0.0, 0.0)
        np.testing.assert_allclose(got, want, rtol=2e-2 if got.dtype == np.float16 else 1e-6)

    return check
