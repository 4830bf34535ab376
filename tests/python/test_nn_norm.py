"""Normalisation layers against NumPy in double: statistics, parameters, modes, refusals."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(13)


def normal(*shape):
    return (RNG.standard_normal(shape) * 3 + 1).astype(np.float32)


def centered(x, axes, eps):
    x = x.astype(float)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def per_channel(v, x):
    return v.reshape(-1, *(1,) * (x.ndim - 2))


def with_affine(net):
    """Gives gamma and beta values of their own; returns them."""
    gamma, beta = normal(*net.gamma.shape), normal(*net.beta.shape)
    net.gamma.set_data(ms.Tensor(gamma))
    net.beta.set_data(ms.Tensor(beta))
    return gamma, beta


@pytest.mark.parametrize(("layer", "shape"), [
    (nn.BatchNorm1d, (6, 3)), (nn.BatchNorm1d, (6, 3, 4)), (nn.BatchNorm2d, (4, 3, 2, 5)),
    (nn.BatchNorm3d, (4, 3, 2, 2, 3))])  # fmt: skip
def test_batch_norm_in_both_modes(layer, shape):
    net = layer(3, eps=1e-3, momentum=0.7)
    gamma, beta = with_affine(net)
    x = normal(*shape)
    axes = (0, *range(2, x.ndim))
    net.set_train()
    want = centered(x, axes, 1e-3) * per_channel(gamma, x) + per_channel(beta, x)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)
    mean, var = 0.3 * x.mean(axes), 0.7 + 0.3 * x.astype(float).var(axes, ddof=1)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), var, rtol=1e-4)
    net.set_train(False)
    want = (x - per_channel(mean, x)) / np.sqrt(per_channel(var, x) + 1e-3)
    want = want * per_channel(gamma, x) + per_channel(beta, x)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_batch_statistics_can_be_fixed():
    x = ms.Tensor(normal(5, 3))
    by_batch = nn.BatchNorm1d(3, use_batch_statistics=True)
    np.testing.assert_allclose(by_batch(x).asnumpy().mean(0), 0, atol=1e-5)
    by_moving = nn.BatchNorm1d(3, use_batch_statistics=False).set_train()
    np.testing.assert_allclose(by_moving(x).asnumpy(), x.asnumpy() / np.sqrt(1 + 1e-5), rtol=1e-5)


def test_names_alone_and_within_a_network():
    net = nn.BatchNorm2d(3)
    assert [p.name for p in net.get_parameters()] == ["mean", "variance", "gamma", "beta"]
    names = [p.name for p in nn.SequentialCell(net).get_parameters()]
    assert names == ["0.moving_mean", "0.moving_variance", "0.gamma", "0.beta"]
    frozen = nn.BatchNorm2d(3, affine=False)
    assert not frozen.trainable_params() and frozen.gamma.shape == (3,)


@pytest.mark.parametrize(("layer", "shape"), [
    (nn.InstanceNorm1d, (4, 3, 5)), (nn.InstanceNorm2d, (4, 3, 2, 5)),
    (nn.InstanceNorm3d, (4, 3, 2, 2, 3))])  # fmt: skip
def test_instance_norm(layer, shape):
    net = layer(3)
    gamma, beta = with_affine(net)
    x = normal(*shape)
    axes = tuple(range(2, x.ndim))
    want = centered(x, axes, 1e-5) * per_channel(gamma, x) + per_channel(beta, x)
    for training in (False, True):
        net.set_train(training)
        np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)
    mean = 0.9 * x.mean(axes).mean(0)
    var = 0.1 + 0.9 * x.astype(float).var(axes, ddof=1).mean(0)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), var, rtol=1e-4)
    assert [p.name for p in net.trainable_params()] == ["gamma", "beta"]


def test_layer_norm_over_several_axes():
    net = nn.LayerNorm((4, 5), begin_norm_axis=1, begin_params_axis=1, epsilon=1e-4)
    gamma, beta = with_affine(net)
    x = normal(3, 4, 5)
    want = centered(x, (1, 2), 1e-4) * gamma + beta
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_layer_norm_with_parameters_of_fewer_axes_than_it_normalises():
    net = nn.LayerNorm((5,), begin_norm_axis=1)
    gamma, beta = with_affine(net)
    x = normal(3, 4, 5)
    want = centered(x, (1, 2), 1e-7) * gamma + beta
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_group_norm():
    net = nn.GroupNorm(2, 6)
    gamma, beta = with_affine(net)
    x = normal(2, 6, 3, 4)
    want = centered(x.reshape(2, 2, 3, 3, 4), (2, 3, 4), 1e-5).reshape(x.shape)
    want = want * per_channel(gamma, x) + per_channel(beta, x)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-4)


def test_rms_norm():
    net = nn.RMSNorm((4, 5), epsilon=1e-3)
    weight = normal(4, 5)
    net.weight.set_data(ms.Tensor(weight))
    x = normal(3, 4, 5)
    scale = np.sqrt((x.astype(float) ** 2).mean((1, 2), keepdims=True) + 1e-3)
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), x / scale * weight, rtol=1e-4)


def test_gradient_of_batch_norm_in_training():
    """Against central differences of the formula, for the input and both parameters."""
    x, weights = normal(4, 2, 3).astype(float), normal(4, 2, 3).astype(float)
    net = nn.BatchNorm1d(2).set_train()
    gamma, beta = (v.astype(float) for v in with_affine(net))

    def loss(x, gamma, beta):
        y = centered(x, (0, 2), 1e-5) * gamma[:, None] + beta[:, None]
        return (y * weights).sum()

    def scalar(x):
        return (net(x) * ms.Tensor(weights, ms.float32)).sum()

    dx, dp = ms.grad(scalar, 0, net.trainable_params())(ms.Tensor(x, ms.float32))
    for at, got in enumerate([dx, *dp]):
        values = [x, gamma, beta]
        want = np.zeros_like(values[at])
        for i in np.ndindex(*want.shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [v.copy() for v in values]
                moved[at][i] += step
                ends.append(loss(*moved))
            want[i] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.BatchNorm2d(0), ValueError, "'num_features' must be a positive int"),
    (lambda: nn.BatchNorm2d(3.0), TypeError, "'num_features' must be a positive int"),
    (lambda: nn.BatchNorm2d(3, momentum=1.1), ValueError, r"'momentum' must be in \[0, 1\]"),
    (lambda: nn.BatchNorm2d(3, data_format="NHWC"), ValueError, "'data_format' 'NHWC' is not"),
    (lambda: nn.BatchNorm2d(3)(ops.ones((2, 3))), ValueError, "must have 4 axes"),
    (lambda: nn.BatchNorm2d(3, gamma_init=ops.ones(2)), ValueError, r"it must be \(3,\)"),
    (lambda: nn.InstanceNorm2d(3)(ops.ones((2, 3))), ValueError, "must have 4 axes"),
    (lambda: nn.InstanceNorm2d(3, affine=1), TypeError, "'affine' must be a bool"),
    (lambda: nn.GroupNorm(2, 3), ValueError, "'num_groups' must divide"),
    (lambda: nn.LayerNorm(3), TypeError, "'normalized_shape' must be"),
    (lambda: nn.LayerNorm((3,), epsilon="a"), TypeError, "'epsilon' must be a number"),
    (lambda: nn.RMSNorm("a"), TypeError, "'normalized_shape' must be"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
