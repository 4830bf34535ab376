"""A parameter that the way taken does not use has no gradient, and its optimiser leaves it alone:
in a compiled step as in eager mode, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

SIGNS = (1, -1, -1, 2, -3, 1, 1, -2)


def tensor(value: float) -> ms.Tensor:
    return ms.Tensor(np.full((2, 4), value, np.float32))


class Net(nn.Cell):
    """Four layers and a way through them."""

    def __init__(self, way: Callable) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(4, 4, activation="tanh") for _ in range(4)])
        self.way = way

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.way(self.layers, x)


def fewer(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    if x.sum() > 0:
        for layer in layers:
            x = layer(x)
    else:
        x = layers[0](x)
    return x


def others(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    if x.sum() > 0:
        x = layers[0](x)
    else:
        x = layers[1](x)
    return layers[2](x)


def only_below(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    h = layers[0](x)
    y = layers[1](x)
    if x.sum() > 0:
        y = y + layers[2](h)
    return y


def nested(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    total = x.sum()
    if total > 0:
        if total > 10:
            x = layers[1](x)
        x = layers[0](x)
    else:
        if total < -20:
            x = layers[2](layers[1](x))
        else:
            x = layers[3](x)
    return x


def turns(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    n = x.sum()
    x = layers[0](x)
    while n > 0:
        x = layers[1](x)
        n = n - 7
    return x


def twice(layers: nn.CellList, x: ms.Tensor) -> ms.Tensor:
    if x.sum() > 0:
        a = layers[0](x)
    else:
        a = layers[1](x)
    if x.sum() > 10:
        b = layers[1](x)
    else:
        b = layers[2](x)
    return a * b


OPTIMISERS = {
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "adam": lambda p: nn.Adam(p, 0.05),
    "decay": lambda p: nn.SGD(p, 0.1, momentum=0.5, weight_decay=0.1),
}


def trained(way: Callable, optimiser: str, compiled: bool, backwards: int = 1) -> list[np.ndarray]:
    ms.set_seed(3)
    net = Net(way)
    opt = OPTIMISERS[optimiser](net.trainable_params())

    def step(x: ms.Tensor) -> ms.Tensor:
        for _ in range(backwards):
            loss = (net(x) ** 2).sum()
            loss.backward()
        opt.step()
        return loss

    call = ms.jit(step) if compiled else step
    losses = [call(tensor(s)).asnumpy() for s in SIGNS]
    states = [p.asnumpy() for p in (*net.get_parameters(), *opt.get_parameters())]
    assert not compiled or call.cache_info()["compiles"] == 1
    return losses + states


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("way", [fewer, others, only_below, nested, turns, twice])
def test_steps_are_those_of_eager_mode(way: Callable, optimiser: str) -> None:
    eager, graph = (trained(way, optimiser, compiled) for compiled in (False, True))
    for a, b in zip(eager, graph, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("way", [fewer, nested])
def test_gradients_that_add_up(way: Callable) -> None:
    eager, graph = (trained(way, "momentum", compiled, 2) for compiled in (False, True))
    for a, b in zip(eager, graph, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_parameter_is_not_moved() -> None:
    """What the others compare with: momentum alone would have moved it."""
    ms.set_seed(3)
    net = Net(others)
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    @ms.jit
    def step(x: ms.Tensor) -> None:
        (net(x) ** 2).sum().backward()
        opt.step()

    step(tensor(1))
    before = net.layers[0].weight.asnumpy(), net.layers[1].weight.asnumpy()
    step(tensor(-1))
    assert (net.layers[0].weight.asnumpy() == before[0]).all()
    assert (net.layers[1].weight.asnumpy() != before[1]).any()


def test_functional_gradients_are_zero_there() -> None:
    net = Net(others)
    grad = ms.jit(ms.grad(lambda x: net(x).sum(), None, net.trainable_params()))
    by_name = dict(zip([p.name for p in net.trainable_params()], grad(tensor(1)), strict=True))
    assert (by_name["layers.1.weight"].asnumpy() == 0).all()
    assert ops.abs(by_name["layers.0.weight"]).sum() > 0
