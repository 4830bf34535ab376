"""First and second gradients where a rule could go wrong: products with zeros, lgamma, running
logsumexp. First ones against finite differences of NumPy functions, second ones against finite
differences of the first."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import diptych as ms
from diptych import Tensor, ops

Array = NDArray[np.float64]
INF = math.inf
X = np.array([[1.5, 0.0, -2.0, 0.5], [0.0, 3.0, 0.0, -1.0], [2.0, -0.5, 1.0, 0.25]])


def exclusive(x: Array, axis: int) -> Array:
    """Running products without the element itself."""
    ones = np.ones_like(np.take(x, [0], axis))
    before = np.concatenate([ones, np.take(x, range(x.shape[axis] - 1), axis)], axis)
    return np.cumprod(before, axis)


CASES: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Array], Any]]] = {
    "prod": (ops.prod, np.prod),
    "prod of a line": (lambda x: ops.prod(x[0]), lambda x: np.prod(x[0])),
    "prod along 0": (lambda x: ops.prod(x, 0), lambda x: np.prod(x, 0)),
    "prod along 1": (lambda x: ops.prod(x, (-1,), True), lambda x: np.prod(x, 1, keepdims=True)),
    "prod of a cube": (lambda x: ops.prod(x.reshape((3, 2, 2)), (0, 2)),
                       lambda x: np.prod(x.reshape(3, 2, 2), (0, 2))),
    "prod of a number": (lambda x: ops.prod(x[0, 1]), lambda x: x[0, 1]),
    "cumprod 0": (lambda x: ops.cumprod(x, 0), lambda x: np.cumprod(x, 0)),
    "cumprod 1": (lambda x: ops.cumprod(x, 1), lambda x: np.cumprod(x, 1)),
    "cumprod exclusive": (lambda x: ms._core.op_table["cumprod"](x, 1, True),
                          lambda x: exclusive(x, 1)),
    "cumprod reverse": (lambda x: ms._core.op_table["cumprod"](x, 0, False, True),
                        lambda x: np.cumprod(x[::-1], 0)[::-1]),
    "cumprod exclusive reverse": (lambda x: ms._core.op_table["cumprod"](x, -1, True, True),
                                  lambda x: exclusive(x[:, ::-1], 1)[:, ::-1]),
    "lgamma": (lambda x: ops.lgamma(x + 2.25), lambda x: np.vectorize(math.lgamma)(x + 2.25)),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 1),
                     lambda x: np.log(np.cumsum(np.exp(x), 1))),
    "logcumsumexp 0": (lambda x: ops.logcumsumexp(x, 0), lambda x: np.log(np.cumsum(np.exp(x), 0))),
}  # fmt: skip


def differences(f: Callable[[Array], Array], x: Array) -> Array:
    """The gradient of a scalar function by central differences."""
    g, step = np.zeros_like(x), 1e-6
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = step
        g[i] = (f(x + d) - f(x - d)) / (2 * step)
    return g


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    ours, theirs = CASES[name]
    rng = np.random.default_rng(2)
    pull, push = rng.normal(size=np.shape(theirs(X))), rng.normal(size=X.shape)

    def loss(x: Tensor) -> Tensor:
        return ops.sum(ours(x) * Tensor(pull))

    def slope(x: Tensor) -> Tensor:
        return ops.sum(ms.grad(loss)(x) * Tensor(push))

    first = ms.grad(loss)(Tensor(X)).asnumpy()
    want = differences(lambda x: (theirs(x) * pull).sum(), X)
    np.testing.assert_allclose(first, want, rtol=1e-6, atol=1e-7)
    second = ms.grad(slope)(Tensor(X)).asnumpy()
    want = differences(lambda x: (ms.grad(loss)(Tensor(x)).asnumpy() * push).sum(), X)
    np.testing.assert_allclose(second, want, rtol=1e-6, atol=1e-7)


def test_third_derivative_of_a_product_at_zeros() -> None:
    """Of x y z at 0: 1 for the three together."""

    def at(f: Callable[[Tensor], Tensor], i: int) -> Callable[[Tensor], Tensor]:
        return lambda x: ms.grad(f)(x)[i]

    assert at(at(at(ops.prod, 0), 1), 2)(ops.zeros((3,))).item() == 1


def test_product_gradient_does_not_overflow() -> None:
    x = Tensor(np.array([1e30, 1e30, 1e-30, 1e-30], np.float32))
    got = ms.grad(ops.prod)(x).asnumpy()
    np.testing.assert_allclose(got, [1e-30, 1e-30, 1e30, 1e30], rtol=1e-6)


def logcumsumexp_slope(*x: float) -> list[float]:
    values = Tensor(np.array(x, np.float32))
    return ms.grad(lambda x: ops.sum(ops.logcumsumexp(x, 0)))(values).asnumpy().tolist()


def test_logcumsumexp_of_minus_infinities() -> None:
    """Nothing adds up to nothing: no slope; and before a number they have none either."""
    assert logcumsumexp_slope(-INF, -INF) == [0, 0]
    assert logcumsumexp_slope(-INF, 2.0, -INF) == [0, 2, 0]


def test_logcumsumexp_of_a_wide_range() -> None:
    assert logcumsumexp_slope(0.0, 1000.0) == [1, 1]
    assert logcumsumexp_slope(1000.0, -1000.0) == [2, 0]


@pytest.mark.parametrize("f", [lambda x: ops.prod(x, 0), lambda x: ops.cumprod(x, 0)])
def test_empty_products(f: Callable[[Tensor], Tensor]) -> None:
    for shape in ((0, 2), (2, 0), (1, 2)):
        x = ops.zeros(shape)
        assert ms.grad(lambda x: ops.sum(f(x)))(x).shape == shape
