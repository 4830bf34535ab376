"""Loops on tensors whose rounds change shapes or shorten lists: staged for a number of rounds."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from staging import plain

import diptych as ms
from diptych import ops


def doubled(x: Any) -> Any:
    while x.sum() < 10:
        x = ops.concat((x, x))
    return x * 2


def popped(x: Any) -> Any:
    stack = [x, x + 1, x + 2]
    while stack[-1].sum() > 3:
        stack.pop()
    return stack, len(stack)


def left_by_break(x: Any, n: Any) -> Any:
    for i in range(n):
        if x.sum() > 8:
            break
        x = ops.concat((x, x[:1] * i))
    else:
        x = x + 100
    return x.reshape(-1), x.shape


def read_in_the_loop(x: Any) -> Any:
    out = [x]
    while out[-1].sum() < 20:
        out.append(ops.stack(out).sum(0) + len(out))
    return ops.stack(out)


def decode(x: Any, n: Any) -> Any:
    tokens = [x[0]]
    for i in range(n):
        seen = ops.stack(tokens[-3:])
        if seen.sum() > 30:
            tokens.append(seen.sum() - 30)
        else:
            tokens.append(seen.sum() + i)
    return tokens


def under_a_condition(x: Any) -> Any:
    y = doubled(x).sum() if x[0] > 0 else x.sum()
    return y + 1


def two_loops(x: Any) -> Any:
    x = doubled(x)
    while x.shape[0] > 1 and x.sum() > 5:
        x = x[1:]
    return x


def later_shape(x: Any) -> Any:
    return doubled(x).reshape(4, -1)


CALLS = [
    (doubled, [([1.0],), ([2.0],), ([5.0],), ([1.0],), ([20.0],)]),
    (popped, [([2.0],), ([1.0],), ([2.0],)]),
    (left_by_break, [([1.0, 2.0], 3), ([1.0, 2.0], 9), ([1.0, 2.0], 0), ([9.0, 2.0], 3)]),
    (read_in_the_loop, [([1.0],), ([2.0],), ([30.0],), ([1.0],)]),
    (decode, [([1.0], 3), ([2.0], 7), ([1.0], 0), ([2.0], 3)]),
    (under_a_condition, [([1.0],), ([-1.0],), ([3.0],)]),
    (two_loops, [([1.0],), ([4.0],)]),
    (later_shape, [([1.0],), ([2.5],), ([1.0],)]),
]


@pytest.mark.parametrize(("fn", "calls"), CALLS, ids=lambda v: getattr(v, "__name__", ""))
def test_same_as_eager(fn: Any, calls: Any) -> None:
    compiled = ms.jit(fn)
    for x, *n in calls:
        args = (ms.Tensor(x), *map(ms.Tensor, n))
        assert plain(compiled(*args)) == plain(fn(*args))


def test_each_number_of_rounds_is_kept() -> None:
    compiled = ms.jit(doubled)
    for x in (1.0, 2.0, 5.0) * 3:
        compiled(ms.Tensor([x]))
    assert compiled.cache_info()["entries"] == 3
    compiles = compiled.cache_info()["compiles"]
    for x in (5.0, 1.0, 2.0):
        compiled(ms.Tensor([x]))
    assert compiled.cache_info()["compiles"] == compiles


def test_counting_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ms.jit(lambda x, n: (grow(x, n), 1)[0])(ms.Tensor([1.0]), ms.Tensor(20))
    assert made.shape == (21,)


def grow(x: Any, n: Any) -> Any:
    while x.shape[0] <= n:
        x = ops.concat((x, x[-1:]))
    return x


@pytest.mark.parametrize("fn", [doubled, later_shape])
def test_gradients(fn: Any) -> None:
    def loss(x: Any) -> Any:
        return (fn(x) ** 2).sum()

    inside, outside = ms.jit(ms.grad(loss)), ms.grad(ms.jit(loss))
    for x in (ms.Tensor([1.0]), ms.Tensor([2.5]), ms.Tensor([1.0])):
        expected = plain(ms.grad(loss)(x))
        assert plain(inside(x)) == expected and plain(outside(x)) == expected


def test_too_many_rounds_are_refused() -> None:
    with pytest.raises(TypeError, match="Loop changes the type of 'x'"):
        ms.jit(grow)(ms.Tensor([1.0]), ms.Tensor(60))


def test_other_types_are_refused() -> None:
    def fn(x: Any) -> Any:
        while x.sum() < 10:
            x = x.astype(ms.float32 if x.dtype == ms.float64 else ms.float64) + 1
        return x

    with pytest.raises(TypeError, match="Loop changes the type of 'x'"):
        ms.jit(fn)(ms.Tensor([1.0]))
