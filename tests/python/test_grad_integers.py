"""Gradients of integer tensors: taken in integers as if they were real (docs/design/007)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import ops


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"], autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def integer(value: Any, dtype: Any = ms.int32) -> ms.Tensor:
    return ms.Tensor(value, dtype)


def slopes(fn: Callable, *values: list[int]) -> list[np.ndarray]:
    """Central differences of the sum of ``fn``, which is of second order at most: exact."""
    at = [np.array(v, np.int64) for v in values]

    def total() -> int:
        return int(fn(*(integer(v.tolist()) for v in at)).asnumpy().sum())

    found = []
    for v in at:
        slope = np.zeros_like(v)
        for i in np.ndindex(v.shape):
            v[i] += 1
            up = total()
            v[i] -= 2
            slope[i] = (up - total()) // 2
            v[i] += 1
        found.append(slope)
    return found


QUADRATICS: list[Callable] = [
    lambda x, y: x * y + x,
    lambda x, y: (x - y) * x - 3 * y,
    lambda x, y: (-x) * y + ops.square(y),
    lambda x, y: ops.pow(x, 2) + y,
    lambda x, y: x.sum() * y,
    lambda x, y: ops.cumsum(x, 0) * y,
    lambda x, y: ops.concat((x, y)) * ops.concat((y, x)),
    lambda x, y: x.reshape((1, 3)).T * y[1:] + y.max(),
    lambda x, y: ops.gather(x * x, ms.Tensor([0, 2, 2]), 0) * 2 + ops.where(x > 2, y, x),
    lambda x, y: x.astype(ms.int64) * y.astype(ms.int16),
]


@pytest.mark.parametrize("fn", QUADRATICS, ids=range(len(QUADRATICS)))
def test_integer_slopes_are_exact_differences(fn: Callable) -> None:
    x, y = [1, 5, 9], [2, -3, 4]
    got = ms.grad(fn, (0, 1))(integer(x), integer(y))
    for g, want in zip(got, slopes(fn, x, y), strict=True):
        assert g.dtype is ms.int32
        np.testing.assert_array_equal(g.asnumpy(), want)


def test_values_beyond_the_floats_stay_exact() -> None:
    x = integer(2**30 + 1, ms.int64)
    assert ms.grad(lambda x: x * x)(x).item() == 2**31 + 2


def test_a_float_result_is_cut_to_the_integer() -> None:
    x = integer([3, 7])
    got = ms.grad(lambda x: x * ms.Tensor(2.75))(x)
    assert got.dtype is ms.int32 and got.tolist() == [2, 2]
    assert ms.grad(lambda x: x / 2)(x).tolist() == [0, 0]


def test_a_float_cast_to_an_integer_is_a_constant() -> None:
    got = ms.grad(lambda x: x.astype(ms.int32) * 2 + x)(ms.Tensor(2.5))
    assert got.dtype is ms.float32 and got.item() == 1.0


def test_bool_has_no_slope() -> None:
    got = ms.grad(lambda m, x: ops.where(m, x, 0 * x))(ms.Tensor([True, False]), integer([1, 2]))
    assert got.dtype is ms.bool_ and not got.asnumpy().any()


def test_branches_and_loops_on_tensors() -> None:
    def fn(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        total = y * 0
        while x < 20:
            x = x + y
            if x > 10:
                total = total + x * y
            else:
                total -= y
        return total

    # x runs over 7, 11, 15, 19, 23: -y + y (4 x + 14 y) at x = 3, y = 4
    got = ms.grad(fn, (0, 1))(integer(3), integer(4))
    assert [g.item() for g in got] == [4 * 4, -1 + 4 * 3 + 28 * 4]


def test_a_sum_carried_from_a_constant_start() -> None:
    def fn(n: ms.Tensor, x: ms.Tensor) -> ms.Tensor:
        total = ms.Tensor(1, ms.int32)
        i = 0
        while i < n:
            total = total * x
            i += 1
        return total

    assert ms.grad(fn, 1)(integer(4), integer(3)).item() == 4 * 3**3


def test_gradients_of_gradients_and_older_forms() -> None:
    x = integer(3)
    assert ms.grad(ms.grad(lambda x: x * x * x))(x).item() == 18
    got = ops.GradOperation(get_all=True)(lambda x, y: x * y)(x, integer(5))
    assert [g.item() for g in got] == [5, 3]
    value, tangent = ms.jvp(lambda x: x * x, x, integer(1))
    assert (value.item(), tangent.item()) == (9, 6)
    value, slope = ms.value_and_grad(lambda x: x * x)(x)
    assert (value.item(), slope.item()) == (9, 6)


def test_in_place_operators_leave_the_variable_alone() -> None:
    def fn(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        out = x * 3
        x += 1
        y *= x
        return out + y

    for dtype in (ms.int32, ms.float32):
        got = ms.grad(fn, (0, 1))(integer(2, dtype), integer(5, dtype))
        assert [g.item() for g in got] == [3 + 5, 3]
