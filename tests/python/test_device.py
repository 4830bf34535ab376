"""Compiled functions on the test device, whose memory only kernels and copies reach."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Parameter, Tensor, _core, nn, ops


@pytest.fixture
def on_device() -> Iterator[Callable[..., Any]]:
    """Calls a function while the test device is on."""

    def call(f: Callable[..., Any], *args: Any) -> Any:
        _core.use_test_device(True)
        try:
            return f(*args)
        finally:
            _core.use_test_device(False)

    yield call
    _core.use_test_device(False)


def test_a_training_step_with_draws_loops_and_branches(
    on_device: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Dense(16, 32), nn.Dense(32, 4)
            self.dropout = nn.Dropout(p=0.4)
            self.scale = Parameter(Tensor([1.0, 2.0]), name="scale")

        def construct(self, x: Tensor, n: Tensor) -> Tensor:
            y = self.dropout(ops.relu(self.a(x)))
            i = n * 0
            while i < n:
                y = ops.tanh(y) + 0.5 if i % 2 == 0 else y * y
                i = i + 1
            print("mean", y.mean() > 0)
            return self.b(y) * self.scale.sum()

    def train(call: Callable[..., Any]) -> Any:
        ms.set_seed(3)
        net = Net().set_train()
        optimizer = nn.Adam(net.trainable_params(), 0.01)

        @ms.jit
        def step(x: Tensor, labels: Tensor, n: Tensor) -> Tensor:
            loss = ops.cross_entropy(net(x, n), labels)
            loss.backward()
            optimizer.step()
            return loss

        x = Tensor(np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32))
        labels = Tensor(np.array([0, 1, 2, 3] * 2, np.int32))
        losses = [call(step, x, labels, Tensor(k)).item() for k in (3, 0, 4)]
        assert step.memory_plan()
        return losses, [p.tolist() for p in net.get_parameters()]

    plain = train(lambda f, *args: f(*args))
    printed = capsys.readouterr().out
    assert train(on_device) == plain
    assert capsys.readouterr().out == printed != ""


def test_failures_and_constants(on_device: Callable[..., Any]) -> None:
    table = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))
    f = ms.jit(lambda i: (ops.gather(table, i, 0), table, i, ops.ones((2, 3), ms.float32)))
    for _ in range(2):
        got = on_device(f, Tensor([2, 0]))
        assert [t.tolist() for t in got[:3]] == [[[4, 5], [0, 1]], table.tolist(), [2, 0]]
        with pytest.raises(IndexError):
            on_device(f, Tensor([7, 0]))
        assert f(Tensor([1, 1]))[0].tolist() == [[2, 3], [2, 3]]


STRAY = """
import ctypes, re
import diptych as ms
from diptych import _core
def closed():
    lines = open("/proc/self/maps").read().splitlines()
    found = [re.match("([0-9a-f]+)-([0-9a-f]+) ---p", line) for line in lines]
    return {(int(m[1], 16), int(m[2], 16)) for m in found if m}
_core.use_test_device(True)
before = closed()
def look(x):
    begin, _ = min(closed() - before)
    print("found", flush=True)
    ctypes.string_at(begin, 1)
g = _core.Graph()
g.begin()
(y,) = g.host(look, [g.input(ms.float32, (256,))], [(ms.float32, (256,))])
g.outputs([ms.ops.exp(y)])
g.run([ms.Tensor([1.0] * 256)])
print("reached")
"""


def test_stray_access_ends_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRAY], capture_output=True, text=True, check=False
    )
    assert done.stdout == "found\n" and done.returncode < 0
