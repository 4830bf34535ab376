"""Cells of mathematics, Jacobian products, layers over time, and unpooling, against NumPy."""

import math

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(31)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_functions():
    x = np.abs(normal(3, 4)) + 0.5
    t = ms.Tensor(x)
    np.testing.assert_allclose(
        nn.ReduceLogSumExp(1, True)(t).asnumpy(), np.log(np.exp(x).sum(1, keepdims=True)), rtol=1e-5
    )
    np.testing.assert_allclose(float(nn.ReduceLogSumExp(())(t)), np.log(np.exp(x).sum()), rtol=1e-5)
    lgamma = np.vectorize(math.lgamma)
    np.testing.assert_allclose(nn.LGamma()(t).asnumpy(), lgamma(x), rtol=1e-4, atol=1e-6)
    x = x.astype(float)
    slope = (lgamma(x + 1e-5) - lgamma(x - 1e-5)) / 2e-5
    np.testing.assert_allclose(nn.DiGamma()(t).asnumpy(), slope, rtol=1e-3, atol=1e-4)
    want = lgamma(x) + lgamma(x + 1) - lgamma(2 * x + 1)
    np.testing.assert_allclose(nn.LBeta()(t, t + 1).asnumpy(), want, rtol=1e-4, atol=1e-5)
    mean, variance = nn.Moments((0, 1), True)(t)
    np.testing.assert_allclose(mean.asnumpy(), x.mean(keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), x.var(keepdims=True), rtol=1e-4)
    assert nn.Range(4)().tolist() == [0, 1, 2, 3] and nn.Range(5, 0, -2)().tolist() == [5, 3, 1]


def test_jacobian_products():
    w, x, v, u = normal(4, 3), normal(3), normal(3), normal(4)
    fn = nn.Dense(3, 4, weight_init=ms.Tensor(w), has_bias=False, activation="tanh")
    y = np.tanh(w @ x)
    jacobian = (1 - y**2)[:, None] * w
    value, slope = nn.Jvp(fn)(ms.Tensor(x), ms.Tensor(v))
    np.testing.assert_allclose(value.asnumpy(), y, rtol=1e-5)
    np.testing.assert_allclose(slope.asnumpy(), jacobian @ v, rtol=1e-4, atol=1e-6)
    slope = nn.Vjp(fn)(ms.Tensor(x), ms.Tensor(u))[1]
    np.testing.assert_allclose(slope.asnumpy(), u @ jacobian, rtol=1e-4, atol=1e-6)


def test_jacobian_products_of_several():
    x, y, v, u = (ms.Tensor(normal(3)) for _ in range(4))
    (a, b), (da, db) = nn.Jvp(lambda x, y: (x * y, 2 * x))(x, y, (v, u))
    np.testing.assert_allclose(da.asnumpy(), (v * y + u * x).asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(db.asnumpy(), (2 * v).asnumpy())
    out, (dx, dy) = nn.Vjp(lambda x, y: (x * y, 2 * x))(x, y, (v, u))
    np.testing.assert_allclose(dx.asnumpy(), (v * y + 2 * u).asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(dy.asnumpy(), (v * x).asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("reshape", [None, 0, 2])
def test_time_distributed(reshape):
    x = normal(2, 5, 3, 4)
    cell = nn.Dense(4, 2)
    got = nn.TimeDistributed(cell, 1, reshape)(ms.Tensor(x))
    np.testing.assert_allclose(got.asnumpy(), cell(ms.Tensor(x)).asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("pool", "unpool", "shape", "size"), [
    (nn.MaxPool1d(2, 2, return_indices=True), nn.MaxUnpool1d(2), (2, 3, 7), (7,)),
    (nn.MaxPool2d(3, 2, "pad", 1, return_indices=True), nn.MaxUnpool2d(3, 2, 1), (2, 3, 5, 6),
     (2, 3, 5, 6)),
    (nn.MaxPool3d(2, 2, return_indices=True), nn.MaxUnpool3d(2), (1, 2, 4, 4, 6), None),
])  # fmt: skip
def test_unpooling_puts_the_largest_back(pool, unpool, shape, size):
    x = normal(*shape)
    values, places = pool(ms.Tensor(x))
    got = unpool(values, places, size).asnumpy()
    want = np.zeros((*shape[:2], int(np.prod(shape[2:]))), np.float32)
    flat = places.asnumpy().reshape(*shape[:2], -1)
    np.put_along_axis(want, flat, values.asnumpy().reshape(flat.shape), -1)
    np.testing.assert_array_equal(got, want.reshape(shape))
    assert (got[got != 0] == x[got != 0]).all()


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.Range(1, 2, 0), ValueError, "'delta' must not be 0"),
    (lambda: nn.ReduceLogSumExp(0, 1), TypeError, "'keep_dims' must be a bool"),
    (lambda: nn.Jvp(nn.ReLU())(ops.ones(2), (ops.ones(2),)), TypeError, "'v' must be a Tensor"),
    (lambda: nn.Vjp(nn.ReLU())(ops.ones(2), ops.ones(3)), TypeError, "'v' must be like the output"),
    (lambda: nn.Jvp(3), TypeError, "'fn' must be a Cell"),
    (lambda: nn.TimeDistributed(3, 1), TypeError, "'layer' must be a Cell"),
    (lambda: nn.TimeDistributed(nn.ReLU(), 1)(ops.ones((2, 3))), ValueError, "at least 3 axes"),
    (lambda: nn.TimeDistributed(nn.ReLU(), 0, 2)(ops.ones((2, 3, 4))), ValueError, "next to"),
    (lambda: nn.MaxUnpool2d(2)(ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 2, 2), ms.int32), (9, 9)),
     ValueError, "'output_size' must be nearer"),
    (lambda: nn.MaxUnpool2d(0), ValueError, "'kernel_size' must be 1 or more"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
