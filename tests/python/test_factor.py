"""Cholesky factors and triangular systems against NumPy, slopes against finite differences."""

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, ops

RNG = np.random.default_rng(23)


def definite(*shape):
    x = RNG.normal(size=shape)
    return x @ x.swapaxes(-1, -2) + 0.1 * np.eye(shape[-1])


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (3, 2, 4, 4), (70, 70), (0, 3, 3), (2, 0, 0)])
def test_factors(mode, shape):
    a = definite(*shape)
    half = np.tril(a) + 7 * np.triu(np.ones(shape), 1)  # the upper half is not read
    for upper in (False, True):
        f = ops.Cholesky(upper)
        got = (f if mode == "eager" else ms.jit(lambda x, f=f: f(x)))(Tensor(half)).asnumpy()
        want = np.linalg.cholesky(a)
        np.testing.assert_allclose(got, want.swapaxes(-1, -2) if upper else want, atol=1e-11)


def test_single_precision_is_rounded_once():
    a = definite(20, 20).astype(np.float32)
    got = ops.cholesky(Tensor(a)).asnumpy()
    assert got.dtype == np.float32
    want = np.linalg.cholesky(a.astype(float)).astype(np.float32)
    np.testing.assert_array_max_ulp(got[np.tril_indices(20)], want[np.tril_indices(20)], 1)


def test_what_is_not_definite_is_nan():
    a = np.stack([np.eye(3), np.diag([1.0, -1, 1]), np.zeros((3, 3))])
    got = ops.cholesky(Tensor(a)).asnumpy()
    np.testing.assert_array_equal(got[0], np.eye(3))
    assert np.isnan(got[1:]).all()


@pytest.mark.parametrize("upper", [False, True])
def test_inverse_from_a_factor(upper):
    a = definite(5, 5)
    factor = np.linalg.cholesky(a)
    got = ops.CholeskyInverse(upper)(Tensor(factor.T.copy() if upper else factor))
    np.testing.assert_allclose(got.asnumpy(), np.linalg.inv(a), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(trans, lower, unit):
    a, b = RNG.normal(size=(2, 6, 6)) + 3 * np.eye(6), RNG.normal(size=(2, 6, 3))
    half = np.tril(a) if lower else np.triu(a)
    if unit:
        half = half * (1 - np.eye(6)) + np.eye(6)
    want = np.linalg.solve(half.swapaxes(1, 2) if trans else half, b)
    got = ops.SolveTriangular(trans, lower, unit)(Tensor(a), Tensor(b)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def slopes(f, x, step=1e-6):
    """Of a sum of results, one element of x after the other."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = step
        out[i] = (f(Tensor(x + d)).item() - f(Tensor(x - d)).item()) / (2 * step)
    return out


@pytest.mark.parametrize("upper", [False, True])
def test_slope_of_cholesky(upper):
    a, weights = definite(2, 4, 4), Tensor(RNG.normal(size=(2, 4, 4)))

    def f(x):
        both = (x + x.swapaxes(1, 2)) / 2  # a change keeps the matrix symmetric
        return (ops.cholesky(both, upper) * weights).sum()

    got = ms.grad(f)(Tensor(a)).asnumpy()
    np.testing.assert_allclose(got, slopes(f, a), rtol=1e-5, atol=1e-6)
    second = ms.grad(lambda x: (ms.grad(f)(x) * weights).sum())(Tensor(a)).asnumpy()
    want = slopes(lambda x: (ms.grad(f)(x) * weights).sum(), a)
    np.testing.assert_allclose(second, want, rtol=1e-4, atol=1e-4)


def test_gaussian_likelihood_in_a_graph():
    """-log N(x; 0, a) by a factor: slope a^-1 / 2 - (a^-1 x)(a^-1 x)^T / 2."""
    a, x = definite(4, 4), RNG.normal(size=(4, 1))

    @ms.jit
    def loss(a):
        factor = ops.cholesky(a)
        z = ops.solve_triangular(factor, Tensor(x), lower=True)
        return (z * z).sum() / 2 + ops.log(ops.diagonal(factor)).sum()

    inverse = np.linalg.inv(a)
    want = inverse / 2 - inverse @ x @ x.T @ inverse / 2
    np.testing.assert_allclose(ms.grad(loss)(Tensor(a)).asnumpy(), want, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: ops.cholesky(ops.ones((2, 3))), r"input_x is float32.2, 3.; it must be square"),
    (lambda: ops.cholesky(ops.ones(3)), "must be square"),
    (lambda: ops.solve_triangular(ops.ones((2, 2)), ops.ones(2)), "they must be"),
    (lambda: ops.solve_triangular(ops.ones((1, 2, 2)), ops.ones((2, 2, 1))), "they must be"),
    (lambda: ops.cholesky_inverse(ops.ones((1, 2, 2))), "must have 2 axes"),
])  # fmt: skip
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
