"""Optimisers against their formulas in double, and the two ways of stepping against each other."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

STEPS = 4


def start() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((3, 4))


def gradients() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal((3, 4)) for _ in range(STEPS)]


def run(make) -> np.ndarray:
    p = ms.Parameter(ms.Tensor(start().astype(np.float32)), name="w")
    optimizer = make([p])
    for g in gradients():
        optimizer((ms.Tensor(g.astype(np.float32)),))
    return p.asnumpy()


def sgd(lr, momentum=0.0, decay=0.0, nesterov=False, dampening=0.0):
    w, v = start(), None
    for g in gradients():
        g = g + decay * w
        v = g if v is None else momentum * v + (1 - dampening) * g
        w = w - lr * (g + momentum * v if nesterov else v)
    return w


def adam(lr, b1, b2, eps, decay, kind):
    w, m, v = start(), 0.0, 0.0
    for t, g in enumerate(gradients(), 1):
        g = g + decay * w if kind == "adam" else g
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        if kind == "adam":
            w = w - lr * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + eps)
        elif kind == "adamw":
            w = w * (1 - lr * decay)
            w = w - lr / (1 - b1**t) * m / (np.sqrt(v / (1 - b2**t)) + eps)
        else:
            w = w - lr * (m / (np.sqrt(v) + eps) + decay * w)
    return w


@pytest.mark.parametrize(("make", "want"), [
    (lambda p: nn.SGD(p, 0.1), lambda: sgd(0.1)),
    (lambda p: nn.SGD(p, 0.1, momentum=0.9, dampening=0.3, weight_decay=0.01),
     lambda: sgd(0.1, 0.9, 0.01, dampening=0.3)),
    (lambda p: nn.SGD(p, 0.1, momentum=0.9, nesterov=True), lambda: sgd(0.1, 0.9, nesterov=True)),
    (lambda p: nn.Momentum(p, 0.05, 0.9, weight_decay=0.1), lambda: sgd(0.05, 0.9, 0.1)),
    (lambda p: nn.Adam(p, 0.01, weight_decay=0.1),
     lambda: adam(0.01, 0.9, 0.999, 1e-8, 0.1, "adam")),
    (lambda p: nn.AdamW(p, 0.01, weight_decay=0.1),
     lambda: adam(0.01, 0.9, 0.999, 1e-8, 0.1, "adamw")),
    (lambda p: nn.AdamWeightDecay(p, 0.01, weight_decay=0.1),
     lambda: adam(0.01, 0.9, 0.999, 1e-6, 0.1, "bert")),
], ids=["sgd", "sgd-momentum", "sgd-nesterov", "momentum", "adam", "adamw", "adam-weight-decay"])
def test_against_the_formula(make, want):
    np.testing.assert_allclose(run(make), want(), rtol=2e-5, atol=2e-6)


def make_net() -> nn.Cell:
    ms.set_seed(5)
    return nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 3))


@pytest.mark.parametrize("make", [lambda p: nn.Adam(p, 1e-2), lambda p: nn.Momentum(p, 0.1, 0.9)],
                         ids=["adam", "momentum"])
def test_backward_and_step_equal_functional_steps(make):
    x = ms.Tensor(np.random.default_rng(2).standard_normal((5, 4)).astype(np.float32))
    y = ms.Tensor([0, 1, 2, 1, 0], ms.int32)
    by_tape, functional = make_net(), make_net()
    optimizer = make(by_tape.trainable_params())
    for _ in range(2):
        ops.cross_entropy(by_tape(x), y).backward()
        optimizer.step()
        assert all(p.grad is None for p in by_tape.trainable_params())
    optimizer = make(functional.trainable_params())
    step = ms.value_and_grad(lambda a, b: ops.cross_entropy(functional(a), b), None,
                             optimizer.parameters)
    for _ in range(2):
        _, grads = step(x, y)
        optimizer(grads)
    for a, b in zip(by_tape.get_parameters(), functional.get_parameters(), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_gradients_add_up_until_cleared():
    p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    (p * 3).sum().backward()
    (p * 4).sum().backward()
    np.testing.assert_array_equal(p.grad.asnumpy(), 7)
    optimizer = nn.SGD([p], 0.1)
    optimizer.zero_grad()
    assert p.grad is None


def test_learning_rate_can_change_and_follow_a_list():
    p = ms.Parameter(ms.Tensor([0.0]), name="w")
    optimizer = nn.SGD([p], [1.0, 0.1])
    one = (ms.Tensor([1.0]),)
    for want in (-1.0, -1.1, -1.2):
        optimizer(one)
        np.testing.assert_allclose(p.asnumpy(), [want], rtol=1e-6)
    optimizer = nn.SGD([p], 0.5)
    optimizer.learning_rate = ms.Tensor(2.0)
    before = float(p)
    optimizer(one)
    np.testing.assert_allclose(float(p), before - 2.0, rtol=1e-6)


def test_memory_stays_flat_over_many_steps():
    net = make_net()
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    x, y = ops.ones((8, 4)), ms.Tensor([0] * 8, ms.int32)

    def steps(n: int) -> int:
        for _ in range(n):
            ops.cross_entropy(net(x), y).backward()
            optimizer.step()
        return ms.runtime.memory_allocated()

    after_few = steps(400)  # the cache of small numbers is full by then
    assert steps(1000) == after_few


def test_bad_settings_are_named():
    p = ms.Parameter(ms.Tensor([0.0]), name="w")
    frozen = ms.Parameter(ms.Tensor([0.0]), name="f", requires_grad=False)
    for make, text in [
        (lambda: nn.Adam([], 1e-3), "is empty"),
        (lambda: nn.Adam([p, p], 1e-3), "given twice"),
        (lambda: nn.Adam([frozen], 1e-3), "'f' does not require"),
        (lambda: nn.Adam([p], -1.0), "'learning_rate'"),
        (lambda: nn.Adam([p], 1e-3, beta1=2.0), "'beta1'"),
        (lambda: nn.SGD([p], 0.1, nesterov=True), "'nesterov'"),
    ]:
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(TypeError, match="item 0 is"):
        nn.SGD([1.0], 0.1)
    with pytest.raises(ValueError, match="1 parameters but 2 gradients"):
        nn.SGD([p], 0.1)((ms.Tensor([1.0]), ms.Tensor([1.0])))
