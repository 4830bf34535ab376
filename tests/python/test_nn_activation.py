"""Activation layers against NumPy in double, their settings and their names."""

import math

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

X = np.random.default_rng(2).uniform(-4, 4, (3, 4, 2, 6))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(0, x)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def lrn(x, radius, bias, alpha, beta):
    sums = np.zeros_like(x)
    for c in range(x.shape[1]):
        near = x[:, max(0, c - radius) : c + radius + 1]
        sums[:, c] = (near**2).sum(1)
    return x / (bias + alpha * sums) ** beta


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
CASES = {
    nn.ReLU: ((), lambda x: np.maximum(x, 0)),
    nn.ReLU6: ((), lambda x: np.clip(x, 0, 6)),
    nn.Sigmoid: ((), sigmoid),
    nn.Tanh: ((), np.tanh),
    nn.SiLU: ((), lambda x: x * sigmoid(x)),
    nn.Mish: ((), lambda x: x * np.tanh(softplus(x))),
    nn.HSigmoid: ((), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    nn.HSwish: ((), lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    nn.LogSigmoid: ((), lambda x: -softplus(-x)),
    nn.SeLU: ((), lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0)))),
    nn.Softsign: ((), lambda x: x / (1 + np.abs(x))),
    nn.Softplus: ((), softplus),
    nn.Tanhshrink: ((), lambda x: x - np.tanh(x)),
    nn.ELU: ((0.5,), lambda x: np.where(x > 0, x, 0.5 * np.expm1(np.minimum(x, 0)))),
    nn.CELU: ((2.0,), lambda x: np.where(x > 0, x, 2 * np.expm1(np.minimum(x, 0) / 2))),
    nn.LeakyReLU: ((), lambda x: np.where(x > 0, x, 0.2 * x)),
    nn.HShrink: ((), lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    nn.SoftShrink: ((), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    nn.Hardtanh: ((-2.0, 1.0), lambda x: np.clip(x, -2, 1)),
    nn.Threshold: ((0.5, -1.5), lambda x: np.where(x > 0.5, x, -1.5)),
    nn.Softmax: ((1,), lambda x: softmax(x, 1)),
    nn.LogSoftmax: ((), lambda x: np.log(softmax(x, -1))),
    nn.Softmin: ((), lambda x: softmax(-x, -1)),
    nn.Softmax2d: ((), lambda x: softmax(x, 1)),
    nn.GLU: ((1,), lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    nn.FastGelu: ((), lambda x: x * sigmoid(1.702 * x)),
    nn.GELU: ((False,), lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))),
    nn.LRN: ((1, 1.5, 0.7, 0.6), lambda x: lrn(x, 1, 1.5, 0.7, 0.6)),
    nn.PReLU: ((4, [0.1, 0.2, 0.3, 0.4]), lambda x: np.where(
        x > 0, x, x * np.array([0.1, 0.2, 0.3, 0.4])[:, None, None])),
}  # fmt: skip


@pytest.mark.parametrize("layer", CASES, ids=lambda c: c.__name__)
def test_value(layer):
    settings, reference = CASES[layer]
    got = layer(*settings)(ms.Tensor(X, ms.float32)).asnumpy()
    np.testing.assert_allclose(got, reference(X), rtol=2e-5, atol=2e-6)


def test_random_slopes_of_rrelu():
    x = ms.Tensor(-np.ones((50, 50)), ms.float32)
    slopes = -nn.RReLU()(x).asnumpy()
    assert 1 / 8 <= slopes.min() and slopes.max() <= 1 / 3
    np.testing.assert_allclose(slopes.mean(), (1 / 8 + 1 / 3) / 2, atol=0.01)
    np.testing.assert_array_equal(nn.RReLU()(-x).asnumpy(), 1)
    np.testing.assert_allclose(ms.grad(nn.RReLU(0.25, 0.25))(x).asnumpy(), 0.25)


def test_prelu_learns_a_slope_for_each_channel():
    net = nn.PReLU(4)
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("a", (4,))]
    x = ms.Tensor(X, ms.float32)
    got = ms.grad(lambda x: net(x).sum(), None, net.trainable_params())(x)[0]
    np.testing.assert_allclose(got.asnumpy(), np.minimum(X, 0).sum((0, 2, 3)), rtol=1e-5)
    with pytest.raises(ValueError, match="4 channels"):
        net(ops.ones((2, 3)))


@pytest.mark.parametrize(("name", "cls"), [
    ("relu", nn.ReLU), ("LeakyReLU", nn.LeakyReLU), ("fast_gelu", nn.FastGelu),
    ("gelu", nn.GELU), ("logsoftmax", nn.LogSoftmax), ("prelu", nn.PReLU), ("hswish", nn.HSwish),
])  # fmt: skip
def test_by_name(name, cls):
    assert type(nn.get_activation(name)) is cls


def test_by_name_passes_functions_and_refuses_unknown_names():
    assert nn.get_activation(None) is None and nn.get_activation(ops.relu) is ops.relu
    with pytest.raises(ValueError, match="'swosh'; names: celu, elu"):
        nn.get_activation("swosh")


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.ELU("1"), TypeError, "'alpha' must be a number"),
    (lambda: nn.ReLU(1), TypeError, "takes 0"),
    (lambda: nn.ELU(beta=1), TypeError, "no further setting 'beta'"),
    (lambda: nn.get_activation(2), TypeError, "must be a name, a Cell or a function, but got 2"),
    (lambda: nn.Threshold("a", 1), TypeError, "'threshold' must be a number"),
    (lambda: nn.PReLU(0), ValueError, "'channel' must be a positive int"),
    (lambda: nn.GLU()(ops.ones((2, 3))), ValueError, "even size"),
    (lambda: nn.Softmax2d()(ops.ones((2, 3))), ValueError, "3 or 4 axes"),
    (lambda: nn.RReLU(0.5, 0.1), ValueError, "'lower' must not be above"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
