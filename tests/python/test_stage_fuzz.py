"""Random functions with control flow: staged and eager results are equal.

Each seed draws a program over two numbers: branches, loops with break, continue and return, lists,
tuples, in-place operators, inner functions, exceptions, contexts. Values, printed text, exceptions
and gradients are compared. A program that differs is made small. Started as a program with the
arguments FIRST N FOLDER this file runs more of them, prints those that differ and exits with 1 if
there are any.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import Program, load, shrunk
from staging import Compiled, outcome, tensors

import diptych as ms

_INPUTS = [(-3.0, 2.0), (0.0, 0.0), (1.0, 5.0), (4.0, -1.0), (7.0, 3.0)]


def tensors_in(value: Any) -> list[ms.Tensor]:
    """The tensors of a result."""
    if isinstance(value, ms.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, list | tuple) else []


def slopes(fn: Callable) -> Callable:
    """The gradient of the sum of all tensors in the result."""

    def total(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        parts = [t.sum().astype(ms.float32) for t in tensors_in(fn(x, y))]
        return sum(parts, x * 0)

    return ms.grad(total, (0, 1))


def differences(text: str, folder: Path) -> list[Any]:
    """Inputs for which staged and eager results of a program differ."""
    fn = load(text, folder)
    staged, slope = Compiled(fn), slopes(fn)
    compiled = ms.jit(lambda x, y: slope(x, y))
    found = []
    for given in _INPUTS:
        pairs = [(outcome(fn, *tensors(*given)), outcome(staged, *tensors(*given)))]
        pairs.append((outcome(slope, *tensors(*given)), outcome(compiled, *tensors(*given))))
        for expected, got in pairs:
            # a refusal with its reason is fine: loops that change types or lengths and the like
            if expected != got and "[DP3" not in str(got):
                found.append((given, expected, got))
    return found


def report(seed: int, folder: Path) -> str:
    """The small program of a seed whose modes differ, and how; empty if they agree."""
    text = Program(seed).text
    if not differences(text, folder):
        return ""

    def fails(fewer: str) -> bool:  # but not only because a name has lost its definition
        return any(
            "NameError" not in str(expected) for _, expected, _ in differences(fewer, folder)
        )

    small = shrunk(text, fails)
    return f"seed {seed}\n{small}" + "\n".join(map(str, differences(small, folder)[:2]))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    assert report(seed, tmp_path) == ""


def test_failures_are_made_small(tmp_path: Path) -> None:
    text = Program(3).text
    assert "x" in text
    small = shrunk(text, lambda fewer: "items" in fewer)
    assert len([line for line in small.splitlines() if line.strip()]) <= 2


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    reports = [report(seed, Path(sys.argv[3])) for seed in range(first, first + count)]
    different = [text for text in reports if text]
    print(*different, f"stage: {count - len(different)} passed, {len(different)} failed", sep="\n")
    sys.exit(bool(different))
