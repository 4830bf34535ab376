"""Losses: values and gradients against NumPy in double, reductions, refusals."""

import itertools
import math

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(5)
X, Y, Z = (RNG.standard_normal((4, 6)) for _ in range(3))
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])
CLASSES = np.array([0, 5, 2, 2])
WEIGHT = np.linspace(0.5, 2.0, 6)
REDUCE = {"mean": np.mean, "sum": np.sum, "none": lambda v: v}


def relu(v):
    return np.maximum(v, 0)


def softplus(v):
    return np.logaddexp(0, v)


def cosine(a, b):
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def hinge_all(x, y, p, margin, weight):
    out = np.zeros(len(x))
    for n, own in enumerate(y):
        for i in range(x.shape[1]):
            if i != own:
                gap = margin - x[n, own] + x[n, i]
                out[n] += max(0, weight[own] * gap) ** p / x.shape[1]
    return out


LISTS = np.array([[1, 4, -1, 0, 2, 3], [0, -1, 1, 1, 1, 1], [-1] * 6, [5, 3, 2, 1, 0, 4]])


def hinge_lists(x, lists):
    out = np.zeros(len(x))
    for n, row in enumerate(lists):
        count = list(row).index(-1) if -1 in row else len(row)
        listed = set(row[:count])
        for y in row[:count]:
            for i in set(range(x.shape[1])) - listed:
                out[n] += max(0, 1 - (x[n, y] - x[n, i])) / x.shape[1]
    return out


def triplet(a, b, c, margin, p=2, swap=False):
    def distance(u, v):
        return (np.abs(u - v + 1e-6) ** p).sum(1) ** (1 / p)

    far = np.minimum(distance(a, c), distance(b, c)) if swap else distance(a, c)
    return relu(distance(a, b) - far + margin)


def stirling(t):
    s = np.maximum(t, 1)
    return np.where(t > 1, s * np.log(s) - s + 0.5 * np.log(2 * math.pi * s), 0)


def stable_cross_entropy(x, labels):
    return -(x - np.log(np.exp(x).sum(1, keepdims=True)))[np.arange(len(x)), labels]


COUNTS = RNG.integers(0, 6, (4, 6)).astype(float)
PROBABILITIES = RNG.uniform(0.05, 0.95, (4, 6))
CASES = [
    ("MSELoss", {}, (X, Y), lambda x, y: (x - y) ** 2),
    ("L1Loss", {}, (X, Y), lambda x, y: np.abs(x - y)),
    ("MAELoss", {}, (X, Y), lambda x, y: np.abs(x - y)),
    ("SmoothL1Loss", {"beta": 0.7}, (X, Y), lambda x, y: np.where(
        np.abs(x - y) < 0.7, (x - y) ** 2 / 1.4, np.abs(x - y) - 0.35)),
    ("HuberLoss", {"delta": 0.7}, (X, Y), lambda x, y: np.where(
        np.abs(x - y) < 0.7, (x - y) ** 2 / 2, 0.7 * (np.abs(x - y) - 0.35))),
    ("KLDivLoss", {}, (X, PROBABILITIES), lambda x, y: y * (np.log(y) - x)),
    ("PoissonNLLLoss", {}, (X, COUNTS), lambda x, t: np.exp(x) - t * x),
    ("PoissonNLLLoss", {"log_input": False, "full": True}, (PROBABILITIES, COUNTS),
     lambda x, t: x - t * np.log(x + 1e-8) + stirling(t)),
    ("GaussianNLLLoss", {"full": True}, (X, Y, PROBABILITIES),
     lambda x, y, v: 0.5 * (np.log(v) + (x - y) ** 2 / v + np.log(2 * math.pi))),
    ("GaussianNLLLoss", {}, (X, Y, PROBABILITIES[:, 0]),
     lambda x, y, v: 0.5 * (np.log(v[:, None]) + (x - y) ** 2 / v[:, None])),
    ("BCELoss", {}, (PROBABILITIES, COUNTS / 5),
     lambda p, y: -(y * np.log(p) + (1 - y) * np.log(1 - p))),
    ("BCEWithLogitsLoss", {}, (X, COUNTS / 5), lambda x, y: softplus(x) - x * y),
    ("MarginRankingLoss", {"margin": 0.3}, (X[:, 0], Y[:, 0], SIGNS),
     lambda a, b, t: relu(0.3 - t * (a - b))),
    ("CosineEmbeddingLoss", {"margin": 0.1}, (X, Y, SIGNS),
     lambda a, b, t: np.where(t == 1, 1 - cosine(a, b), relu(cosine(a, b) - 0.1))),
    ("HingeEmbeddingLoss", {"margin": 0.4}, (X[:, 1], SIGNS),
     lambda x, t: np.where(t == 1, x, relu(0.4 - x))),
    ("SoftMarginLoss", {}, (X[:, 1], SIGNS), lambda x, t: softplus(-t * x)),
    ("MultiLabelSoftMarginLoss", {"weight": WEIGHT}, (X, (COUNTS > 2) * 1.0),
     lambda x, t: ((softplus(x) - x * t) * WEIGHT).mean(1)),
    ("MultiMarginLoss", {}, (X, CLASSES), lambda x, y: hinge_all(x, y, 1, 1.0, np.ones(6))),
    ("MultiMarginLoss", {"p": 2, "margin": 0.5, "weight": WEIGHT}, (X, CLASSES),
     lambda x, y: hinge_all(x, y, 2, 0.5, WEIGHT)),
    ("MultilabelMarginLoss", {}, (X, LISTS), hinge_lists),
    ("TripletMarginLoss", {"margin": 2.0}, (X, Y, Z), lambda a, b, c: triplet(a, b, c, 2.0)),
    ("TripletMarginLoss", {"p": 3, "swap": True}, (X, Y, Z),
     lambda a, b, c: triplet(a, b, c, 1.0, 3, True)),
    ("TripletMarginWithDistanceLoss", {"margin": 2.0}, (X, Y, Z),
     lambda a, b, c: triplet(a, b, c, 2.0)),
    ("CrossEntropyLoss", {}, (X, CLASSES), stable_cross_entropy),
    ("NLLLoss", {}, (X, CLASSES), lambda x, y: -x[np.arange(len(x)), y]),
    ("SoftmaxCrossEntropyWithLogits", {"sparse": True}, (X, CLASSES), stable_cross_entropy),
    ("SoftmaxCrossEntropyWithLogits", {}, (X, PROBABILITIES),
     lambda x, y: -(y * (x - np.log(np.exp(x).sum(1, keepdims=True)))).sum(1)),
]  # fmt: skip


def to_tensor(values):
    dtype = ms.float32 if values.dtype.kind == "f" else ms.int64
    return ms.Tensor(np.ascontiguousarray(values), dtype)


def make(name, settings, reduction):
    settings = {k: to_tensor(v) if isinstance(v, np.ndarray) else v for k, v in settings.items()}
    return getattr(nn, name)(reduction=reduction, **settings)


@pytest.mark.parametrize("reduction", REDUCE)
@pytest.mark.parametrize(
    ("name", "settings", "inputs", "reference"),
    CASES,
    ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)],
)
def test_value(name, settings, inputs, reference, reduction):
    got = make(name, settings, reduction)(*map(to_tensor, inputs))
    want = REDUCE[reduction](reference(*inputs))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "settings", "inputs", "reference"),
    CASES,
    ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)],
)
def test_gradient(name, settings, inputs, reference):
    """Of the first input, against central differences of the reference."""
    x, rest = inputs[0], inputs[1:]
    want, step = np.zeros_like(x), 1e-6
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        want[i] = (reference(up, *rest).sum() - reference(down, *rest).sum()) / (2 * step)
    got = ms.grad(make(name, settings, "sum"))(*map(to_tensor, inputs))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-4, atol=2e-5)


def test_root_mean_square():
    got = nn.RMSELoss()(to_tensor(X), to_tensor(Y))
    np.testing.assert_allclose(float(got), np.sqrt(((X - Y) ** 2).mean()), rtol=1e-5)


def test_batchmean_divides_by_the_first_size():
    got = nn.KLDivLoss("batchmean")(to_tensor(X), to_tensor(PROBABILITIES))
    want = (PROBABILITIES * (np.log(PROBABILITIES) - X)).sum() / 4
    np.testing.assert_allclose(float(got), want, rtol=1e-5)


def test_class_weights_smoothing_and_ignored_labels():
    labels = np.array([0, 5, -1, 2])
    loss = nn.CrossEntropyLoss(to_tensor(WEIGHT), ignore_index=-1, label_smoothing=0.2)
    logs = X - np.log(np.exp(X).sum(1, keepdims=True))
    total = count = 0.0
    for row, y in zip(logs, labels, strict=True):
        if y != -1:
            total -= 0.8 * WEIGHT[y] * row[y] + 0.2 / 6 * (WEIGHT * row).sum()
            count += WEIGHT[y]
    got = loss(to_tensor(X), to_tensor(labels))
    np.testing.assert_allclose(float(got), total / count, rtol=1e-5)


def test_positive_weight_of_binary_cross_entropy():
    w, t = np.linspace(1, 3, 6), (COUNTS > 2) * 1.0
    got = nn.BCEWithLogitsLoss("none", pos_weight=to_tensor(w))(to_tensor(X), to_tensor(t))
    want = w * t * softplus(-X) + (1 - t) * softplus(X)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_dice():
    mask = (COUNTS > 2) * 1.0
    want = 1 - 2 * (PROBABILITIES * mask).sum() / (
        (PROBABILITIES**2).sum() + (mask**2).sum() + 1e-5
    )
    got = nn.DiceLoss()(to_tensor(PROBABILITIES), to_tensor(mask))
    np.testing.assert_allclose(float(got), want, rtol=1e-5)


def test_dice_of_several_classes_leaves_one_out():
    mask, p = (COUNTS > 2) * 1.0, np.exp(X) / np.exp(X).sum(1, keepdims=True)
    want = 0.0
    for c in range(6):
        if c != 1:
            a, b = p[:, c], mask[:, c]
            want += 1 - 2 * (a * b).sum() / ((a * a).sum() + (b * b).sum() + 1e-5)
    got = nn.MultiClassDiceLoss(ignore_indiex=1)(to_tensor(X), to_tensor(mask))
    np.testing.assert_allclose(float(got), want / 6, rtol=1e-5)
    with pytest.raises(ValueError, match="one shape"):
        nn.MultiClassDiceLoss()(to_tensor(X), to_tensor(mask[:, :3]))


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_focal(weight):
    x = RNG.standard_normal((2, 6, 3))
    labels = np.array([[[0, 5, 2]], [[-1, 1, 3]]])
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    own = np.take_along_axis(p, labels % 6, 1)
    w = np.ones(6) if weight is None else weight
    want = (-w[labels % 6] * (1 - own) ** 2 * np.log(own)).mean()
    loss = nn.FocalLoss(None if weight is None else to_tensor(weight))
    np.testing.assert_allclose(float(loss(to_tensor(x), to_tensor(labels))), want, rtol=1e-5)
    hot = np.zeros_like(x)
    np.put_along_axis(hot, labels % 6, 1, 1)
    want = (-w[None, :, None] * hot * (1 - p) ** 2 * np.log(p)).mean(-1)
    none = nn.FocalLoss(None if weight is None else to_tensor(weight), reduction="none")
    got = none(to_tensor(x), to_tensor(hot)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def alignments_loss(logs, target, blank):
    """Over all paths of classes, those that collapse to the target."""
    total = 0.0
    for path in itertools.product(range(logs.shape[1]), repeat=len(logs)):
        collapsed = [c for c, _ in itertools.groupby(path) if c != blank]
        if collapsed == list(target):
            total += math.exp(sum(row[c] for row, c in zip(logs, path, strict=True)))
    return -math.log(total) if total else math.inf


@pytest.mark.parametrize("reduction", REDUCE)
def test_connectionist_temporal_classification(reduction):
    logits = RNG.standard_normal((5, 3, 4))
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    targets, counts, lengths = np.array([[1, 1, 0], [3, 0, 1], [0, 0, 0]]), [2, 3, 0], [5, 4, 3]
    want = np.array([
        alignments_loss(logs[:t, n], targets[n][:s], 2)
        for n, (t, s) in enumerate(zip(lengths, counts, strict=True))
    ])  # fmt: skip
    if reduction == "mean":
        want = want / np.maximum(counts, 1)
    loss = nn.CTCLoss(blank=2, reduction=reduction)
    got = loss(to_tensor(logs), ms.Tensor(targets, ms.int32), tuple(lengths), tuple(counts))
    np.testing.assert_allclose(got.asnumpy(), REDUCE[reduction](want), rtol=1e-5)


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.CTCLoss(-1), ValueError, "'blank' must be 0 or more"),
    (lambda: nn.CTCLoss(zero_infinity=1), TypeError, "'zero_infinity' must be a bool"),
    (lambda: nn.MSELoss("average"), ValueError, "'reduction' must be one of 'mean', 'sum', 'none'"),
    (lambda: nn.MSELoss(1), TypeError, "'reduction' must be a str"),
    (lambda: nn.CosineEmbeddingLoss(1.5), ValueError, r"'margin' must be in \[-1, 1\]"),
    (lambda: nn.MultiMarginLoss(p=3), ValueError, "'p' must be 1 or 2, but got 3"),
    (lambda: nn.HingeEmbeddingLoss("1"), TypeError, "'margin' must be a number"),
    (lambda: nn.TripletMarginLoss(swap=1), TypeError, "'swap' must be a bool"),
    (lambda: nn.GaussianNLLLoss(eps=0.0), ValueError, "'eps' must be positive"),
    (lambda: nn.HuberLoss(delta=0), ValueError, "'delta' must be positive"),
    (lambda: nn.CrossEntropyLoss(label_smoothing=2.0), ValueError, r"'label_smoothing' must be in"),
    (lambda: nn.MultiClassDiceLoss(ignore_indiex="1"), TypeError, "'ignore_indiex' must be an int"),
    (lambda: nn.DiceLoss(0), ValueError, "'smooth' must be positive"),
    (lambda: nn.FocalLoss()(ops.ones((2, 3)), ops.ones(2)), ValueError, "same 2 to 4 axes"),
    (lambda: nn.MultiMarginLoss()(ops.ones((2, 3)), ops.ones(3)), ValueError, r"\(N, C\) and"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
