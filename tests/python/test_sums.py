"""The pass that makes one sum of a chain of adds: the bits of eager mode, at no cost in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, ops

SIZES = [(), (5,), (3, 0), (7, 33), (70000,), (2, 3, 40, 300)]


def terms(shape: tuple[int, ...], dtype: Any, n: int = 6) -> list[Tensor]:
    """Numbers of many sizes; among the floats NaNs of both signs, infinities and zeros."""
    rng = np.random.default_rng(1)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return [Tensor(rng.integers(info.min, info.max, shape, dtype)) for _ in range(n)]
    odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
    made = []
    for _ in range(n):
        x = np.asarray(rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)
        chosen = rng.random(shape) < 0.2
        made.append(Tensor(np.where(chosen, rng.choice(odd, shape), x)))
    return made


def left(*x: Tensor) -> Tensor:
    total = x[0]
    for term in x[1:]:
        total = total + term
    return total


def right(*x: Tensor) -> Tensor:
    total = x[0]
    for term in x[1:]:
        total = term + total
    return total


def pairs(a: Tensor, b: Tensor, *x: Tensor) -> Tensor:
    return (a + b) + left(*x) + (b + (a + x[0]))


def made_inside(a: Tensor, b: Tensor, *x: Tensor) -> Tensor:
    y = a * b
    return left(y, y.flip(0), b, y, *x) if y.ndim else left(y, b, y, *x)


def many(a: Tensor, b: Tensor, *x: Tensor) -> Tensor:
    return left(*[a, b, *x] * 6)


def bits(x: Tensor) -> bytes:
    return x.asnumpy().tobytes()


@pytest.mark.parametrize("fn", [left, right, pairs, made_inside, many])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "float16"])
def test_sums_have_the_bits_of_eager_mode(
    fn: Callable[..., Tensor], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shape in SIZES:
        x = terms(shape, dtype)
        want = bits(fn(*x))
        for skip in ("", "sums"):
            monkeypatch.setenv("DIPTYCH_SKIP", skip)
            assert bits(ms.jit(lambda *x: fn(*x))(*x)) == want, (shape, skip)


def test_terms_may_lie_in_any_layout() -> None:
    x = terms((2, 8, 6, 50), "float32")
    x[1] = Tensor(np.ones((50, 6, 8, 2), np.float32)).transpose(3, 2, 1, 0)
    x[4] = Tensor(np.ones((2, 6, 50, 8), np.float32)).transpose(0, 3, 1, 2)
    assert bits(ms.jit(left)(*x)) == bits(left(*x))
    same = [t.transpose(0, 3, 1, 2) for t in terms((2, 6, 50, 8), "float32")]
    assert bits(ms.jit(left)(*same)) == bits(left(*same))


def test_the_pass_can_be_left_out(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    x = terms((100,), "float32")
    monkeypatch.setenv("DIPTYCH_LOG", "passes")
    ms.jit(left)(*x)
    assert "pass sums" in capfd.readouterr().err
    monkeypatch.setenv("DIPTYCH_SKIP", "sums")
    ms.jit(lambda *x: left(*x))(*x)
    assert "pass sums" not in capfd.readouterr().err


def test_large_sums_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fn(x: Tensor, y: Tensor) -> Tensor:
        a = ops.exp(x) + ops.sin(x) + x
        return a + ops.cos(a * y) + y + ops.tan(y) + x + ops.sin(y)

    def grad(x: Tensor, y: Tensor) -> Tensor:
        return ms.grad(lambda x, y: fn(x, y).sum())(x, y)

    x, y = terms((100000,), "float32", 2)
    for f in (fn, grad, left):
        arena = {}
        for skip in ("", "sums"):
            monkeypatch.setenv("DIPTYCH_SKIP", skip)
            step = ms.jit(lambda x, y, f=f: f(x, y))
            step(x, y)
            arena[skip] = step.memory_plan()[0]["arena"]
        assert arena[""] <= arena["sums"]


def test_gradients_that_run_the_graph_again() -> None:
    """A loop's gradient runs the graph node by node: sums in it have gradients, too."""

    def fn(x: ms.Tensor) -> ms.Tensor:
        y = x * 1
        while y.sum() < 50:
            y = y + x + y * x + x * x
        return (y + x + y * y).sum()

    x = ms.Tensor([1.0, 2.0])
    compiled = ms.jit(fn)
    assert ms.grad(compiled)(x).tolist() == ms.grad(fn)(x).tolist()
    assert "sums_core" in compiled.graphs()[0]
