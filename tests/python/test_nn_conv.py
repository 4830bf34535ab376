"""Convolution and pooling layers against loops in double: pad modes, groups, transposes, stored
shapes."""

import itertools

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(11)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def convolve(x, w, stride, dilation, pads, groups):
    """Any number of spatial axes; pads are (begin, end) of each."""
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    out, each = w.shape[:2]
    kernel = w.shape[2:]
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    y = np.zeros((x.shape[0], out, *sizes))
    for at in itertools.product(*map(range, sizes)):
        for k in itertools.product(*map(range, kernel)):
            place = [a * s + i * d for a, s, i, d in zip(at, stride, k, dilation, strict=True)]
            values = x[(slice(None), slice(None), *place)]
            for o in range(out):
                g = o // (out // groups)
                part = values[:, g * each : (g + 1) * each]
                y[(slice(None), o, *at)] += part @ w[(o, slice(None), *k)]
    return y


def transpose(x, w, stride, dilation, sizes, begin, groups):
    """Scatters every input place; ``sizes``: of the result, ``begin``: what is cut in front."""
    out = w.shape[1] * groups
    y = np.zeros((x.shape[0], out, *sizes))
    each_in, each_out = x.shape[1] // groups, w.shape[1]
    for at in itertools.product(*map(range, x.shape[2:])):
        for k in itertools.product(*map(range, w.shape[2:])):
            place = [
                a * s + i * d - b for a, s, i, d, b in zip(at, stride, k, dilation, begin,
                                                           strict=True)
            ]  # fmt: skip
            if all(0 <= p < n for p, n in zip(place, sizes, strict=True)):
                for g in range(groups):
                    part = x[(slice(None), slice(g * each_in, (g + 1) * each_in), *at)]
                    kernel = w[(slice(g * each_in, (g + 1) * each_in), slice(None), *k)]
                    where = slice(g * each_out, (g + 1) * each_out)
                    y[(slice(None), where, *place)] += part @ kernel
    return y


def parameters(net, value=None):
    return [p.asnumpy().astype(float) for p in net.trainable_params()]


def with_kernel(net, w):
    """The stored weight without the axis of size 1 that 1-D layers have."""
    return w[:, :, 0] if net._rank == 1 else w


@pytest.mark.parametrize(("net", "shape", "pads"), [
    (nn.Conv1d(4, 6, 3, group=2, has_bias=True), (2, 4, 7), [(1, 1)]),
    (nn.Conv1d(2, 3, 4, 2, "pad", (3, 1), 2, has_bias=True), (2, 2, 9), [(3, 1)]),
    (nn.Conv2d(4, 2, (3, 2), (2, 1), "pad", (1, 0, 2, 1), has_bias=True), (1, 4, 5, 6),
     [(1, 0), (2, 1)]),
    (nn.Conv2d(2, 2, 3, 2, has_bias=True), (1, 2, 6, 5), [(0, 1), (1, 1)]),
    (nn.Conv3d(2, 4, 2, 1, "valid", group=2, has_bias=True), (1, 2, 3, 4, 3), [(0, 0)] * 3),
    (nn.Conv3d(1, 2, 3, 2, has_bias=True), (1, 1, 4, 3, 5), [(0, 1), (1, 1), (1, 1)]),
], ids=lambda v: type(v).__name__ if isinstance(v, nn.Cell) else "")  # fmt: skip
def test_convolution(net, shape, pads):
    x = normal(*shape)
    w, b = parameters(net)
    want = convolve(x.astype(float), with_kernel(net, w), net.stride, net.dilation, pads, net.group)
    want += b.reshape(-1, *(1,) * net._rank)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("net", "shape", "sizes", "begin"), [
    (nn.Conv1dTranspose(4, 6, 4, 2, group=2, has_bias=True), (2, 4, 5), (10,), (1,)),
    (nn.Conv1dTranspose(2, 3, 2, 3, "valid", has_bias=True), (2, 2, 4), (12,), (0,)),
    (nn.Conv2dTranspose(3, 2, (3, 4), (1, 2), has_bias=True), (1, 3, 4, 3), (4, 6), (1, 1)),
    (nn.Conv2dTranspose(3, 2, 3, 2, "valid", has_bias=True), (1, 3, 3, 2), (7, 5), (0, 0)),
    (nn.Conv2dTranspose(2, 4, 3, 2, "pad", (1, 0, 2, 1), (1, 0), group=2, has_bias=True),
     (1, 2, 4, 3), (9, 4), (1, 2)),
    (nn.Conv2dTranspose(2, 2, 2, 3, dilation=2, has_bias=True), (1, 2, 3, 3), (9, 9), (0, 0)),
    (nn.Conv3dTranspose(2, 3, 3, 2, "pad", 1, output_padding=1, has_bias=True), (1, 2, 2, 3, 2),
     (4, 6, 4), (1, 1, 1)),
    (nn.Conv3dTranspose(1, 2, 3, 2, has_bias=True), (1, 1, 2, 2, 3), (4, 4, 6), (0, 0, 0)),
], ids=lambda v: type(v).__name__ if isinstance(v, nn.Cell) else "")  # fmt: skip
def test_transposed_convolution(net, shape, sizes, begin):
    x = normal(*shape)
    w, b = parameters(net)
    want = transpose(
        x.astype(float), with_kernel(net, w), net.stride, net.dilation, sizes, begin, net.group
    )
    want += b.reshape(-1, *(1,) * net._rank)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("net", "shape"), [
    (nn.Conv1d(4, 6, 3, group=2), (6, 2, 1, 3)),
    (nn.Conv2d(4, 6, (3, 5)), (6, 4, 3, 5)),
    (nn.Conv3d(4, 6, 2), (6, 4, 2, 2, 2)),
    (nn.Conv1dTranspose(4, 6, 3), (4, 6, 1, 3)),
    (nn.Conv2dTranspose(4, 6, 3, group=2), (4, 3, 3, 3)),
    (nn.Conv3dTranspose(4, 6, (1, 2, 3)), (4, 6, 1, 2, 3)),
])  # fmt: skip
def test_stored_weight(net, shape):
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("weight", shape)]
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    assert np.abs(net.weight.asnumpy()).max() <= bound * 1.000001


def test_conv1d_takes_kernels_of_three_axes():
    w = ms.Tensor(normal(6, 4, 3))
    net = nn.Conv1d(4, 6, 3, weight_init=w)
    np.testing.assert_array_equal(net.weight.asnumpy()[:, :, 0], w.asnumpy())


# ---- pooling


def windows(x, kernel, stride, pads, dilation, fill):
    x = np.pad(x.astype(float), ((0, 0), (0, 0), *pads), constant_values=fill)
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    y = np.zeros((*x.shape[:2], *sizes, int(np.prod(kernel))))
    for at in itertools.product(*map(range, sizes)):
        for j, k in enumerate(itertools.product(*map(range, kernel))):
            place = [a * s + i * d for a, s, i, d in zip(at, stride, k, dilation, strict=True)]
            y[(slice(None), slice(None), *at, j)] = x[(slice(None), slice(None), *place)]
    return y


@pytest.mark.parametrize(("net", "shape", "pads"), [
    (nn.MaxPool1d(3, 2), (2, 2, 8), [(0, 0)]),
    (nn.MaxPool2d((2, 3), (1, 2), "same"), (1, 2, 4, 5), [(0, 1), (1, 1)]),
    (nn.MaxPool2d(3, 1, "pad", 1, 2), (1, 2, 6, 5), [(1, 1), (1, 1)]),
    (nn.MaxPool3d(2, 2), (1, 2, 4, 4, 5), [(0, 0)] * 3),
], ids=lambda v: type(v).__name__ if isinstance(v, nn.Cell) else "")  # fmt: skip
def test_max_pool(net, shape, pads):
    x = normal(*shape)
    want = windows(x, net.kernel_size, net.stride, pads, net.dilation, -np.inf).max(-1)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(net(ms.Tensor(x[0])).asnumpy(), want[0], rtol=1e-6)


def test_max_pool_tells_where():
    x = normal(2, 3, 4, 6)
    values, places = nn.MaxPool2d(2, 2, return_indices=True)(ms.Tensor(x))
    got = np.take_along_axis(x.reshape(2, 3, -1), places.asnumpy().reshape(2, 3, -1), -1)
    np.testing.assert_array_equal(got, values.asnumpy().reshape(2, 3, -1))
    values, places = nn.MaxPool2d(2, 2, return_indices=True)(ms.Tensor(x[0]))
    assert values.shape == places.shape == (3, 2, 3)


@pytest.mark.parametrize(("net", "shape", "pads", "counted"), [
    (nn.AvgPool1d(3, 2), (2, 2, 8), [(0, 0)], True),
    (nn.AvgPool2d(2, 2), (1, 2, 4, 5), [(0, 0)] * 2, True),
    (nn.AvgPool2d(3, 1, "pad", 1), (1, 2, 4, 5), [(1, 1)] * 2, True),
    (nn.AvgPool2d(3, 1, "pad", 1, count_include_pad=False), (1, 2, 4, 5), [(1, 1)] * 2, False),
    (nn.AvgPool2d(3, 2, "same"), (1, 2, 6, 5), [(0, 1), (1, 1)], False),
    (nn.AvgPool3d(2, 1), (1, 2, 3, 4, 5), [(0, 0)] * 3, True),
], ids=lambda v: type(v).__name__ if isinstance(v, nn.Cell) else "")  # fmt: skip
def test_average_pool(net, shape, pads, counted):
    x = normal(*shape)
    ones = (1,) * net._rank
    parts = windows(x, net.kernel_size, net.stride, pads, ones, np.nan)
    want = np.nan_to_num(parts).mean(-1) if counted else np.nanmean(parts, -1)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_average_pool_with_another_divisor():
    x = normal(1, 2, 4, 4)
    got = nn.AvgPool2d(2, 2, divisor_override=3)(ms.Tensor(x)).asnumpy()
    want = x.reshape(1, 2, 2, 2, 2, 2).sum((3, 5)) / 3
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_power_average_pool():
    x = np.abs(normal(1, 2, 5, 4))
    got = nn.LPPool2d(3, 2)(ms.Tensor(x)).asnumpy()
    parts = windows(x, (2, 2), (2, 2), [(0, 0)] * 2, (1, 1), 0)
    np.testing.assert_allclose(got, (parts**3).sum(-1) ** (1 / 3), rtol=1e-5)
    got = nn.LPPool1d(2, 3, 1)(ms.Tensor(x[0])).asnumpy()
    parts = windows(x[0:1].reshape(2, 5, 4), (3,), (1,), [(0, 0)], (1,), 0)
    np.testing.assert_allclose(got, np.sqrt((parts**2).sum(-1)), rtol=1e-5)


def bins(n, m):
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


@pytest.mark.parametrize(
    ("net", "reduce"),
    [(nn.AdaptiveAvgPool2d((3, 2)), np.mean), (nn.AdaptiveMaxPool2d((3, 2)), np.max)],
)
def test_adaptive_pool(net, reduce):
    x = normal(2, 3, 7, 5)
    want = [[reduce(x[:, :, a:b, c:d], axis=(2, 3)) for c, d in bins(5, 2)] for a, b in bins(7, 3)]
    want = np.array(want).transpose(2, 3, 0, 1)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(net(ms.Tensor(x[0])).asnumpy(), want[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("net", "shape", "result"), [
    (nn.AdaptiveAvgPool1d(3), (2, 4, 9), (2, 4, 3)),
    (nn.AdaptiveMaxPool1d(3), (2, 4, 9), (2, 4, 3)),
    (nn.AdaptiveAvgPool3d((1, None, 2)), (2, 4, 3, 5, 6), (2, 4, 1, 5, 2)),
    (nn.AdaptiveMaxPool3d(2), (2, 4, 3, 5, 6), (2, 4, 2, 2, 2)),
])  # fmt: skip
def test_adaptive_sizes(net, shape, result):
    assert net(ops.ones(shape)).shape == result


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.Conv2d(3, 4, 0), ValueError, "'kernel_size' must be 1 or more"),
    (lambda: nn.Conv2d(3, 4, (3, 3, 3)), ValueError, "'kernel_size' must be an int or 2 ints"),
    (lambda: nn.Conv2d(3, 4, 1.5), TypeError, "'kernel_size' must be an int or 2 ints"),
    (lambda: nn.Conv2d(3, 4, 3, padding=1), ValueError, "'padding' must be 0 when 'pad_mode' is"),
    (lambda: nn.Conv2d(3, 4, 3, pad_mode="full"), ValueError, "'pad_mode' must be one of 'same'"),
    (lambda: nn.Conv2d(3, 4, 3, group=2), ValueError, "'group' must divide"),
    (lambda: nn.Conv2d(3, 4, 3, data_format="NHWC"), ValueError, "'data_format' 'NHWC' is not"),
    (lambda: nn.Conv2d(3, 4, 3)(ops.ones((1, 2, 4, 4))), ValueError, "channels"),
    (lambda: nn.Conv1d(3, 4, 3)(ops.ones((3, 4))), ValueError, "must have 3 axes"),
    (lambda: nn.Conv2dTranspose(3, 4, 3, output_padding=1), ValueError, "'output_padding' must be"),
    (lambda: nn.MaxPool2d(0), ValueError, "'kernel_size' must be 1 or more"),
    (lambda: nn.MaxPool2d(2, pad_mode="full"), ValueError, "'pad_mode' must be one of 'valid'"),
    (lambda: nn.AvgPool2d(2, padding=1), ValueError, "'padding' must be 0 when"),
    (lambda: nn.AvgPool2d(2, divisor_override=0), ValueError, "'divisor_override' must be a pos"),
    (lambda: nn.AdaptiveAvgPool2d(0), ValueError, "'output_size' must be a positive int"),
    (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), ValueError, "'output_size' must be an int or 2"),
    (lambda: nn.LPPool1d(0, 2), ValueError, "'norm_type' must be positive"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
