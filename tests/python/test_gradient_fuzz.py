"""Random functions of branches and loops on tensors: gradients in graphs are those of eager mode.

Each seed draws a program over three vectors: branches, loops with breaks, and gradients taken
inside. Gradients of first, second and third order are compared. Started as a program with the
arguments FIRST N FOLDER this file runs more of them, prints those that differ and exits with 1 if
there are any.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from programs import load

import diptych as ms

_HEAD = """import diptych as ms
from diptych import ops

def smooth(v):
    return (ops.sin(v) * v * v).sum()

def looped(v):
    y = v
    while (y * y).sum() < 4:
        y = y * 1.3 + ops.sin(v) * 0.1 + 0.2
    return (y * y * v).sum()

def f(x):
    a, b, c = x, x * x * 0.5, ops.sin(x)
"""
_TAIL = "    return (a * b + c * x).sum()\n"
_VALUES = [
    "ops.sin({0}) * {1}",
    "ops.tanh({0} + {1})",
    "{0} * 0.7 + {1} * {1} * 0.1",
    "ops.log({0} * {0} + 1) - {1}",
    "ops.exp(-{0} * {0}) * {1} + x",
    "1 / ({0} * {0} + 0.5)",
    "{0}",
]
_INPUTS = [(0.5, 0.9), (-1.2, 0.3), (0.0, 0.0), (2.0, -0.4)]


class Program:
    """The text of a random function."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._left = 7  # blocks
        self._lines: list[str] = []
        self._block(3, 1)
        self.text = _HEAD + "\n".join(self._lines) + "\n" + _TAIL

    def _name(self) -> str:
        return self._random.choice("abc")

    def _add(self, indent: int, line: str) -> None:
        self._lines.append("    " * indent + line)

    def _block(self, depth: int, indent: int) -> None:
        for _ in range(self._random.randint(1, 3)):
            kind = self._random.random()
            if kind < 0.55 or not depth or self._left <= 0:
                made = self._random.choice(_VALUES).format(self._name(), self._name())
                self._add(indent, f"{self._name()} = {made}")
                continue
            self._left -= 1
            if kind < 0.72:
                self._branch(depth - 1, indent)
            elif kind < 0.93:
                self._loop(depth - 1, indent)
            else:
                fn = self._random.choice(["smooth", "looped"])
                name = self._name()
                self._add(indent, f"{name} = {name} - 0.1 * ms.grad({fn})({self._name()})")

    def _branch(self, depth: int, indent: int) -> None:
        bound = self._random.choice(["0.3", "1.0", "a[0]", "-0.5"])
        self._add(indent, f"if {self._name()}.sum() > {bound}:")
        self._block(depth, indent + 1)
        if self._random.random() < 0.7:
            self._add(indent, "else:")
            self._block(depth, indent + 1)

    def _loop(self, depth: int, indent: int) -> None:
        count = f"i{len(self._lines)}"
        self._add(indent, f"{count} = (x.sum() * 0).astype(ms.int32)")
        self._add(indent, f"while {count} < {self._random.randint(0, 3)}:")
        self._block(depth, indent + 1)
        if self._random.random() < 0.3:
            self._add(indent + 1, f"if {self._name()}.sum() > 1.5:")
            self._add(indent + 2, "break")
        self._add(indent + 1, f"{count} = {count} + 1")


def nested(fn: Callable, order: int) -> Callable:
    """The gradient of this order, each but the last made a number again."""
    for _ in range(order - 1):
        fn = (lambda inner: lambda x: (ms.grad(inner)(x) ** 2).sum())(fn)
    return ms.grad(fn)


def differences(text: str, folder: Path) -> list[str]:
    """Orders, ways and inputs for which a program's gradients differ."""
    fn = load(text, folder)
    inner = ms.jit(ms.grad(fn))
    found = []
    for order in (1, 2, 3):
        eager = nested(fn, order)
        ways = [ms.jit(eager)]
        if order == 2:
            ways.append(ms.grad(lambda x: (inner(x) ** 2).sum()))
        for way, graph in enumerate(ways):
            for given in _INPUTS:
                x = ms.Tensor(np.array(given))
                got, want = graph(x).asnumpy(), eager(x).asnumpy()
                if not np.allclose(got, want, rtol=1e-7, atol=1e-9, equal_nan=True):
                    found.append(f"order {order}, way {way}, {given}: {got}, not {want}")
    return found


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    assert differences(Program(seed).text, tmp_path) == []


if __name__ == "__main__":
    first, count, failed = int(sys.argv[1]), int(sys.argv[2]), 0
    for number in range(first, first + count):
        try:
            different = differences(Program(number).text, Path(sys.argv[3]))
        except Exception as error:
            different = [repr(error)]
        failed += bool(different)
        for line in different:
            print(f"seed {number}: {line}")
    print(f"gradients: {count - failed} passed, {failed} failed")
    sys.exit(failed > 0)
