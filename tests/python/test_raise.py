"""jit_level O1: formulas that are written out run as one op."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, nn, ops


def draw(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def gelu_erf(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + ops.erf(x / math.sqrt(2)))


def gelu_tanh(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x: Tensor) -> Tensor:
    e = ops.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: Tensor) -> Tensor:
    z = x - ops.amax(x, -1, keepdims=True)
    return z - ops.log(ops.exp(z).sum(-1, keepdims=True))


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    centered = x - x.mean(-1, keep_dims=True)
    return weight * (centered * ops.rsqrt((centered**2).mean(-1, keep_dims=True) + 1e-5)) + bias


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = ops.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1]) + mask
    return ops.matmul(softmax(scores), v)


def cross_entropy(x: Tensor, labels: Tensor) -> Tensor:
    return ops.nll_loss(log_softmax(x), labels)


def dense_labels(x: Tensor, labels: Tensor) -> Tensor:
    hot = ops.one_hot(labels, x.shape[1], Tensor(1.0), Tensor(0.0))
    return -(hot * log_softmax(x)).sum(-1).mean()


LABELS = Tensor(np.array([1, 0, 7, 3], np.int32))
QKV = [draw(2, 3, 5, 8, seed=i) for i in range(3)]
FORMULAS: list[tuple[Callable[..., Tensor], list[Tensor], str, int]] = [
    (gelu_erf, [draw(4, 8)], "gelu_erf", 1),
    (gelu_tanh, [draw(4, 8)], "gelu_tanh", 1),
    (softmax, [draw(4, 8)], "softmax", 1),
    (log_softmax, [draw(4, 8)], "log_softmax", 1),
    (layer_norm, [draw(4, 8), draw(8, seed=1), draw(8, seed=2)], "layer_norm", 1),
    (attention, [*QKV, draw(5, 5)], "flash_attention", 1),
    (cross_entropy, [draw(4, 8), LABELS], "cross_entropy", 1),
    (dense_labels, [draw(4, 8), LABELS], "cross_entropy", 1),
]


def calls_of(f: Any) -> list[str]:
    (versions,) = f._own.versions.values()
    return versions[0].latest.staged.graph.plan_calls()


@pytest.mark.parametrize(("formula", "inputs", "op", "steps"), FORMULAS)
def test_a_formula_runs_as_one_op(
    formula: Callable[..., Tensor], inputs: list[Tensor], op: str, steps: int
) -> None:
    exact, close = ms.jit(formula), ms.jit(formula, jit_level="O1")
    expected = formula(*inputs)
    assert exact(*inputs).tolist() == expected.tolist()
    np.testing.assert_allclose(close(*inputs).asnumpy(), expected.asnumpy(), rtol=3e-6, atol=1e-6)
    calls = calls_of(close)
    assert op in calls and len(calls) == steps, calls
    assert len(calls_of(exact)) > steps


def test_labels_out_of_range_are_still_refused() -> None:
    f = ms.jit(dense_labels, jit_level="O1")
    for bad in (8, -100):
        labels = Tensor(np.array([1, 0, bad, 3], np.int32))
        with pytest.raises((IndexError, ValueError)):
            dense_labels(draw(4, 8), labels)
        with pytest.raises((IndexError, ValueError)):
            f(draw(4, 8), labels)


def test_a_training_step_keeps_the_steps_that_its_gradient_reads() -> None:
    net = nn.Dense(8, 8)
    step = ms.jit(ms.value_and_grad(lambda x: gelu_erf(net(x)).sum(), None, net.trainable_params()))
    close = ms.jit(
        ms.value_and_grad(lambda x: gelu_erf(net(x)).sum(), None, net.trainable_params()),
        jit_level="O1",
    )
    x = draw(4, 8)
    for one, two in zip(step(x)[1], close(x)[1], strict=True):
        np.testing.assert_allclose(two.asnumpy(), one.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_context_sets_the_level_of_what_has_none_of_its_own() -> None:
    x = draw(4, 8)
    try:
        ms.set_context(jit_level="O1")
        follows, own = ms.jit(softmax), ms.jit(softmax, jit_level="O0")
        follows(x), own(x)
        with pytest.warns(UserWarning, match="O1"):
            ms.set_context(jit_level="O2")
        assert ms.get_context("jit_level") == "O1"
    finally:
        ms.set_context(jit_level="O0")
    assert calls_of(follows) == ["softmax"] and len(calls_of(own)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.set_context(jit_level="O0")
