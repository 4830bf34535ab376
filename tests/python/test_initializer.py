"""Initial values: their distributions, shapes and refusals."""

import numpy as np
import pytest

import diptych as ms
from diptych.common import initializer as init


def draw(how, *shape, dtype=None):
    ms.set_seed(5)
    return ms.initializer(how, shape, dtype).asnumpy().astype(float)


@pytest.mark.parametrize(("how", "low", "high", "mean", "sigma"), [
    (init.Zero(), 0, 0, 0, 0), (init.One(), 1, 1, 1, 0), (init.Constant(2.5), 2.5, 2.5, 2.5, 0),
    (init.Uniform(0.3), -0.3, 0.3, 0, 0.3 / 3**0.5),
    (init.Normal(0.2, 1.0), -1, 3, 1, 0.2),
    (init.TruncatedNormal(0.5, 1.0), 0, 2, 1, 0.5 * 0.8796),
    (init.TruncatedNormal(1.0, 0.0, 0.0, 1.0), 0, 1, 0.4598, 0.2831),
    (init.XavierUniform(2.0), -2 * 0.1, 2 * 0.1, 0, 2 * (2 / 600) ** 0.5),
    (init.XavierNormal(), -0.3, 0.3, 0, (2 / 600) ** 0.5),
    (init.HeUniform(), -(6 / 400) ** 0.5, (6 / 400) ** 0.5, 0, (2 / 400) ** 0.5),
    (init.HeNormal(mode="fan_out", nonlinearity="relu"), -0.6, 0.6, 0, (2 / 200) ** 0.5),
    (init.HeNormal(1.0), -0.3, 0.3, 0, (1 / 400) ** 0.5),
    (init.VarianceScaling(2.0), -0.2, 0.2, 0, (2 / 400) ** 0.5),
    (init.VarianceScaling(1.0, "fan_out", "untruncated_normal"), -0.4, 0.4, 0, (1 / 200) ** 0.5),
    (init.VarianceScaling(1.0, "fan_avg", "uniform"), -0.1, 0.1, 0, (1 / 300) ** 0.5),
], ids=lambda v: type(v).__name__ if isinstance(v, init.Initializer) else "")  # fmt: skip
def test_spread(how, low, high, mean, sigma):
    w = draw(how, 200, 400)
    assert low - 1e-6 <= w.min() and w.max() <= high + 1e-6
    np.testing.assert_allclose(w.mean(), mean, atol=4 * sigma / 280 + 1e-7)
    np.testing.assert_allclose(w.std(), sigma, rtol=0.02, atol=1e-7)


def test_fans_of_kernels():
    w = draw("he_uniform", 8, 16, 5, 5)
    assert np.abs(w).max() <= (6 / 400) ** 0.5 and np.abs(w).max() > 0.95 * (6 / 400) ** 0.5


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (6, 2, 3), (3, 2, 3, 3)])
def test_orthogonal(shape):
    w = draw(init.Orthogonal(1.5), *shape).reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 1.5**2 * np.eye(len(product)), atol=1e-5)


def test_identity():
    np.testing.assert_array_equal(draw("Identity", 3, 5), np.eye(3, 5))


@pytest.mark.parametrize("kernel", [(3,), (4, 3), (3, 2, 5)])
def test_dirac_hands_channels_through(kernel):
    w = draw(init.Dirac(2), 6, 2, *kernel)
    want = np.zeros_like(w)
    middle = tuple(k // 2 for k in kernel)
    for out, channel in ((0, 0), (1, 1), (3, 0), (4, 1)):
        want[(out, channel, *middle)] = 1
    np.testing.assert_array_equal(w, want)


def test_sparse_zeroes_a_part_of_each_column():
    w = draw(init.Sparse(0.3, 2.0), 50, 40)
    np.testing.assert_array_equal((w == 0).sum(0), 15)
    np.testing.assert_allclose(w[w != 0].std(), 2.0, rtol=0.05)
    assert len({tuple(c) for c in (w == 0).T}) > 30  # columns differ


def test_half_precision_truncated_normal_is_drawn_finely():
    w = draw(init.TruncatedNormal(1.0), 300, 300, dtype=ms.float16)
    assert len(np.unique(w)) > 5000 and np.abs(w).max() <= 2


def test_tensors_are_taken_as_they_are():
    t = ms.Tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(ms.initializer(t, (1, 2)).asnumpy(), t.asnumpy())
    assert ms.initializer(t, dtype=ms.float16).dtype == ms.float16


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: ms.initializer("gauss", (2, 2)), ValueError, "no initialiser is called 'gauss'"),
    (lambda: ms.initializer([1], (2, 2)), TypeError, "got list"),
    (lambda: ms.initializer(ms.ops.ones((2, 3)), (3, 2)), ValueError, r"it must be \(3, 2\)"),
    (lambda: ms.initializer("identity", (2, 2, 2)), ValueError, "must have 2 axes"),
    (lambda: ms.initializer("orthogonal", (2,)), ValueError, "at least 2 axes"),
    (lambda: ms.initializer("dirac", (2, 2)), ValueError, "must have 3 or 4 or 5 axes"),
    (lambda: ms.initializer(init.Dirac(4), (6, 2, 3)), ValueError, "must divide the first size 6"),
    (lambda: init.Sparse(1.5), ValueError, r"must be in \[0, 1\]"),
    (lambda: init.VarianceScaling(0), ValueError, "scale is 0"),
    (lambda: init.VarianceScaling(mode="fan"), ValueError, "mode is 'fan'"),
    (lambda: init.VarianceScaling(distribution="normal"), ValueError, "distribution is 'normal'"),
    (lambda: init.HeNormal(mode="fan_avg"), ValueError, "mode is 'fan_avg'"),
    (lambda: init.HeNormal(nonlinearity="swish"), ValueError, "nonlinearity is 'swish'"),
    (lambda: init.TruncatedNormal(a=1, b=1), ValueError, "a must be below b"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
