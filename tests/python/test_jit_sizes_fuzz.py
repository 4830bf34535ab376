"""Random functions of shapes: one compiled function gives eager results for one size after another.

Each seed draws a program over a tensor of n rows: slices, reshapes, numbers and tensors made of
sizes, conditions on sizes and on values, loops, gradients. Started as a program with the arguments
FIRST N this file runs more of them and prints those that differ.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diptych as ms

_LINES = [
    "x = x[{k}:]",
    "x = x[:-{k}]",
    "x = x[::{k}]",
    "x = x[::-1]",
    "x = x[:n]",
    "x = x[n // {k}:]",
    "x = ops.concat([x, y])",
    "x = ops.concat([x, x[:{k}]])",
    "x = ops.stack([x, x]).reshape(2 * x.shape[0], x.shape[1])",
    "x = x.reshape(-1, 2).reshape(x.shape[0], -1)",
    "x = x.T.reshape(x.shape)",
    "x = x + ops.ones((x.shape[0], 1))",
    "x = x * x.shape[0]",
    "x = x / (n + {k})",
    "x = x - x.mean(axis=0)",
    "x = x + y if x.shape == y.shape else x - 1",
    "x = x + x.sum(axis=0) / x.shape[0]",
    "x = ops.softmax(x, axis=0)",
    "x = x.astype(ms.float32) + ops.arange(x.shape[0]).reshape(-1, 1)",
    "x = ops.pad(x, (0, 0, 1, {k}))",
    "x = ops.tile(x, ({k}, 1))",
    "x = x @ (x.T @ x)",
    "x = ops.cumsum(x, 0)",
    "x = x[ops.argsort(x[:, 0])]",
    "x = ops.flip(x, (0,))",
    "x = ms.grad(lambda v: (v * v[:1]).mean() * v.shape[0])(x)",
    "x = ms.grad(lambda v: ops.softmax(v[{k}:], axis=0).max())(x)",
    "n = x.shape[0]",
    "n = n + {k}",
    "n = n * {k} - n // 2",
    "n = n % {k} + 1",
    "n = max(n, x.shape[0])",
    "n = len(x)",
    "y = y * n",
    "y = x",
    "y = y[:x.shape[0]]",
    "y[-1] = x[0]",
    "y += {k}",
    "out.append(n)",
    "out.append(x.shape)",
    "out.append(x.sum())",
    "out.append(n / {k})",
    "out.append(x.size)",
]
_TESTS = [
    "n > {k}",
    "n % 2 == 0",
    "x.shape[0] > y.shape[0]",
    "x.shape[0] == y.shape[0]",
    "len(x) < {k}",
    "x.sum() > 0",
    "x[0, 0] > 0 and n > 2",
    "n",
]


class Program:
    """The text of a random function ``f(x)``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = ["def f(x):", "    n, y, out = x.shape[0], x + 1, []"]
        self.block(1, 6)
        self.lines.append("    return x, y, n, out")
        self.sizes = [self.random.randint(1, 9) for _ in range(6)]

    def fill(self, text: str) -> str:
        return text.replace("{k}", str(self.random.randint(1, 4)))

    def block(self, depth: int, most: int) -> None:
        indent = "    " * depth
        for _ in range(self.random.randint(1, most)):
            kind = self.random.random()
            if kind < 0.15 and depth < 4:
                self.lines.append(f"{indent}if {self.fill(self.random.choice(_TESTS))}:")
                self.block(depth + 1, 2)
                if self.random.random() < 0.5:
                    self.lines.append(f"{indent}else:")
                    self.block(depth + 1, 2)
            elif kind < 0.2 and depth < 3:
                self.lines.append(f"{indent}for i in range({self.random.choice(['2', '3'])}):")
                self.block(depth + 1, 2)
            elif kind < 0.23 and depth < 3:
                self.lines.append(f"{indent}try:")
                self.block(depth + 1, 2)
                self.lines.append(f"{indent}except (ValueError, IndexError):")
                self.block(depth + 1, 1)
            else:
                self.lines.append(indent + self.fill(self.random.choice(_LINES)))

    def function(self, path: Path) -> Callable:
        path.write_text("from diptych import ops\nimport diptych as ms\n" + "\n".join(self.lines))
        space: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        return space["f"]


def plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [type(value), *map(plain, value)]
    if isinstance(value, ms.Tensor):
        return value.dtype.name, value.shape, value.asnumpy().tobytes()
    return type(value), value


def outcome(fn: Callable, n: int) -> Any:
    values = np.random.default_rng(n).integers(-3, 4, (n, 4)).astype(np.float32)
    try:
        return plain(fn(ms.Tensor(values)))
    except (ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError) as e:
        return type(e).__mro__[-3:]


def check(seed: int, folder: Path) -> str | None:
    """What differs."""
    program = Program(seed)
    f = program.function(folder / f"sizes{seed}.py")
    compiled = ms.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (*program.sizes, *program.sizes[:3]):
            expected, got = outcome(f, n), outcome(compiled, n)
            if isinstance(expected, list) != isinstance(got, list):
                return f"size {n}: {expected!r:.300} != {got!r:.300}"
            if isinstance(expected, list) and expected != got:
                return f"size {n}: {expected!r:.300} != {got!r:.300}"
    return None


@pytest.mark.parametrize("seed", range(60))
def test_random_functions_of_sizes(seed: int, tmp_path) -> None:
    assert check(seed, tmp_path) is None


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:3])
    for number in range(first, first + count):
        found = check(number, Path(sys.argv[3]))
        if found:
            print(number, found, flush=True)
