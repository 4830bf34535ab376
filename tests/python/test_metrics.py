"""Metrics against scikit-learn, SciPy and formulas in double, over several updates."""

import math

import numpy as np
import pytest

import diptych as ms
from diptych import train

RNG = np.random.default_rng(9)
BATCHES = [(RNG.random((n, 4)).astype(np.float32), RNG.integers(0, 4, n)) for n in (7, 12, 5)]
SCORES = np.concatenate([s for s, _ in BATCHES])
TRUTH = np.concatenate([t for _, t in BATCHES])
CHOSEN = SCORES.argmax(1)


def over(metric, batches=BATCHES, **options):
    """The value over batches, given as Tensors."""
    metric.update(*map(ms.Tensor, batches[0]))
    metric.clear()
    for batch in batches:
        metric.update(*(ms.Tensor(b) for b in batch))
    return metric.eval(**options)


def one_hot(truth, n=4):
    return np.eye(n, dtype=np.int64)[truth]


def test_classification_against_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    assert over(train.Accuracy()) == pytest.approx(sk.accuracy_score(TRUTH, CHOSEN))
    for metric, fn in ((train.Precision, sk.precision_score), (train.Recall, sk.recall_score)):
        want = fn(TRUTH, CHOSEN, average=None, zero_division=0)
        np.testing.assert_allclose(over(metric()), want)
        np.testing.assert_allclose(over(metric(), average=True), want.mean())
    for metric, beta in ((train.F1(), 1), (train.Fbeta(2), 2), (train.Fbeta(0.5), 0.5)):
        want = sk.fbeta_score(TRUTH, CHOSEN, beta=beta, average=None, zero_division=0)
        np.testing.assert_allclose(over(metric), want)
    for k in (1, 2, 3):
        got = over(train.TopKCategoricalAccuracy(k))
        assert got == pytest.approx(sk.top_k_accuracy_score(TRUTH, SCORES, k=k, labels=range(4)))
    assert over(train.Top1CategoricalAccuracy()) == over(train.Accuracy())
    hot = [(s, one_hot(t)) for s, t in BATCHES]
    for metric in (train.Accuracy(), train.F1(), train.Recall(), train.Top1CategoricalAccuracy()):
        np.testing.assert_array_equal(over(metric, hot), over(metric))
    wide = [(RNG.random((3, 9)), RNG.integers(0, 9, 3)) for _ in range(3)]
    want = np.mean([t in np.argsort(-s)[:5] for b in wide for s, t in zip(*b, strict=True)])
    assert over(train.Top5CategoricalAccuracy(), wide) == pytest.approx(want)


def test_labels_against_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    batches = [(RNG.integers(0, 2, (n, 4)), RNG.integers(0, 2, (n, 4))) for n in (6, 9)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    assert over(train.Accuracy("multilabel"), batches) == pytest.approx(sk.accuracy_score(y, x))
    for metric, fn in ((train.Precision, sk.precision_score), (train.Recall, sk.recall_score)):
        got = over(metric("multilabel"), batches, average=True)
        assert got == pytest.approx(fn(y, x, average="samples", zero_division=0))


def test_pictures_are_classified_point_by_point():
    scores, truth = RNG.random((2, 3, 4, 5)), RNG.integers(0, 3, (2, 4, 5))
    got = train.Accuracy()(ms.Tensor(scores), ms.Tensor(truth))
    assert got == pytest.approx((scores.argmax(1) == truth).mean())


def test_confusion_matrix_against_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    names = {"no_norm": None, "target": "true", "prediction": "pred", "all": "all"}
    for ours, theirs in names.items():
        want = sk.confusion_matrix(TRUTH, CHOSEN, normalize=theirs)
        np.testing.assert_allclose(over(train.ConfusionMatrix(4, ours)), want)
    p, t = RNG.random(20), RNG.integers(0, 2, 20)
    got = train.ConfusionMatrix(2, threshold=0.3)(ms.Tensor(p), ms.Tensor(t))
    np.testing.assert_array_equal(got, sk.confusion_matrix(t, p >= 0.3))


def counts(x, y):
    return [float((x & y).sum()), float((x & ~y).sum()), float((~x & ~y).sum()),
            float((~x & y).sum())]


def measures(tp, fp, tn, fn):
    tpr, tnr, ppv, npv = tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn)
    return {
        "sensitivity": tpr, "specificity": tnr, "precision": ppv,
        "negative predictive value": npv, "miss rate": 1 - tpr, "fall out": 1 - tnr,
        "false discovery rate": 1 - ppv, "false omission rate": 1 - npv,
        "prevalence threshold": math.sqrt(1 - tnr) / (math.sqrt(tpr) + math.sqrt(1 - tnr)),
        "threat score": tp / (tp + fn + fp), "accuracy": (tp + tn) / (tp + fp + tn + fn),
        "balanced accuracy": (tpr + tnr) / 2, "f1 score": 2 * ppv * tpr / (ppv + tpr),
        "matthews correlation coefficient":
            math.sqrt(tpr * tnr * ppv * npv)
            - math.sqrt((1 - tpr) * (1 - tnr) * (1 - npv) * (1 - ppv)),
        "fowlkes mallows index": math.sqrt(ppv * tpr), "informedness": tpr + tnr - 1,
        "markedness": ppv + npv - 1,
    }


def test_measures_of_two_classes():
    batches = [(RNG.random((3, 2, 30)) < 0.6, RNG.random((3, 2, 30)) < 0.5) for _ in range(2)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    ints = [(a.astype(np.int32), b.astype(np.float32)) for a, b in batches]
    each = np.array([[list(measures(*counts(x[i, c], y[i, c])).values()) for c in (0, 1)]
                     for i in range(6)])
    for at, (name, want) in enumerate(measures(*counts(x, y)).items()):
        np.testing.assert_allclose(over(train.ConfusionMatrixMetric(True, name), ints), [want],
                                   err_msg=name)
        values = each[..., at]
        for how, reduced in (("none", values), ("mean", values.mean()), ("sum", values.sum()),
                             ("mean_batch", values.mean(0)), ("sum_batch", values.sum(0)),
                             ("mean_channel", values.mean(1)), ("sum_channel", values.sum(1))):
            metric = train.ConfusionMatrixMetric(True, name, True, how)
            np.testing.assert_allclose(over(metric, ints), reduced, err_msg=f"{name} {how}")
    metric = train.ConfusionMatrixMetric(False, "accuracy")
    np.testing.assert_allclose(over(metric, ints), [(x[:, 1] == y[:, 1]).mean()])
    metric = train.ConfusionMatrixMetric(True, "precision", True)
    nothing, all_ = np.zeros((1, 2)), np.ones((1, 2))
    assert over(metric, [(all_, all_), (nothing, all_)]) == 1


def test_curves_against_scikit_learn():
    sk = pytest.importorskip("sklearn.metrics")
    batches = [(RNG.integers(0, 9, n) / 9, RNG.integers(0, 2, n)) for n in (30, 20)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    fpr, tpr, thresholds = over(train.ROC(), batches)
    want = sk.roc_curve(y, x, drop_intermediate=False)
    np.testing.assert_allclose(fpr, want[0])
    np.testing.assert_allclose(tpr, want[1])
    np.testing.assert_allclose(thresholds[1:], want[2][1:])
    assert train.auc(fpr, tpr) == pytest.approx(sk.roc_auc_score(y, x))
    assert train.auc(fpr[::-1].copy(), tpr[::-1].copy()) == pytest.approx(sk.roc_auc_score(y, x))
    shuffled = RNG.permutation(len(fpr))
    assert train.auc(fpr[shuffled], tpr[shuffled], True) == pytest.approx(sk.auc(fpr, tpr))
    curves = over(train.ROC(4))
    for c in range(4):
        want = sk.roc_curve(TRUTH == c, SCORES[:, c], drop_intermediate=False)
        np.testing.assert_allclose(curves[0][c], want[0])
        np.testing.assert_allclose(curves[1][c], want[1])
    fpr, _, _ = train.ROC(pos_label=3)(ms.Tensor(SCORES[:, 3]), ms.Tensor(TRUTH))
    np.testing.assert_allclose(fpr, curves[0][3])


def test_errors_and_similarities():
    batches = [(RNG.random(n), RNG.random(n)) for n in (4, 6)]
    x, y = (np.concatenate(part) for part in zip(*batches, strict=True))
    assert over(train.MAE(), batches) == pytest.approx(np.abs(x - y).mean())
    assert over(train.MSE(), batches) == pytest.approx(np.square(x - y).mean())
    assert over(train.Loss(), [(0.5,), ([1.0, 2.0],)]) == 1.0
    a, b = RNG.random((5, 8)), RNG.integers(0, 2, (5, 8))
    want = 2 * (a * b).sum() / ((a * a).sum() + (b * b).sum() + 1e-5) / 5
    assert train.Dice()(ms.Tensor(a), ms.Tensor(b)) == pytest.approx(want)
    rows = RNG.random((5, 3))
    dots = rows @ rows.T
    lengths = np.linalg.norm(rows, axis=1)
    for similarity, full in (("dot", dots), ("cosine", dots / np.outer(lengths, lengths))):
        np.testing.assert_allclose(
            train.CosineSimilarity(similarity, "none", False)(ms.Tensor(rows)), full)
        bare = full - np.diag(np.diag(full))
        for reduction, want in (("none", bare), ("sum", bare.sum(1)), ("mean", bare.mean(1))):
            np.testing.assert_allclose(
                train.CosineSimilarity(similarity, reduction)(ms.Tensor(rows)), want)


def test_perplexity():
    p = SCORES / SCORES.sum(1, keepdims=True)
    batches = [(p[:7], TRUTH[:7]), (p[7:].reshape(1, 17, 4), TRUTH[7:].reshape(1, 17))]
    own = p[np.arange(len(p)), TRUTH].astype(np.float64)
    assert over(train.Perplexity(), batches) == pytest.approx(np.exp(-np.log(own).mean()))
    kept = own[TRUTH != 2]
    assert over(train.Perplexity(2), batches) == pytest.approx(np.exp(-np.log(kept).mean()))


def test_bleu():
    candidate = "it is a guide to action which ensures that the military always obeys".split()
    references = [
        "it is a guide to action that ensures that the military will forever heed".split(),
        "it is the guiding principle which guarantees the military forces".split(),
    ]
    # counted by hand: matches of 1 to 4 words over their number; the nearest length is 14
    precision = [11 / 13, 8 / 12, 6 / 11, 4 / 10]
    want = math.exp(1 - 14 / 13) * math.prod(precision) ** 0.25
    assert float(train.BleuScore()([candidate], [references])) == pytest.approx(want)
    want = math.exp(1 - 14 / 13) * math.sqrt(12 / 14 * 9 / 13)
    assert float(train.BleuScore(2, True)([candidate], [references])) == pytest.approx(want)
    metric = train.BleuScore(1)
    metric.update([["a", "b"]], [[["a", "c"]]])
    metric.update([["a", "a"]], [[["a"], ["b", "b", "b"]]])
    assert float(metric.eval()) == pytest.approx(2 / 4)
    assert float(train.BleuScore()([["a"]], [[["a"]]])) == 0


def surfaces(x, y, metric):
    """Distances from the edge of x to that of y, by SciPy."""
    image = pytest.importorskip("scipy.ndimage")
    edges = [m ^ image.binary_erosion(m) for m in (x, y)]
    if metric == "euclidean":
        far = image.distance_transform_edt(~edges[1])
    else:
        far = image.distance_transform_cdt(~edges[1], metric=metric)
    return far[edges[0]]


@pytest.mark.parametrize("metric", ["euclidean", "chessboard", "taxicab"])
@pytest.mark.parametrize("shape", [(40,), (25, 30), (9, 10, 11)])
def test_distances_of_surfaces(metric, shape):
    labels = [RNG.integers(0, 3, shape) for _ in range(2)]
    x, y = (np.where(RNG.random(shape) < 0.9, 2, a) for a in labels)
    there, back = surfaces(x == 2, y == 2, metric), surfaces(y == 2, x == 2, metric)
    args = (ms.Tensor(x), ms.Tensor(y), 2)
    assert train.HausdorffDistance(metric, directed=True)(*args) == pytest.approx(there.max())
    assert train.HausdorffDistance(metric)(*args) == pytest.approx(max(there.max(), back.max()))
    want = max(np.percentile(there, 95.0), np.percentile(back, 95.0))
    assert train.HausdorffDistance(metric, 95.0)(*args) == pytest.approx(want)
    means = there.mean(), back.mean()
    assert train.MeanSurfaceDistance(False, metric)(*args) == pytest.approx(means[0])
    assert train.MeanSurfaceDistance(True, metric)(*args) == pytest.approx(np.mean(means))
    squares = (there**2).mean(), (back**2).mean()
    assert train.RootMeanSquareDistance(False, metric)(*args) == pytest.approx(squares[0] ** 0.5)
    assert train.RootMeanSquareDistance(True, metric)(*args) == pytest.approx(
        np.mean(squares) ** 0.5)
    nothing = ms.Tensor(np.zeros(shape, np.int64))
    for m in (train.HausdorffDistance, train.MeanSurfaceDistance, train.RootMeanSquareDistance):
        assert m()(args[0], nothing, 2) == math.inf


# ---- names, places, refusals


def covered(image, place, margin, value):
    made = image.copy()
    made[tuple(slice(max(p - margin, 0), p + margin) for p in place)] = value
    return made


def test_occlusion_sensitivity():
    class Scores(ms.nn.Cell):
        def construct(self, x):
            total = (x * x * weight).sum((1, 2))
            return ms.ops.stack((total, -total), 1)

    weight = ms.Tensor(RNG.random((3, 4)), ms.float32)
    w, image = weight.asnumpy().astype(np.float64), RNG.random((3, 4))
    full = (image**2 * w).sum()
    want = np.array(
        [
            [full - (covered(image, (i, j), 1, 0.5) ** 2 * w).sum() for j in range(4)]
            for i in range(3)
        ]
    )
    metric = train.OcclusionSensitivity(0.5, 1, n_batch=5)
    got = metric(Scores(), image[None].astype(np.float32), 0)
    assert got == pytest.approx(want, abs=1e-5)
    part = train.OcclusionSensitivity(0.5, 1, b_box=[1, 2, 2, -1])
    part = part(Scores(), ms.Tensor(image[None], ms.float32), ms.Tensor(1))
    assert part == pytest.approx(-want[1:3, 2:], abs=1e-5)
    with pytest.raises(ValueError, match="first <= last"):
        train.OcclusionSensitivity(b_box=[0, 3, 0, 1])(Scores(), image[None], 0)
    with pytest.raises(ValueError, match="must be one image"):
        metric.update(Scores(), image, 0)
    with pytest.raises(ValueError, match="the label is 2"):
        metric.update(Scores(), image[None].astype(np.float32), 2)
    for options in ({"pad_val": False}, {"margin": True}, {"n_batch": 1.5}):
        with pytest.raises(TypeError, match=next(iter(options))):
            train.OcclusionSensitivity(**options)


def test_metrics_by_name():
    assert type(train.get_metric_fn("acc")) is train.Accuracy
    assert {"loss", "mae", "mse", "precision", "recall", "F1", "topk", "roc"} <= set(train.names())
    assert train.names() == sorted(train.names())
    assert set(train.get_metrics({"loss", "mae"})) == {"loss", "mae"}
    metrics = {"a": train.Accuracy()}
    assert train.get_metrics(metrics) is metrics and train.get_metrics(None) == {}
    with pytest.raises(TypeError, match="names to Metrics"):
        train.get_metrics({"a": 3})
    assert train.get_metric_fn("auc", np.array([0.0, 1.0]), np.array([1.0, 1.0])) == 1


def test_places_of_inputs():
    metric = train.MAE().set_indexes([2, 0])
    assert metric(ms.Tensor([1.0]), None, ms.Tensor([3.0])) == 2
    for bad in (0, [0.5], ["1"], [True]):
        with pytest.raises(ValueError, match="set_indexes"):
            metric.set_indexes(bad)


ALL = [train.Accuracy(), train.Precision(), train.F1(), train.TopKCategoricalAccuracy(2),
       train.MAE(), train.Loss(), train.Perplexity(), train.CosineSimilarity(), train.Dice(),
       train.ConfusionMatrix(3), train.ConfusionMatrixMetric(), train.ROC(), train.BleuScore(),
       train.HausdorffDistance(), train.MeanSurfaceDistance(), train.RootMeanSquareDistance()]


@pytest.mark.parametrize("metric", ALL, ids=lambda m: type(m).__name__)
def test_nothing_to_measure_and_wrong_numbers_of_inputs(metric):
    metric.clear()
    with pytest.raises(RuntimeError, match="no sample yet"):
        metric.eval()
    with pytest.raises(ValueError, match="takes . inputs?, but got 4"):
        metric.update(*[ms.Tensor([1])] * 4)


def test_bad_inputs_are_named():
    t = ms.Tensor
    for error, call, text in [
        (TypeError, lambda: train.Accuracy("text"), "eval_type is 'text'"),
        (ValueError, lambda: train.Accuracy()(t([[0.1, 0.9]]), t([2])), r"in \[0, 2\)"),
        (ValueError, lambda: train.Accuracy()(t([[0.1, 0.9]]), t([1, 1])), "must lack axis 1"),
        (ValueError, lambda: train.Recall("multilabel")(t([[3]]), t([[1]])), "0 or 1"),
        (ValueError, lambda: train.F1()(t([[0.1, 0.9]]), t([-1])), r"in \[0, 2\)"),
        (ValueError, lambda: train.TopKCategoricalAccuracy(0), "'k' must be at least 1"),
        (TypeError, lambda: train.TopKCategoricalAccuracy(1.5), "'k' must be an int"),
        (TypeError, lambda: train.MAE()("a", t([1])), "takes a Tensor, a list"),
        (ValueError, lambda: train.MSE()(t([1, 2]), t([1])), "their sizes"),
        (ValueError, lambda: train.Loss()(t([[1.0]])), "0 or 1 dimensions"),
        (ValueError, lambda: train.Dice()(t([1.0]), t([1, 0])), "must be the same"),
        (RuntimeError, lambda: train.Perplexity()(t([0.5, 0.5]), t([1, 1])), "one axis more"),
        (ValueError, lambda: train.Perplexity()(t([[0.5, 0.5]]), t([2])), r"in \[0, 2\)"),
        (ValueError, lambda: train.ConfusionMatrix(2)(t([0, 2]), t([0, 1])), r"in \[0, 2\)"),
        (ValueError, lambda: train.ConfusionMatrix(2)(t([0]), t([[[1]]])), "do not fit"),
        (NotImplementedError, lambda: train.ConfusionMatrixMetric(metric_name="x"), "legal: tpr"),
        (ValueError, lambda: train.ConfusionMatrixMetric(decrease="x"), "decrease is 'x'"),
        (ValueError, lambda: train.ROC(3)(t([[0.5, 0.5]]), t([1])), "class_num is 3"),
        (ValueError, lambda: train.ROC()(t([0.5, 0.1]), t([1, 1])), "no negative sample"),
        (TypeError, lambda: train.ROC(pos_label=1.5), "pos_label must be an int"),
        (TypeError, lambda: train.auc([0, 1], [0, 1]), "must be NumPy arrays"),
        (ValueError, lambda: train.auc(np.array([0, 2, 1]), np.arange(3)), "neither rises"),
        (ValueError, lambda: train.auc(np.array([0]), np.array([0])), "at least 2"),
        (ValueError, lambda: train.BleuScore(5), "n_gram is 5"),
        (ValueError, lambda: train.BleuScore()([["a"]], []), "1 candidates but 0"),
        (ValueError, lambda: train.HausdorffDistance("far"), "'far'"),
        (ValueError, lambda: train.HausdorffDistance(percentile=101.0), "'percentile'"),
        (ValueError, lambda: train.HausdorffDistance()(t([[1]]), t([[1]]), 3), "neither in the"),
        (ValueError, lambda: train.MeanSurfaceDistance()(t([[1]]), t([1]), 1), "must be the same"),
        (TypeError, lambda: train.MeanSurfaceDistance(1), "symmetric must be a bool"),
    ]:
        with pytest.raises(error, match=text):
            call()
