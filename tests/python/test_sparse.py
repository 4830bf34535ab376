"""CSRTensor against dense NumPy matrices, in both modes; objects that loops on tensors replace."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import CSRTensor

both = pytest.mark.parametrize("compiled", [lambda f: f, ms.jit], ids=["plain", "jit"])


def compressed(dense: np.ndarray, dtype: Any = ms.int32) -> CSRTensor:
    rows, columns = np.nonzero(dense)
    indptr = np.searchsorted(rows, np.arange(len(dense) + 1))
    values = dense[rows, columns].astype(np.float32)
    parts = ms.Tensor(indptr, dtype), ms.Tensor(columns, dtype), ms.Tensor(values)
    return CSRTensor(*parts, shape=dense.shape)


def drawn(rows: int, columns: int) -> np.ndarray:
    rng = np.random.default_rng(rows)
    dense = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.4)
    dense[rows // 2] = 0  # an empty row
    return dense.astype(np.float32)


def close(got: ms.Tensor, want: np.ndarray) -> None:
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


@both
@pytest.mark.parametrize("shape", [(4, 3), (1, 6), (7, 7)])
def test_products_and_sums(compiled: Callable, shape: tuple[int, int]) -> None:
    dense = drawn(*shape)
    m = compressed(dense, ms.int64)
    vector, matrix = drawn(shape[1], 1)[:, 0] + 1, drawn(shape[1], 5) - 1
    close(compiled(lambda m: m.to_dense())(m), dense)
    close(compiled(lambda m, v: m.mv(v))(m, ms.Tensor(vector)), dense @ vector)
    close(compiled(lambda m, v: m.mv(v))(m, ms.Tensor(vector[:, None])), dense @ vector[:, None])
    close(compiled(lambda m, b: m.mm(b))(m, ms.Tensor(matrix)), dense @ matrix)
    for axis in (0, 1):
        want = dense.sum(axis, keepdims=True)
        close(compiled(lambda m, axis=axis: m.sum(axis))(m), want)


@both
def test_elementwise(compiled: Callable) -> None:
    dense = drawn(4, 3)
    m, row = compressed(dense), np.array([2.0, -4.0, 0.5], np.float32)
    cases: list[tuple[Callable, np.ndarray]] = [
        (lambda m: -m, -dense),
        (lambda m: m.abs(), abs(dense)),
        (lambda m: 3 * m / 2, dense * 1.5),
        (lambda m: m * ms.Tensor(row), dense * row),
        (lambda m: m / ms.Tensor(row), dense / row),
        (lambda m: m * ms.Tensor([5.0]), dense * 5),
    ]
    for fn, want in cases:
        close(compiled(fn)(m).to_dense(), want)
    assert m.astype(ms.float64).dtype is ms.float64
    assert m.ndim == 2 and m.size == np.count_nonzero(dense)


@both
def test_gradients_reach_the_values(compiled: Callable) -> None:
    dense, factor = drawn(4, 3), drawn(3, 2)
    m = compressed(dense)
    indptr, indices, values, shape = m.to_tuple()

    def fn(v: ms.Tensor) -> ms.Tensor:
        return CSRTensor(indptr, indices, v, shape).mm(ms.Tensor(factor))

    rows, columns = np.nonzero(dense)
    close(ms.grad(compiled(fn))(values), factor.sum(1)[columns])


def test_a_matrix_in_a_loop_on_tensors() -> None:
    def fn(x: ms.Tensor, m: CSRTensor) -> CSRTensor:
        while x < 4:
            m = CSRTensor(m.indptr, m.indices, m.values + x, m.shape)
            x = x + 1
        return m

    m = compressed(np.eye(2, 4))
    compiled = ms.jit(fn)
    for start, more in ((2.0, 5.0), (9.0, 0.0)):
        got = compiled(ms.Tensor(start), m)
        assert isinstance(got, CSRTensor) and got.values.tolist() == [1 + more, 1 + more]


@dataclasses.dataclass
class State:
    x: ms.Tensor
    turns: int
    name: str = "state"


def test_an_instance_in_a_loop_on_tensors() -> None:
    def fn(x: ms.Tensor) -> Any:
        state = State(x, 0)
        while state.x < 20:
            state = State(state.x * 2 + 1, state.turns + 1)
        return state.x, state.turns, state.name

    for value in (1.0, 30.0):
        x = ms.Tensor(value)
        assert repr(ms.jit(fn)(x)) == repr(fn(x))


def test_parts_that_do_not_fit_are_refused() -> None:
    indptr, indices, values = ms.Tensor([0, 1]), ms.Tensor([2]), ms.Tensor([1.0])
    with pytest.raises(ValueError, match="2 rows need 3"):
        CSRTensor(indptr, indices, values, (2, 3))
    with pytest.raises(ValueError, match="must be alike"):
        CSRTensor(indptr, indices, ms.Tensor([1.0, 2.0]), (1, 3))
    with pytest.raises(ValueError, match="must be 1-d"):
        CSRTensor(indptr, indices, ms.Tensor(1.0), (1, 3))
    with pytest.raises(TypeError, match="int32 or int64"):
        CSRTensor(indptr, values, values, (1, 3))
    with pytest.raises(TypeError, match="not Tensor"):
        CSRTensor([0, 1], indices, values, (1, 3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two ints"):
        CSRTensor(indptr, indices, values, (1, 3, 4))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2-d with 3 rows"):
        CSRTensor(indptr, indices, values, (1, 3)).mm(ms.Tensor([[1.0]]))
    with pytest.raises(ValueError, match="must be 0 or 1"):
        CSRTensor(indptr, indices, values, (1, 3)).sum(2)


def test_numbers_stay_numbers_in_records() -> None:
    pair = collections.namedtuple("pair", "x n")

    def fn(x: ms.Tensor) -> Any:
        n = int(x)
        return State(x, n).turns, pair(x, n), (State(x, n).name, pair(n, x).x + 1)

    for value in (3.0, 7.0):
        assert repr(ms.jit(fn)(ms.Tensor(value))) == repr(fn(ms.Tensor(value)))
