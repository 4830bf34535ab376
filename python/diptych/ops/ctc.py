"""Connectionist temporal classification (Graves et al. 2006): the loss, and likely labels."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..common.grad import grad
from .primitive import wrapped

__all__ = ["ctc_greedy_decoder", "ctc_loss"]

_table = op_table


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Connectionist temporal classification (Graves et al. 2006): minus the log-probability of the
    targets, and the forward sums in log space.

    log_probs (T, N, C) with targets (N, S) or all one after the other, lengths (N); or one sample:
    log_probs (T, C), targets (S), lengths one number each. The sums are (N, T, 2 S + 1) and have no
    gradient. 'mean' divides each loss by its target's length first. With zero_infinity the loss of
    an impossible target is 0.

    >>> from diptych import Tensor, ops
    >>> logs = ops.log_softmax(ops.zeros((3, 1, 2)))
    >>> round(float(ops.ctc_loss(logs, Tensor([[1]]), (3,), (1,))[0]), 4)
    0.2877
    """
    lengths = [n if isinstance(n, Tensor) else Tensor(n) for n in (input_lengths, target_lengths)]
    if log_probs.ndim == 2:
        log_probs, targets = log_probs.expand_dims(1), targets.reshape((1, -1))
    lengths = [n.reshape((-1,)) for n in lengths]
    if targets.ndim == 1:
        targets = _beside(targets, lengths[1].tolist())
    return _table["ctc_loss"](log_probs, targets, *lengths, blank, reduction, zero_infinity)


def _beside(targets: Tensor, lengths: list[int]) -> Tensor:
    """Targets one after the other as rows, filled up with 0."""
    if min(lengths, default=0) < 0 or sum(lengths) != targets.size:
        raise ValueError(
            f"ctc_loss: target_lengths are {lengths}; with targets of shape {targets.shape} they "
            f"must add up to {targets.size}"
        )
    longest, rows, start = max(lengths, default=0), [], 0
    for n in lengths:
        rows.append(_table["pad"](targets[start : start + n], (0, longest - n)))
        start += n
    return _table["stack"](rows)


def _ctc_loss(
    x: Tensor, labels_indices: Tensor, labels_values: Tensor, sequence_length: Tensor,
    preprocess_collapse_repeated: bool = False, ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """ctc_loss of scores x (T, N, C), the last class being blank, with labels given by their places
    (sample, position); and its gradient for x."""
    if preprocess_collapse_repeated or not ctc_merge_repeated:
        raise ValueError(
            f"CTCLoss: preprocess_collapse_repeated is {preprocess_collapse_repeated}, "
            f"ctc_merge_repeated {ctc_merge_repeated}; they must be False and True"
        )
    if x.ndim != 3 or labels_values.ndim != 1 or labels_indices.shape != (labels_values.size, 2):
        raise ValueError(
            f"CTCLoss: x, labels_indices and labels_values have shapes {x.shape}, "
            f"{labels_indices.shape} and {labels_values.shape}; they must be (T, N, C), (n, 2) and "
            "(n,)"
        )
    n, most = x.shape[1], labels_values.size
    places = labels_indices.astype(_core.int64)
    values = labels_values.astype(_core.int64)
    targets = _table["scatter_nd"](places, values, (n, most))
    ones = _table["ones_like"](values)
    lengths = _table["scatter_nd"](places[:, :1], ones, (n,))

    def losses(scores: Tensor) -> Tensor:
        logs = _table["log_softmax"](scores, -1)
        blank, free = x.shape[2] - 1, ignore_longer_outputs_than_inputs
        return _table["ctc_loss"](logs, targets, sequence_length, lengths, blank, "none", free)[0]

    return losses(x), grad(lambda scores: losses(scores).sum())(x)


def ctc_greedy_decoder(
    inputs: Tensor, sequence_length: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The class with the largest score at each step, without blanks (the last class) and, if
    merge_repeated, without what stands twice in a row.

    Args:
        inputs: scores (T, N, C).
        sequence_length: (N,), the steps of each sample, at most T.

    Returns:
        The places (n, 2) of the labels: sample, position; the labels (n,); the sizes (2,) of the
        smallest matrix that holds them, all int64; minus the sum of the largest scores (N, 1).

    Raises:
        RuntimeError: a length is larger than T.

    >>> from diptych import Tensor, ops
    >>> scores = Tensor([[[3.0, 1.0, 0.0]], [[3.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]])
    >>> places, labels, sizes, cost = ops.ctc_greedy_decoder(scores, Tensor([3]))
    >>> places.tolist(), labels.tolist(), sizes.tolist(), cost.tolist()
    ([[0, 0], [0, 1]], [0, 1], [1, 2], [[-7.0]])
    """
    if inputs.ndim != 3 or sequence_length.shape != inputs.shape[1:2]:
        raise ValueError(
            f"ctc_greedy_decoder: inputs and sequence_length have shapes {inputs.shape} and "
            f"{sequence_length.shape}; they must be (T, N, C) and (N,)"
        )
    steps, n, classes = inputs.shape
    lengths = sequence_length.astype(_core.int64)
    if not _core.is_symbolic(lengths) and n and lengths.max().item() > steps:
        raise RuntimeError(
            f"ctc_greedy_decoder: sequence_length is {sequence_length.tolist()}; all should be "
            f"less than or equal to the {steps} steps of inputs"
        )
    rows = _table["transpose"](inputs, (1, 0, 2))
    best = _table["argmax"](rows, 2)
    during = _table["arange"](0, steps, 1, _core.int64) < lengths.expand_dims(1)
    cost = -_table["where"](during, _table["amax"](rows, 2), 0.0).sum(1, True)
    kept = during & (best != classes - 1)
    if merge_repeated:
        before = _table["pad"](best[:, : max(steps - 1, 0)], (1, 0), "constant", -1.0)
        kept = kept & (best != before[:, :steps])
    position = _table["cumsum"](kept.astype(_core.int64), 1) - 1
    sample = _table["nonzero"](kept)[:, 0]
    along = _table["masked_select"](position, kept)
    longest = _table["amax"](_table["pad"](kept.sum(1), (0, 1)))
    sizes = _table["stack"]([_table["full_like"](longest, float(n)), longest])
    values = _table["masked_select"](best, kept)
    return _table["stack"]([sample, along], 1), values, sizes, cost


CTCGreedyDecoder = wrapped("CTCGreedyDecoder", ctc_greedy_decoder, "merge_repeated")
CTCLoss = wrapped(
    "CTCLoss",
    _ctc_loss,
    "preprocess_collapse_repeated",
    "ctc_merge_repeated",
    "ignore_longer_outputs_than_inputs",
)
__all__ += ["CTCGreedyDecoder", "CTCLoss"]
