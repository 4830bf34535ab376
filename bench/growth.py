"""How the time to compile grows: a table for docs/growth.md.

python bench/growth.py [--repeat N] [--dip-opt PATH] >docs/growth.md

Each row is one kind of graph at a quarter, a half and all of its size: the time of the first call
(tracing or staging, passes, plan), less that of a later one; of the rolled loop, which is compiled
in the same time whatever its count, a later call. With the path of dip-opt the graph of the chain
goes through the text form as well: parsing, all passes, printing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import diptych as ms
from diptych import nn, ops

Compiled = tuple[Any, tuple]

HEAD = """# How compiling grows

Written by `bench/growth.py`: milliseconds at a quarter, a half and all of the size, best of several
runs. Compile: tracing or staging, passes, plan. The growth is the last time over the one before it:
2 is linear.

| what | size | 1/4, ms | 1/2, ms | all, ms | growth |
| --- | --- | --- | --- | --- | --- |"""


def chain(n: int) -> Compiled:
    """n elementwise ops, one on the other."""

    def fn(x: ms.Tensor) -> ms.Tensor:
        for _ in range(n // 2):
            x = ops.tanh(x) + 0.1
        return x

    return ms.jit(fn, capture_mode="trace"), (ops.ones((9,)),)


def layers(n: int) -> Compiled:
    """The training step of a net of n dense layers."""
    net = nn.SequentialCell([nn.Dense(8, 8, activation="relu") for _ in range(n)])
    return step(net), (ops.ones((4, 8)),)


def step(net: nn.Cell) -> Any:
    """One step of Adam on the mean of the results."""
    optimizer = nn.Adam(net.trainable_params(), 1e-3)
    grad = ms.value_and_grad(lambda x: net(x).mean(), None, optimizer.parameters)

    @ms.jit
    def run(x: ms.Tensor) -> ms.Tensor:
        loss, grads = grad(x)
        optimizer(grads)
        return loss

    return run


class Many(nn.Cell):
    """The sum of n parameters times the input."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.weights = ms.ParameterTuple(
            [ms.Parameter(ops.ones((8,)), name=f"w{i}") for i in range(n)]
        )

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        total = x
        for w in self.weights:
            total = total + w * x
        return total


def parameters(n: int) -> Compiled:
    """The training step of a net with n parameters."""
    return step(Many(n)), (ops.ones((8,)),)


def loop(n: int) -> Compiled:
    """A loop of n turns, rolled; the gradient keeps a value a turn."""

    def fn(x: ms.Tensor, turns: ms.Tensor) -> ms.Tensor:
        i = ms.Tensor(0, ms.int32)
        while i < turns:
            x = ops.tanh(x)
            i = i + 1
        return x.sum()

    return ms.jit(ms.grad(fn)), (ops.ones((4,)), ms.Tensor(n, ms.int32))


WORKS: list[tuple[str, Callable[[int], Compiled], int, bool]] = [
    ("ops in a chain, traced: compile", chain, 20_000, False),
    ("dense layers, training step: compile", layers, 2_000, False),
    ("parameters, training step: compile", parameters, 3_000, False),
    ("turns of a loop and its gradient: run", loop, 100_000, True),
]


def measure(make: Callable[[int], Compiled], n: int, runs: bool) -> float:
    """Seconds of compiling (the first call less the quickest of three later ones) or running."""
    fn, args = make(n)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        fn(*args)
        times.append(time.perf_counter() - start)
    return min(times[1:]) if runs else times[0] - min(times[1:])


def text_form(n: int, dip_opt: str) -> float:
    """Seconds that dip-opt takes to parse, optimise and print a chain of n ops."""
    lines = ["graph(%1: float32[9]) {"]
    lines += [f"  %{i + 1} = tanh(%{i}) : float32[9]" for i in range(1, n + 1)]
    lines += [f"  return %{n + 1}", "}", ""]
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as f:
        f.write("\n".join(lines))
    try:
        start = time.perf_counter()
        subprocess.run([dip_opt, f.name], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - start
    finally:
        os.unlink(f.name)


def row(name: str, sizes: list[int], seconds: list[float]) -> str:
    """A line of the table; the growth is the time of the last doubling over that before it."""
    growth = seconds[2] / seconds[1]
    times = " | ".join(f"{1e3 * s:.1f}" for s in seconds)
    return f"| {name} | {sizes[2]:,} | {times} | {growth:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--dip-opt", help="path of the program: the text form is measured as well")
    args = parser.parse_args()
    print(HEAD)
    for name, make, n, runs in WORKS:
        sizes = [n // 4, n // 2, n]
        times = [min(measure(make, k, runs) for _ in range(args.repeat)) for k in sizes]
        print(row(name, sizes, times), flush=True)
    if args.dip_opt:
        sizes = [5_000, 10_000, 20_000]
        times = [min(text_form(k, args.dip_opt) for _ in range(args.repeat)) for k in sizes]
        print(row("ops in a chain, text form: dip-opt", sizes, times))


if __name__ == "__main__":
    main()
