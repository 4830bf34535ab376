"""Kinds of error that users of other frameworks reported: values, types and shapes of ops."""

from __future__ import annotations

import numpy as np
import pytest
from reports import both, f32, i32, outcome

import diptych as ms
from diptych import nn, ops

# Augmented assignment through repeated indices (pytorch#174074, #138908).


def test_augmented_assignment_through_repeated_indices() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        i = ms.Tensor([0, 0], ms.int32)
        x[i] += x[i]
        return x

    assert both(f, f32([[1.0, 2.0]])).asnumpy().tolist() == [[2.0, 4.0]]


# Python scalars in type promotion (pytorch#74400).


def test_scalars_beside_tensors() -> None:
    i = ms.Tensor([1, 2], ms.int64)
    h = ms.Tensor([1, 2], ms.float16)
    table = [
        (lambda: i * 2.0, ms.float32),
        (lambda: i * 2, ms.int64),
        (lambda: h * 2.5, ms.float16),
        (lambda: h + True, ms.float16),
        (lambda: i / 2, ms.float32),
        (lambda: i * ms.Tensor(2.0, ms.float64), ms.float64),
    ]
    for fn, want in table:
        assert both(fn).dtype == want


# Integer floor division and remainder (tinygrad#10321).


def test_integer_division() -> None:
    a = i32([110, -7, 7, -7, 2**31 - 1])
    b = i32([55, 2, -2, -2, 3])
    q, r = both(lambda a, b: (a // b, a % b), a, b)
    assert q.asnumpy().tolist() == [2, -4, -4, 3, 715827882]
    assert r.asnumpy().tolist() == [0, 1, -1, -1, 1]
    big = ms.Tensor([2**53 + 1], ms.int64)
    assert both(lambda x: x // 1, big).asnumpy()[0] == 2**53 + 1
    for dtype in (ms.int8, ms.int32, ms.int64, ms.uint8):
        zero = ms.Tensor([0, 1], dtype)
        low = ms.Tensor([-128 if dtype != ms.uint8 else 3, 1], dtype)
        outcome(lambda low=low, zero=zero: both(lambda a, b: (a // b, a % b), low, zero))


# A batch of size zero (pytorch#38115).

EMPTY = [
    (lambda: nn.Conv2d(3, 4, 3), (0, 3, 8, 8), (0, 4, 8, 8)),
    (lambda: nn.MaxPool2d(2, 2), (0, 3, 8, 8), (0, 3, 4, 4)),
    (lambda: nn.AvgPool2d(2, 2), (0, 3, 8, 8), (0, 3, 4, 4)),
    (lambda: nn.Dense(5, 2), (0, 5), (0, 2)),
    (lambda: nn.BatchNorm2d(3), (0, 3, 4, 4), (0, 3, 4, 4)),
    (lambda: nn.LayerNorm((5,)), (0, 5), (0, 5)),
    (lambda: nn.Dropout(p=0.5), (0, 5), (0, 5)),
    (lambda: nn.Softmax(), (0, 5), (0, 5)),
]


@pytest.mark.parametrize(("make", "given", "wanted"), EMPTY)
def test_layers_of_an_empty_batch(make, given, wanted) -> None:
    layer = make()
    x = f32(np.zeros(given))
    assert both(lambda x: layer(x), x).shape == wanted
    weights = layer.trainable_params()
    grad = ms.grad(lambda x: layer(x).sum(), 0, weights) if weights else None
    if grad is not None:
        gx, gw = grad(x)
        assert gx.shape == given and all((g.asnumpy() == 0).all() for g in gw)


def test_reductions_of_nothing() -> None:
    e = f32(np.zeros((0, 3)))
    assert both(lambda e: e.sum(0), e).asnumpy().tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(float(both(lambda e: e.mean(), e)))
    with pytest.raises(ValueError, match="max"):
        both(lambda e: e.max(), e)
    ones = f32(np.ones((1, 3)))
    assert both(lambda e, ones: ops.concat((e, e[:0], ones)), e, ones).shape == (1, 3)


# max, min and argmax with NaN (pytorch#25016, #130295; mindspore#275).


@pytest.mark.parametrize("n", [1, 3, 7, 8, 9, 16, 17, 33])
def test_nan_wins_for_every_order_and_position(n: int) -> None:
    a, b = f32(np.ones(n)), f32(np.full(n, np.nan))
    for u, v in ((a, b), (b, a)):
        assert np.isnan(both(ops.maximum, u, v).asnumpy()).all()
        assert np.isnan(both(ops.minimum, u, v).asnumpy()).all()
    for place in range(n):
        w = np.arange(n, dtype=np.float32)
        w[place] = np.nan
        high, low, at, lowest = both(
            lambda t: (t.max(), t.min(), t.argmax(), t.argmin()), ms.Tensor(w)
        )
        assert np.isnan(float(high)) and np.isnan(float(low))
        assert int(at) == int(lowest) == place


# Precision of sums and of normalisation (pytorch#19164, #51102).


def test_long_sums() -> None:
    ones = ops.ones((100_000_000,), ms.float32)
    assert float(ones.sum()) == float(ms.jit(lambda t: t.sum())(ones)) == 1e8
    assert float(ones.mean()) == 1.0
    del ones
    v = f32(np.full((7, 100, 1000), 0.1))
    assert abs(float(both(lambda t: t.sum(), v)) / 70000 - 1) < 1e-6
    assert abs(float(both(lambda t: t.sum(0).sum(0).sum(), v)) / 70000 - 1) < 1e-6


@pytest.mark.parametrize("mean", [0, 100, 2000, 10000])
def test_normalisation_far_from_zero(mean: float) -> None:
    a = f32(np.random.RandomState(0).randn(5, 64) + mean)
    weight, bias = f32(np.ones(64)), f32(np.zeros(64))
    y = both(lambda t: ops.layer_norm(t, (64,), weight, bias), a)
    y = y[0].asnumpy() if isinstance(y, tuple | list) else y.asnumpy()
    assert abs(y.mean(1)).max() < 2e-2 and abs(y.var(1) - 1).max() < 2e-2
    assert (both(lambda t: t.var(axis=1), a).asnumpy() >= 0).all()


# Dilation, groups, odd strides (oneDNN#438, fujitsu/oneDNN#43).


def plain_conv(x, w, stride, pad, dilation, group):
    """A convolution by its definition, in double precision."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    oc, each, kh, kw = w.shape
    oh = (x.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (x.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((x.shape[0], oc, oh, ow))
    for o in range(oc):
        first = o // (oc // group) * each
        for i in range(kh):
            for j in range(kw):
                top, left = i * dilation[0], j * dilation[1]
                part = x[:, first : first + each, top:, left:]
                part = part[:, :, :: stride[0], :: stride[1]][:, :, :oh, :ow]
                y[:, o] += np.einsum("nchw,c->nhw", part, w[o, :, i, j].astype(np.float64))
    return y


CONVS = [
    (channels, size, kernel, stride, pad, dilation)
    for channels in ((1, 1, 1), (4, 8, 2), (17, 17, 17), (64, 8, 1))
    for size in ((8, 8), (5, 9), (3, 16))
    for kernel in ((1, 4), (3, 3))
    for stride in ((1, 1), (2, 3))
    for pad in ((0, 0), (1, 2))
    for dilation in ((1, 1), (2, 1))
]


@pytest.mark.parametrize("group", range(4))
def test_convolutions_of_every_shape(group: int) -> None:
    """Values by the definition; both gradients by its linearity: <conv(u, w), g> = <u, dx>."""
    rng = np.random.RandomState(group)
    quarter = len(CONVS) // 4
    for (ic, oc, g), size, kernel, stride, pad, dilation in CONVS[group * quarter :][:quarter]:
        span = [dilation[k] * (kernel[k] - 1) + 1 for k in (0, 1)]
        x, u = rng.randn(2, 2, ic, *size).astype(np.float32)
        w, v = rng.randn(2, oc, ic // g, *kernel).astype(np.float32)

        def conv(x, w, stride=stride, pad=pad, dilation=dilation, g=g):
            return ops.conv2d(x, w, None, stride, "pad", pad, dilation, g)

        if any(size[k] + 2 * pad[k] < span[k] for k in (0, 1)):
            with pytest.raises(ValueError, match="conv2d"):
                both(conv, f32(x), f32(w))
            continue
        y = both(conv, f32(x), f32(w)).asnumpy()
        np.testing.assert_allclose(y, plain_conv(x, w, stride, pad, dilation, g), atol=2e-4)
        c = rng.randn(*y.shape).astype(np.float32)
        dx, dw = both(
            ms.grad(lambda x, w, c, conv=conv: (conv(x, w) * c).sum(), (0, 1)),
            f32(x),
            f32(w),
            f32(c),
        )
        by_x = (plain_conv(u, w, stride, pad, dilation, g) * c).sum()
        by_w = (plain_conv(x, v, stride, pad, dilation, g) * c).sum()
        np.testing.assert_allclose((u * dx.asnumpy()).sum(), by_x, rtol=1e-3, atol=1e-2)
        np.testing.assert_allclose((v * dw.asnumpy()).sum(), by_w, rtol=1e-3, atol=1e-2)


# Average pooling with ceil_mode (pytorch#183528, onnxruntime#16203).


def test_average_pooling_with_ceil_mode() -> None:
    x = f32([[[[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8], [9, 7, 9, 3]]]])
    wanted = {
        True: [2, 23 / 9, 7 / 6, 38 / 9, 52 / 9, 17 / 6, 8 / 3, 19 / 6, 3 / 4],
        False: [4.5, 23 / 6, 3.5, 19 / 3, 52 / 9, 17 / 3, 8, 19 / 3, 3],
    }
    for include, values in wanted.items():
        y = both(
            lambda x, include=include: ops.avg_pool2d(
                x, 3, 2, padding=1, ceil_mode=True, count_include_pad=include
            ),
            x,
        )
        np.testing.assert_allclose(y.asnumpy().ravel(), values, rtol=1e-6)


# Resize to one pixel and corner alignment (pytorch#183523, #79361; onnx#4276).


def test_resize_to_one_pixel() -> None:
    x = f32(np.arange(16).reshape(1, 1, 4, 4))

    def resize(size, aligned):
        return lambda x: ops.interpolate(x, size=size, mode="bilinear", align_corners=aligned)

    assert float(both(resize((1, 1), False), x)) == 7.5
    assert float(both(resize((1, 1), True), x)) == 0.0
    y = both(resize((7, 7), True), x).asnumpy()[0, 0]
    np.testing.assert_allclose([y[0, 0], y[-1, -1]], [0.0, 15.0], atol=1e-6)
    g = both(ms.grad(lambda x: (resize((3, 6), False)(x) ** 2).sum()), x).asnumpy()
    d = np.zeros_like(g)
    for k in range(16):
        step = np.zeros(16, np.float32)
        step[k] = 0.5
        up, down = (f32(x.asnumpy() + s * step.reshape(x.shape)) for s in (1, -1))
        f = lambda x: float((resize((3, 6), False)(x) ** 2).sum())  # noqa: E731
        d.ravel()[k] = f(up) - f(down)
    np.testing.assert_allclose(g, d, rtol=1e-3, atol=1e-2)


# LSTM with sequences of different length (mxnet#19323).


def test_a_padded_sequence_equals_the_sequence_alone() -> None:
    rng = np.random.RandomState(0)
    lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    x = rng.randn(1, 5, 3)
    alone, (h1, c1) = lstm(f32(x))
    for pad in (1, 4, 20):
        padded = np.concatenate([x, np.full((1, pad, 3), 7.0)], 1)
        batch = f32(np.concatenate([padded, rng.randn(1, 5 + pad, 3)]))
        sizes = i32([5, 5 + pad])
        y, (h, c) = both(lambda t, n: lstm(t, seq_length=n), batch, sizes)
        np.testing.assert_allclose(y[0, :5].asnumpy(), alone[0].asnumpy(), rtol=1e-5, atol=1e-6)
        assert (y[0, 5:].asnumpy() == 0).all()
        for got, wanted in ((h, h1), (c, c1)):
            np.testing.assert_allclose(
                got[:, 0].asnumpy(), wanted[:, 0].asnumpy(), rtol=1e-5, atol=1e-6
            )
    sizes = i32([5, 5])
    g = both(ms.grad(lambda t: lstm(t, seq_length=sizes)[0].sum()), batch[:, :9].copy())
    assert (g.asnumpy()[:, 5:] == 0).all() and (g.asnumpy()[:, :5] != 0).any()


# A view and its base after an in-place change (pytorch#191449, #94773).


def test_changes_in_place_stay_where_they_are() -> None:
    def f(x: ms.Tensor) -> tuple:
        base = x + 1
        flat = base.reshape(-1)
        flat = ops.concat([flat, flat])
        head = base[:]
        base[0] = 40.0
        return base + 1, flat, head

    base, flat, head = both(f, f32([0.0, 1.0]))
    assert base.asnumpy().tolist() == [41.0, 3.0]
    assert flat.asnumpy().tolist() == [1.0, 2.0, 1.0, 2.0]
    assert head.asnumpy().tolist() == [1.0, 2.0]
    x = f32([1.0, 2.0, 3.0])
    a = x.asnumpy()
    x[1] = 9.0
    assert a.tolist() == [1.0, 2.0, 3.0]
    source = np.ones(3, np.float32)
    t = ms.Tensor(source)
    source[0] = 5.0
    assert float(t[0]) == 1.0
    both(lambda x: (x.T, x.swapaxes(0, 1), x[:, ::-1], x.copy()), f32(np.arange(6).reshape(2, 3)))


# 32-bit products inside an operator (pytorch#25747, maskrcnn-benchmark#796).


def test_counts_and_positions_beyond_32_bits() -> None:
    v = i32([50000, 65535, 0, 60001])
    c = ops.bincount(v, minlength=65536).asnumpy()
    assert c.sum() == 4 and c[[0, 50000, 60001, 65535]].tolist() == [1] * 4
    h = both(lambda v: ops.histc(v.astype(ms.float32), bins=65536, min=0.0, max=65536.0), v)
    assert float(h.sum()) == 4.0
    i = i32([70000])
    assert int(both(lambda i: i.astype(ms.int64) * i.astype(ms.int64), i)) == 4900000000
    assert int(both(lambda i: i * i, i)) == 4900000000 - 2**32
    r = ops.arange(0, 2**31 + 4, 2**30)
    assert r.dtype == ms.int64 and int(r[-1]) == 2**31
    shape, error = outcome(lambda s: ops.broadcast_to(s, (70000, 70000)).shape, f32([[0.0]]))
    assert shape == (70000, 70000) or isinstance(error, MemoryError) or shape == [70000, 70000]
