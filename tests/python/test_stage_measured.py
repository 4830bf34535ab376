"""Ops whose result sizes depend on values, in compiled functions: sizes are assumed and checked."""

from __future__ import annotations

from typing import Any

import pytest
from staging import plain

import diptych as ms
from diptych import nn, ops

VALUES = ([1.0, -2.0, 3.0, 0.0, 3.0], [-1.0, -2.0, 0.5, 0.0, -3.0], [1.0, -2.0, 3.0, 0.0, 3.0])


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x[x > 0],
        lambda x: x[x > 9],
        lambda x: x[(x > 0) & (x < 3)] * 2,
        lambda x: x.reshape(5, 1)[x > 0],
        lambda x: (x.reshape(5, 1) * x)[x > 0, 1:3],
        lambda x: ops.nonzero(x),
        lambda x: ops.nonzero(x.reshape(5, 1) * x > 1),
        lambda x: ops.masked_select(x, x < 0),
        lambda x: ops.masked_select(x.reshape(5, 1), x < 0),
        lambda x: ops.unique(x),
        lambda x: ops.unique_consecutive(x),
        lambda x: ops.bincount((x + 3).astype(ms.int32), minlength=2),
        lambda x: x[x > 0].sum() / x[x > 0].shape[0],
        lambda x: [y for y in x[x > 0]],
        lambda x: x[x > 0][x[x > 0] > 1],
        lambda x: ops.relu(x[x > 0]) if x[0] > 0 else ops.nonzero(x).sum(),
    ],
)
def test_same_as_eager(fn: Any) -> None:
    compiled = ms.jit(fn)
    for values in VALUES:
        x = ms.Tensor(values)
        assert plain(compiled(x)) == plain(fn(x))


def test_each_size_is_compiled_once() -> None:
    compiled = ms.jit(lambda x: x[x > 0])
    for values in VALUES * 3:
        compiled(ms.Tensor(values))
    assert compiled.cache_info()["entries"] == 2
    assert "a length that only a run can tell is 3" in compiled.explain()


def test_sizes_of_inputs_may_change_too() -> None:
    compiled = ms.jit(lambda x: x[x > 0] * 2)
    for n in (3, 5, 8, 5):
        x = ops.arange(n).astype(ms.float32) - 1
        assert plain(compiled(x)) == plain(x[x > 0] * 2)


def loss(x: Any) -> Any:
    chosen = x[x > 0]
    return (chosen * chosen).sum() + ops.masked_select(x, x < 0).mean()


def second(x: Any) -> Any:
    return ms.grad(lambda x: (ms.grad(loss)(x) ** 2).sum())(x)


@pytest.mark.parametrize(
    ("compiled", "eager"),
    [
        (ms.jit(ms.grad(loss)), ms.grad(loss)),
        (ms.grad(ms.jit(loss)), ms.grad(loss)),
        (ms.jit(second), second),
    ],
)
def test_gradients(compiled: Any, eager: Any) -> None:
    for values in VALUES:
        assert plain(compiled(ms.Tensor(values))) == plain(eager(ms.Tensor(values)))


def test_a_run_that_counts_changes_nothing() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.steps = ms.Parameter(ms.Tensor(0.0), name="steps")

        def construct(self, x: Any) -> Any:
            self.steps += 1
            return x[x > 0]

    net = Net()
    run = ms.jit(net)
    for i, values in enumerate(VALUES):
        run(ms.Tensor(values))
        assert float(net.steps) == i + 1


def test_in_a_loop_on_tensors_it_is_refused() -> None:
    def fn(x: Any) -> Any:
        while x.sum() < 10:
            x = x + x[x > 0].sum()
        return x

    with pytest.raises(NotImplementedError, match="the size of its result depends on the values"):
        ms.jit(fn)(ms.Tensor([1.0, -0.5]))


def test_the_size_of_a_dimension_that_is_traced_is_refused() -> None:
    traced = ms.jit(lambda x: x[x > 0], capture_mode="trace")
    with pytest.raises(NotImplementedError, match="the size of its result depends on the values"):
        traced(ms.Tensor([1.0, -0.5]))


def set_part(x: Any, n: Any) -> Any:
    x[:n] = 9.0
    return x


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, n: x[:n],
        lambda x, n: x[n - 1 : n + 1],
        lambda x, n: x[-n:] * 2,
        lambda x, n: x.reshape(2, 3)[..., :n],
        lambda x, n: x.reshape(2, 3)[None, 1, n - 1 :],
        lambda x, n: x.reshape(3, 2)[::2][n:, 0],
        lambda x, n: x[: int(n) : 2],
        set_part,
    ],
)
def test_bounds_of_slices(fn: Any) -> None:
    compiled = ms.jit(fn, cache_limit=32)
    for n in (2, 1, 0, 5, 9, -2):
        x = [float(i) for i in range(6)]
        assert plain(compiled(ms.Tensor(x), ms.Tensor(n))) == plain(fn(ms.Tensor(x), ms.Tensor(n)))


def test_slices_in_a_loop_on_tensors_are_refused() -> None:
    def fn(x: Any, n: Any) -> Any:
        while n < 5:
            x = x + x[:n].sum()
            n = n + 1
        return x

    with pytest.raises(TypeError, match="the bounds of a slice are known at run time only"):
        ms.jit(fn)(ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor(1))


def test_a_length_that_cannot_be_compiled_leaves_the_cache_sound() -> None:
    compiled = ms.jit(lambda x: x[x > 0].reshape(2), cache_limit=1, dynamic=False)
    with pytest.raises(ValueError, match="reshape"):
        compiled(ms.Tensor([1.0, 2.0, 3.0]))
    for x in (ms.Tensor([1.0, -1.0, 2.0, -1.0]), ms.Tensor([3.0, 4.0])):
        assert compiled(x).shape == (2,)
