"""Steps of a plan that run at once: updates of parameters, and inter_op_parallel_num."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, nn, ops


@pytest.fixture
def threads() -> Iterator[Callable[..., None]]:
    """Sets the numbers of threads and of branches; afterwards they are as before."""

    def change(threads: int, branches: int = 0) -> None:
        ms.set_context(runtime_num_threads=threads, inter_op_parallel_num=branches)

    yield change
    ms.set_context(runtime_num_threads=0, inter_op_parallel_num=0)


def forks_of(f: Any) -> list[tuple[int, int]]:
    ((_, version),) = f._own
    return version.latest.staged.graph.plan_forks()


def branches(x: Tensor) -> Tensor:
    """Eight chains of small steps."""
    parts = []
    for i in range(8):
        y = x * float(i + 1)
        for _ in range(3):
            y = ops.tanh(y.reshape(-1) + 1.0).reshape(x.shape)
        parts.append(ops.cumsum(y, 1).sum(1))
    return ops.stack(parts)


def draw(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_independent_parts_run_at_once_with_the_same_bits(
    n: int, threads: Callable[..., None]
) -> None:
    x = draw(32, 128)
    f = ms.jit(branches)
    threads(4)
    expected = f(x).tolist()
    assert expected == branches(x).tolist() and forks_of(f) == []
    threads(4, n)
    for _ in range(5):
        assert f(x).tolist() == expected
    assert forks_of(f) and max(tasks for _, tasks in forks_of(f)) == min(n, 4)
    assert f"run as {min(n, 4)} tasks" in f.explain()
    assert f.memory_plan()[0]["arena"] > 0
    threads(1, n)
    assert f(x).tolist() == expected and forks_of(f) == []


def test_one_chain_and_large_steps_do_not_fork(threads: Callable[..., None]) -> None:
    threads(4, 4)

    @ms.jit
    def chain(x: Tensor) -> Tensor:
        for _ in range(30):
            x = ops.tanh(x + 1.0)
        return x

    @ms.jit
    def large(x: Tensor) -> Tensor:
        return ops.exp(x) + ops.tanh(x) + ops.sin(x) + ops.cos(x)

    chain(draw(32, 128))
    large(draw(512, 512))
    assert forks_of(chain) == forks_of(large) == []


def test_branches_inside_loops_and_ifs(threads: Callable[..., None]) -> None:
    def f(x: Tensor, n: Tensor) -> Tensor:
        total = ops.zeros((8, 32), ms.float32)
        i = n * 0
        while i < n:
            if i % 2 == 0:
                total = total + branches(x + i)
            else:
                total = total - branches(x - i)
            i = i + 1
        return total

    x, n = draw(32, 128), Tensor(5)
    threads(4)
    expected = f(x, n).tolist()
    threads(4, 4)
    compiled = ms.jit(f)
    assert compiled(x, n).tolist() == expected and forks_of(compiled)


@pytest.mark.parametrize("rule", [nn.SGD, nn.Momentum, nn.Adam])
def test_small_updates_run_at_once(rule: Any, threads: Callable[..., None]) -> None:
    def train(count: int, compiled: bool) -> tuple[list[Any], Any]:
        threads(count)
        ms.set_seed(5)
        net = nn.SequentialCell([nn.Dense(64, 64) for _ in range(16)])
        extra = {"momentum": 0.9} if rule is nn.Momentum else {}
        optimizer = rule(net.trainable_params(), learning_rate=0.01, **extra)

        def step(x: Tensor) -> Tensor:
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        run = ms.jit(step) if compiled else step
        losses = [run(draw(4, 64)).item() for _ in range(3)]
        return [losses, [p.tolist() for p in net.get_parameters()]], run

    eager, _ = train(1, False)
    for count in (1, 4):
        made, run = train(count, True)
        assert made == eager
        assert forks_of(run) == ([] if count == 1 else [(32, 4)])
