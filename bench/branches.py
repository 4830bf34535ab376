"""inter_op_parallel_num: microseconds of a call with it and without, for graphs of several shapes.

python bench/branches.py [THREADS]

Best of many calls, in turns; the kernels are those of one thread each in both columns where the
arrays are small, and use all threads where they are large.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import diptych as ms
from diptych import Tensor, ops

Function = Callable[[Tensor], Tensor]


def branches(n: int, depth: int) -> Function:
    """n chains of ``depth`` calls over one input, added up."""

    def f(x: Tensor) -> Tensor:
        parts = []
        for i in range(n):
            y = x + float(i)
            for _ in range(depth):
                y = ops.tanh(y)
            parts.append(y.sum())
        return ops.stack(parts)

    return f


CASES: list[tuple[str, Function, int]] = [
    ("8 chains of 4 calls on 256 numbers", branches(8, 4), 256),
    ("8 chains of 4 calls on 4,096 numbers", branches(8, 4), 4096),
    ("8 chains of 4 calls on 16,384 numbers", branches(8, 4), 16384),
    ("2 chains of 16 calls on 16,384 numbers", branches(2, 16), 16384),
    ("1 chain of 32 calls on 16,384 numbers", branches(1, 32), 16384),
    ("8 chains of 4 calls on 1,048,576 numbers", branches(8, 4), 1 << 20),
]


def best(f: Callable[[Tensor], Tensor], x: Tensor, seconds: float) -> float:
    """Microseconds of the fastest call."""
    end, least = time.perf_counter() + seconds, float("inf")
    while True:
        start = time.perf_counter()
        f(x)
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return least * 1e6


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    ms.set_context(runtime_num_threads=threads)
    print("| graph | one after the other | at once |\n| --- | ---: | ---: |")
    for name, f, n in CASES:
        x = Tensor(np.random.default_rng(0).normal(size=n).astype(np.float32))
        times = {0: float("inf"), 64: float("inf")}
        made = {k: ms.jit(lambda v, f=f: f(v)) for k in times}
        for _ in range(6):
            for k in times:
                ms.set_context(inter_op_parallel_num=k)
                times[k] = min(times[k], best(made[k], x, 0.2))
        print(f"| {name} | {times[0]:.0f} us | {times[64]:.0f} us |", flush=True)


if __name__ == "__main__":
    main()
