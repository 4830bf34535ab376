"""Pictures read between pixels, and CTC's labels and loss, against NumPy, in both modes."""

import doctest
import importlib

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, ops

RNG = np.random.default_rng(17)
MODES = ["eager", "graph"]


def run(mode, f, *args):
    return (f if mode == "eager" else ms.jit(f))(*args)


# ---- crop_and_resize


def crop(image, boxes, which, size, method, outside):
    """One result pixel at a time."""
    _, h, w, c = image.shape
    out = np.full((len(boxes), *size, c), outside)
    for n, i, j in np.ndindex(len(boxes), *size):
        at = []
        for k, (count, most) in enumerate(zip(size, (h - 1, w - 1), strict=True)):
            low, high = boxes[n, k] * most, boxes[n, k + 2] * most
            at.append(low + (i, j)[k] * (high - low) / (count - 1) if count > 1 else
                      (low + high) / 2)  # fmt: skip
        y, x = at
        if not (0 <= y <= h - 1 and 0 <= x <= w - 1):
            continue
        picture = image[which[n]]
        if method == "nearest":
            out[n, i, j] = picture[int(y + 0.5), int(x + 0.5)]
            continue
        y0, x0 = int(y), int(x)
        y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
        top = picture[y0, x0] * (1 - x + x0) + picture[y0, x1] * (x - x0)
        low = picture[y1, x0] * (1 - x + x0) + picture[y1, x1] * (x - x0)
        out[n, i, j] = top * (1 - y + y0) + low * (y - y0)
    return out


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(5, 3), (1, 4)])
def test_crops(mode, method, size):
    image = RNG.normal(size=(2, 6, 7, 3)).astype(np.float32)
    boxes = np.array([[0.11, 0.23, 0.91, 0.72], [0.93, 1, 0.34, 0], [-0.22, 0.51, 1.3, 0.67]])
    boxes, which = boxes.astype(np.float32), np.array([1, 0, 1], np.int32)

    def f(image, boxes, which):
        return ops.CropAndResize(method, 0.5)(image, boxes, which, size)

    got = run(mode, f, Tensor(image), Tensor(boxes), Tensor(which)).asnumpy()
    want = crop(image.astype(float), boxes.astype(float), which, size, method, 0.5)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


def test_crops_of_integers_are_floats():
    image = Tensor(np.arange(12, dtype=np.int8).reshape(1, 3, 4, 1))
    got = ops.crop_and_resize(image, Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([0]), (3, 4))
    assert got.dtype == ms.float32
    np.testing.assert_array_equal(got.asnumpy()[0], image.asnumpy()[0])


# ---- deformable convolution


def read(plane, y, x):
    """Between four pixels, those outside being 0."""
    total = 0.0
    for i in (int(np.floor(y)), int(np.floor(y)) + 1):
        for j in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= i < plane.shape[0] and 0 <= j < plane.shape[1]:
                total += plane[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def deformed(x, weight, offsets, stride, pads, dilation, groups, parts):
    """One result pixel at a time; the channels in ``parts`` with offsets of their own."""
    n, c, _, _ = x.shape
    out, _, kh, kw = weight.shape
    oh, ow = offsets.shape[2:]
    moves = offsets.reshape(n, 3, parts, kh, kw, oh, ow)
    made = np.zeros((n, out, oh, ow))
    for b, o, i, j in np.ndindex(made.shape):
        first = o // (out // groups) * (c // groups)
        for k, u, v in np.ndindex(c // groups, kh, kw):
            channel = first + k
            right, down, mask = moves[b, :, channel // (c // parts), u, v, i, j]
            y = i * stride[0] - pads[0] + u * dilation[0] + down
            across = j * stride[1] - pads[2] + v * dilation[1] + right
            made[b, o, i, j] += weight[o, k, u, v] * mask * read(x[b, channel], y, across)
    return made


DEFORMED = [
    ((1, 1), (0, 0, 0, 0), (1, 1), 1, 1, (4, 5)),
    ((2, 1), (1, 0, 2, 1), (1, 2), 2, 1, (3, 7)),
    ((1, 3), (1, 1, 0, 0), (2, 1), 1, 2, (5, 2)),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("stride", "pads", "dilation", "groups", "parts", "size"), DEFORMED)
def test_deformable_convolution(mode, stride, pads, dilation, groups, parts, size):
    x, weight = RNG.normal(size=(2, 4, 5, 6)), RNG.normal(size=(4, 4 // groups, 2, 2))
    offsets = RNG.normal(size=(2, 3 * parts * 4, *size))
    bias = RNG.normal(size=4)

    def f(x, weight, offsets, bias):
        return ops.deformable_conv2d(x, weight, offsets, (2, 2), (1, 1, *stride), pads, bias,
                                     (1, 1, *dilation), groups, parts)  # fmt: skip

    got = run(mode, f, *map(Tensor, (x, weight, offsets, bias))).asnumpy()
    want = deformed(x, weight, offsets, stride, pads, dilation, groups, parts)
    np.testing.assert_allclose(got, want + bias[:, None, None], rtol=1e-6, atol=1e-6)


def test_slopes_of_deformable_convolution():
    given = [RNG.normal(size=s) for s in ((1, 1, 4, 4), (2, 1, 2, 2), (1, 12, 3, 3))]

    def f(x, weight, offsets):
        made = ops.deformable_conv2d(x, weight, offsets, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0))
        return (made * made).sum()

    slopes = ms.grad(f, (0, 1, 2))(*map(Tensor, given))
    for k, slope in enumerate(slopes):
        for i in list(np.ndindex(given[k].shape))[::5]:
            ends = []
            for step in (1e-6, -1e-6):
                moved = [g.copy() for g in given]
                moved[k][i] += step
                ends.append(float(f(*map(Tensor, moved))))
            want = (ends[0] - ends[1]) / 2e-6
            np.testing.assert_allclose(slope.asnumpy()[i], want, rtol=1e-4, atol=1e-5)


# ---- ctc


def likeliest(scores, lengths, merge):
    """Labels of each sample by Graves's rule."""
    found = []
    for n, length in enumerate(lengths):
        best = scores[:length, n].argmax(-1)
        runs = [b for t, b in enumerate(best) if not (merge and t and b == best[t - 1])]
        found.append([int(b) for b in runs if b != scores.shape[2] - 1])
    return found


@pytest.mark.parametrize("merge", [True, False])
def test_greedy_labels(merge):
    scores = RNG.normal(size=(9, 4, 3))
    lengths = np.array([9, 4, 0, 7], np.int32)
    decoder = ops.CTCGreedyDecoder(merge)
    places, labels, sizes, cost = decoder(Tensor(scores), Tensor(lengths))
    want = likeliest(scores, lengths, merge)
    assert labels.tolist() == [v for row in want for v in row]
    assert places.tolist() == [[n, k] for n, row in enumerate(want) for k in range(len(row))]
    assert sizes.tolist() == [4, max(map(len, want))]
    sums = [[-scores[:length, n].max(-1).sum()] for n, length in enumerate(lengths)]
    np.testing.assert_allclose(cost.asnumpy(), sums, rtol=1e-12, atol=1e-12)


def test_no_labels_at_all():
    places, labels, sizes, _ = ops.ctc_greedy_decoder(ops.zeros((2, 1, 1)), Tensor([2]))
    assert places.shape == (0, 2) and labels.tolist() == [] and sizes.tolist() == [1, 0]


@pytest.mark.parametrize("mode", MODES)
def test_ctc_loss_of_scattered_labels(mode):
    scores = RNG.normal(size=(6, 2, 4))
    places, labels = Tensor([[0, 0], [0, 1], [1, 0]]), Tensor([2, 2, 0])
    lengths = Tensor([6, 4])
    loss, slope = run(mode, ops.CTCLoss(), Tensor(scores), places, labels, lengths)
    logs = ops.log_softmax(Tensor(scores))
    rows = Tensor([[2, 2], [0, 0]])
    want, _ = ops.ctc_loss(logs, rows, (6, 4), (2, 1), blank=3, reduction="none")
    np.testing.assert_allclose(loss.asnumpy(), want.asnumpy(), rtol=1e-12)
    for i in list(np.ndindex(scores.shape))[::7]:
        ends = []
        for step in (1e-6, -1e-6):
            moved = scores.copy()
            moved[i] += step
            ends.append(ops.CTCLoss()(Tensor(moved), places, labels, lengths)[0].sum().item())
        np.testing.assert_allclose(slope.asnumpy()[i], (ends[0] - ends[1]) / 2e-6, atol=1e-7)


def test_input_slope_of_convolution():
    weight, g = RNG.normal(size=(4, 3, 2, 3)), RNG.normal(size=(2, 4, 4, 3))
    x = Tensor(RNG.normal(size=(2, 3, 8, 6)))
    step = ops.Conv2DBackpropInput(4, (2, 3), "same", stride=2)
    made = step(Tensor(g), Tensor(weight), x.shape)

    def f(x):
        return (ops.conv2d(x, Tensor(weight), stride=2, pad_mode="same") * Tensor(g)).sum()

    np.testing.assert_allclose(made.asnumpy(), ms.grad(f)(x).asnumpy(), rtol=1e-6, atol=1e-6)


REFUSED = [
    (lambda: ops.crop_and_resize(ops.ones((2, 2)), ops.ones((1, 4)), Tensor([0]), (1, 1)),
     ValueError, "image has shape"),
    (lambda: ops.crop_and_resize(ops.ones((1, 2, 2, 1)), ops.ones((1, 4)), Tensor([0, 0]), (1, 1)),
     ValueError, "box_indices has shape"),
    (lambda: ops.crop_and_resize(ops.ones((1, 2, 2, 1)), ops.ones((1, 4)), Tensor([0]), (0, 1)),
     ValueError, "crop_size is"),
    (lambda: ops.crop_and_resize(ops.ones((1, 2, 2, 1)), ops.ones((1, 4)), Tensor([0]), (1, 1),
                                 "cubic"), ValueError, "method is 'cubic'"),
    (lambda: ops.crop_and_resize(ops.ones((1, 2, 2, 1)), ops.ones((1, 4)), Tensor([3]), (1, 1)),
     IndexError, "gather"),
    (lambda: ops.deformable_conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2)),
                                   ops.ones((1, 12, 3, 2)), (2, 2), (1, 1, 1, 1), (0, 0, 0, 0)),
     ValueError, r"offsets has shape \(1, 12, 3, 2\); it must be \(1, 12, 2, 2\)"),
    (lambda: ops.deformable_conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2)),
                                   ops.ones((1, 12, 2, 2)), (2, 2), (2, 1, 1, 1), (0, 0, 0, 0)),
     ValueError, "strides is"),
    (lambda: ops.deformable_conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2)),
                                   ops.ones((1, 12, 2, 2)), (2, 3), (1, 1, 1, 1), (0, 0, 0, 0)),
     ValueError, "weight has shape"),
    (lambda: ops.ctc_greedy_decoder(ops.ones((2, 1, 3)), Tensor([3])), RuntimeError,
     "should be less than"),
    (lambda: ops.ctc_greedy_decoder(ops.ones((2, 1, 3)), Tensor([1, 1])), ValueError, "and .N,."),
    (lambda: ops.CTCLoss(True)(ops.ones((2, 1, 3)), Tensor([[0, 0]]), Tensor([1]), Tensor([2])),
     ValueError, "preprocess_collapse_repeated is True"),
    (lambda: ops.CTCLoss()(ops.ones((2, 1, 3)), Tensor([[0]]), Tensor([1]), Tensor([2])),
     ValueError, r"\(n, 2\)"),
    (lambda: ops.Conv2DBackpropInput(1, 1, mode=0)(ops.ones((1, 1, 1, 1)), ops.ones((1, 1, 1, 1)),
                                                  (1, 1, 1, 1)), ValueError, "mode is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("module", ["ctc", "detect", "sampling", "place"])
def test_examples(module):
    failed, _ = doctest.testmod(importlib.import_module(f"diptych.ops.{module}"))
    assert not failed
