"""Gradients of cross_entropy and nll_loss with class weights, in all reductions, against finite
differences of the NumPy references in double."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference import REFERENCES

import diptych as ms
from diptych import ops

Array = NDArray[np.float64]
STEP = 1e-6


def differences(f: Callable[[Array], Array], x: Array) -> Array:
    """The gradient of sum(f(x)) by central differences."""
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = STEP
        g[i] = (f(x + d) - f(x - d)).sum() / (2 * STEP)
    return g


def targets(kind: str, ignore: bool) -> NDArray[Any]:
    rng = np.random.default_rng(5)
    if kind == "probabilities":
        q = rng.uniform(0.1, 1, (4, 3, 5))
        return q / q.sum(1, keepdims=True)
    labels = rng.integers(0, 3, (4, 5))
    labels[0, 1] = labels[2] = 7 if ignore else 1
    return labels


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
@pytest.mark.parametrize("kind", ["labels", "probabilities"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradients_with_class_weights(name: str, kind: str, reduction: str) -> None:
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(4, 3, 5)), rng.uniform(0.2, 2, 3)
    pull = rng.normal(size=(4, 5)) if reduction == "none" else np.float64(1.5)
    for smoothing, ignore in product([0.0, 0.3], [False, True]):
        y = targets(kind, ignore)
        rest = {"ignore_index": 7, "reduction": reduction, "label_smoothing": smoothing}

        def ours(x: ms.Tensor, w: ms.Tensor, y: Any = y, rest: Any = rest) -> ms.Tensor:
            loss = getattr(ops, name)(x, ms.Tensor(y), w, **rest)
            return ops.sum(loss * ms.Tensor(pull))

        def theirs(x: Array, w: Array, y: Any = y, rest: Any = rest) -> Array:
            return REFERENCES[name](x, y, w, **rest) * pull

        dx, dw = ms.grad(ours, (0, 1))(ms.Tensor(x), ms.Tensor(w))
        want = [differences(lambda v: theirs(v, w), x), differences(lambda v: theirs(x, v), w)]
        np.testing.assert_allclose(dx.asnumpy(), want[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(dw.asnumpy(), want[1], rtol=1e-6, atol=1e-8)


def test_ignored_positions_hide_infinities() -> None:
    """Nothing of an ignored position, or of a class without weight, reaches the weights."""
    x = ms.Tensor(np.array([[0.5, -np.inf, 0.25], [np.inf, 0, 0]], np.float32))
    w = ms.Tensor(np.ones(3, np.float32))
    y = ms.Tensor(np.array([0, -100], np.int32))
    g = ms.grad(lambda w: ops.cross_entropy(x, y, w, reduction="sum"))(w).asnumpy()
    np.testing.assert_allclose(g, [np.log(1 + np.exp(-0.25)), 0, 0], rtol=1e-6)


def test_class_weights_that_do_not_fit() -> None:
    x, y = ms.Tensor(np.zeros((2, 3), np.float32)), ms.Tensor([0, 1])
    with pytest.raises(TypeError, match="weight is float64, input float32"):
        ops.cross_entropy(x, y, ms.Tensor(np.ones(3)))
    with pytest.raises(ValueError, match="one number a class"):
        ops.cross_entropy(x, y, ms.Tensor(np.ones(2, np.float32)))
