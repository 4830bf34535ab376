"""Gradients of gradients through loops and branches on tensors in graphs: the numbers of eager
mode, and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, nn, ops

Fn = Callable[[Tensor], Tensor]
STARTS = ((1.1, 1.7), (30.0, 4.0), (1.5, 0.7))


def vector(*values: float) -> Tensor:
    return Tensor(np.array(values))


def counter(x: Tensor) -> Tensor:
    """0, known in the run only."""
    return (x.sum() * 0).astype(ms.int32)


def while_(x: Tensor) -> Tensor:
    y = x
    while y.sum() < 20:
        y = y * x + ops.sin(y)
    return (y * y).sum()


def for_(x: Tensor) -> Tensor:
    y = x
    for i in range(int(counter(x)) + 3):
        y = y * x + i * ops.sin(y)
    return (y * y).sum()


def if_in_while(x: Tensor) -> Tensor:
    y = x
    while y.sum() < 20:
        if y.max() > 3:
            y = y * x
        else:
            y = ops.exp(y * 0.3) * x + y
    return (y * y).sum()


def while_in_while(x: Tensor) -> Tensor:
    y, n = x, counter(x)
    while n < 3:
        z = y
        while z.sum() < 5 and z.sum() > -50:
            z = z * x + 1
        y = ops.sin(z) * x + y
        n = n + 1
    return (y * y).sum()


def while_in_if(x: Tensor) -> Tensor:
    if x.sum() < 20:
        y = ops.exp(x)
        while y.sum() < 20:
            y = y * x + 1
    else:
        y = x * x
    return (y * y).sum()


def ifs(x: Tensor) -> Tensor:
    """Values of the inner sides, which the second order reads."""
    y = ops.sin(x)
    if x.sum() > 2.5:
        z = ops.exp(y)
        if x.max() > 10:
            y = ops.log(z) * z * x
        else:
            y = ops.sin(z) * ops.exp(z)
        y = y * z
    else:
        y = 1 / (ops.exp(y) + 1)
    return (y * x).sum()


def while_in_if_in_while(x: Tensor) -> Tensor:
    y, n = x, counter(x)
    while n < 4:
        if y.max() < 4:
            while y.sum() < 5 and y.sum() > -50:
                y = y * x + 1
        else:
            y = ops.sin(y) * x
        y = y * 0.7
        n = n + 1
    return (y * y * x).sum()


def one_after_the_other(x: Tensor) -> Tensor:
    y = x
    while y.sum() < 20:
        y = y * x + 1
    z = y * x
    while z.sum() < 400:
        z = z * y + x
    return (z * ops.log(z)).sum()


def ways_out(x: Tensor) -> Tensor:
    y = x
    for _ in range(100):
        y = y * x + ops.cos(y)
        if y.sum() > 30:
            break
        if y.max() > 2:
            continue
        y = y * y
    while True:
        y = y * x + ops.cos(y) + 1
        if y.sum() > 60:
            return (y * y).sum()


def no_turn(x: Tensor) -> Tensor:
    y = x
    while y.sum() > 1e9:
        y = y * x
    return (y**3).sum()


def steps_down(x: Tensor) -> Tensor:
    """Gradients of a loop in a loop, and in a branch there."""
    y, n = x, counter(x)
    while n < 3:
        if y.sum() > 2:
            y = y - 0.01 * ms.grad(while_)(y)
        else:
            y = y * x + 1
        n = n + 1
    return (y * x).sum()


def slope_at_a_value_from_outside(x: Tensor) -> Tensor:
    y, n = x, counter(x)
    while n < 3:
        y = y + ms.grad(lambda v: (v**3).sum())(x)
        n = n + 1
    return (y * x).sum()


def seeds(x: Tensor) -> Tensor:
    v = ops.sin(x)
    _, pull = ms.vjp(lambda u: while_(u) * u, x)
    return (pull(v) * v).sum() + ms.jvp(while_, x, ops.cos(x))[1]


CASES = [while_, for_, if_in_while, while_in_while, while_in_if, ifs, while_in_if_in_while,
         one_after_the_other, ways_out, no_turn, steps_down,
         slope_at_a_value_from_outside, seeds]  # fmt: skip


def squared_slope(f: Fn) -> Fn:
    return lambda x: (ms.grad(f)(x) ** 2).sum()


def nested(f: Fn, order: int) -> Fn:
    """The gradient of the given order, of a number made of the one before."""
    return ms.grad(f if order == 1 else squared_slope(f) if order == 2 else
                   squared_slope(squared_slope(f)))  # fmt: skip


def same(graph: Fn, eager: Fn) -> None:
    for start in STARTS:
        x = vector(*start)
        np.testing.assert_allclose(graph(x).asnumpy(), eager(x).asnumpy(), rtol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_inside_of_a_graph(f: Fn, order: int) -> None:
    same(ms.jit(nested(f, order)), nested(f, order))


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_of_a_graph_that_takes_a_gradient(f: Fn) -> None:
    inner = ms.jit(ms.grad(f))
    same(ms.grad(lambda x: (inner(x) ** 2).sum()), nested(f, 2))


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_of_a_compiled_function(f: Fn) -> None:
    same(nested(ms.jit(f), 2), nested(f, 2))


def test_of_compiled_functions_in_a_graph() -> None:
    inner = ms.jit(ms.grad(ms.jit(while_)))
    same(ms.jit(ms.grad(lambda x: (inner(x) ** 2).sum())), nested(while_, 2))


def test_a_side_that_is_not_taken() -> None:
    """Its values are no numbers that a zero may be multiplied with."""

    def f(x: Tensor) -> Tensor:
        if x.min() > 0:
            y = ops.log(x) * ops.sqrt(x)
        else:
            y = x * x * x
        return y.sum()

    x = vector(2.0, 0.0)
    for order in (1, 2, 3):
        slope = nested(f, order)
        np.testing.assert_array_equal(ms.jit(slope)(x).asnumpy(), slope(x).asnumpy())


def test_of_fourth_order() -> None:
    def f(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 20:
            y = y * x
        return y.sum()

    slope = ms.grad(ms.grad(ms.grad(ms.grad(f))))
    x = Tensor(2.5, ms.float64)  # x ** 4 in the end
    assert ms.jit(slope)(x).item() == slope(x).item() == 24.0


@pytest.mark.parametrize("f", [if_in_while, while_in_while, steps_down], ids=lambda f: f.__name__)
def test_against_differences(f: Fn) -> None:
    value = ms.jit(squared_slope(f))
    slope, step = ms.jit(nested(f, 2)), 1e-6
    x = np.array([1.1, 1.7])
    for i, d in enumerate(np.eye(2) * step):
        want = (value(Tensor(x + d)).item() - value(Tensor(x - d)).item()) / (2 * step)
        np.testing.assert_allclose(slope(Tensor(x)).asnumpy()[i], want, rtol=1e-5)


def test_of_a_cell_in_graph_mode() -> None:
    class Doubles(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            while x < 10:
                x = x * 2
            return x

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert ms.grad(ms.grad(Doubles()))(Tensor(1, ms.float32)).item() == 0
        squares = ms.grad(ms.grad(lambda x: Doubles()(x) ** 2))
        assert squares(Tensor(3, ms.float32)).item() == 32
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_parameters() -> None:
    """A penalty on the gradient, trained by one compiled step."""

    def trained(wrap: Callable) -> list[Any]:
        ms.set_seed(1)
        net = nn.Dense(3, 3)
        optimizer = nn.SGD(net.trainable_params(), 0.01)

        def energy(x: Tensor) -> Tensor:
            while (x * x).sum() < 30:
                x = x + ops.tanh(net(x)) + 2
            return (x * x).sum()

        def loss(x: Tensor) -> Tensor:
            return (ms.grad(energy)(x) ** 2).sum()

        def step(x: Tensor) -> Tensor:
            value, slopes = ms.value_and_grad(loss, None, net.trainable_params())(x)
            optimizer(slopes)
            return value

        run = wrap(step)
        values = [run(ops.ones((2, 3)) * i).item() for i in (0.1, 0.5, 2.0, 0.3)]
        return [*values, *(p.asnumpy() for p in net.trainable_params())]

    for ours, theirs in zip(trained(ms.jit), trained(lambda f: f), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_random_numbers_are_those_of_the_first_run() -> None:
    def f(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 40:
            y = y * x + ops.dropout(y, 0.5, training=True) + 1
        return (y * y).sum()

    found = []
    for g in (nested(f, 2), ms.jit(nested(f, 2))):
        ms.set_seed(3)
        found.append([g(vector(1.1, 1.7)).asnumpy(), g(vector(1.5, 0.7)).asnumpy()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_random_numbers_in_branches_of_a_loop() -> None:
    def f(x: Tensor) -> Tensor:
        y = x
        while y.sum() < 40:
            if y.max() > 3:
                y = y * x + ops.dropout(y, 0.5, training=True)
            else:
                y = y + ops.rand((2,)).astype(ms.float64) * x
                if y.min() > 1:
                    y = y * ops.dropout(x, 0.2, training=True)
            y = y + 1
        return (y * y).sum()

    for order in (1, 2):
        found = []
        for g in (nested(f, order), ms.jit(nested(f, order))):
            ms.set_seed(3)
            found.append([g(vector(1.1, 1.7)).asnumpy(), g(vector(1.5, 0.7)).asnumpy()])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_sizes_that_vary() -> None:
    compiled = ms.jit(nested(while_in_if_in_while, 2))
    for n in (2, 3, 5, 4):
        x = Tensor(np.linspace(0.7, 1.9, n))
        want = nested(while_in_if_in_while, 2)(x).asnumpy()
        np.testing.assert_allclose(compiled(x).asnumpy(), want, rtol=1e-9)
    assert compiled.cache_info()["compiles"] == 2


def test_first_order_keeps_one_stack() -> None:
    """What a second order would need costs nothing where there is none."""
    compiled = ms.jit(ms.grad(while_))
    compiled(vector(1.1, 1.7))
    [text] = compiled.graphs()
    assert text.count("push") == text.count("pop") == 1
