"""Optimiser steps that fail: all of the parameters are updated, or none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import _core, nn, ops


@pytest.fixture(params=["together", "in groups"])
def make(request: Any) -> Callable[[], tuple[list[ms.Parameter], nn.Adam]]:
    def two() -> tuple[list[ms.Parameter], nn.Adam]:
        params = two_params()
        if request.param == "together":
            return params, nn.Adam(params, 0.1)
        groups = [{"params": params[:1], "lr": 0.2}, {"params": params[1:], "weight_decay": 0.1}]
        return params, nn.Adam(groups, 0.1)

    return two


def two_params() -> list[ms.Parameter]:
    rng = np.random.default_rng(0)
    return [
        ms.Parameter(ms.Tensor(rng.standard_normal((300, 300)).astype(np.float32)), name=name)
        for name in ("w1", "w2")
    ]


def values(params: list[ms.Parameter], optimizer: nn.Adam) -> list[np.ndarray]:
    """Weights, states, step: all that a step changes."""
    return [p.asnumpy().copy() for p in (*params, *optimizer.get_parameters())]


def test_out_of_memory_changes_nothing(make: Any):
    params, optimizer = make()
    twins, twin_optimizer = make()
    grads = [ops.ones((300, 300)), ops.ones((300, 300)) * 2]
    optimizer(grads)
    twin_optimizer(grads)
    held = params[1].asnumpy()  # a snapshot: the step must make new bytes
    before = values(params, optimizer)
    _core.set_memory_limit(_core.memory_stats()["allocated"] + 2000)
    try:
        with pytest.raises(MemoryError, match="parameter 'w2': adam: out of memory"):
            optimizer(grads)
    finally:
        _core.set_memory_limit(0)
    for old, new in zip(before, values(params, optimizer), strict=True):
        assert np.array_equal(old, new)
    optimizer(grads)
    twin_optimizer(grads)
    for one, other in zip(values(params, optimizer), values(twins, twin_optimizer), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(held, before[1])


def test_a_wrong_gradient_changes_nothing(make: Any):
    params, optimizer = make()
    before = values(params, optimizer)
    with pytest.raises(ValueError, match="parameter 'w2': adam: grad is float32\\[2\\]"):
        optimizer([ops.ones((300, 300)), ops.ones((2,))])
    for old, new in zip(before, values(params, optimizer), strict=True):
        assert np.array_equal(old, new)


def test_a_parameter_given_twice_is_safe():
    """Below the optimisers nothing refuses it; each mention is a step."""
    p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="p")
    m = ms.Parameter(ops.zeros((2,)), name="m")
    g = ops.ones((2,))
    _core.update_params("momentum", [([p, p], [[m, m]], [g, g], (0.5, 0.9, 0.0, 0.0, 1.0))])
    assert np.all(np.isfinite(p.asnumpy())) and np.all(np.isfinite(m.asnumpy()))
