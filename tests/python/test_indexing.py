"""Reading and writing with every kind of index, against NumPy."""

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
S = slice

BASIC = [0, -1, (1, 2), (1, -2, 3), S(None), S(1, 3), S(None, None, 2), S(None, None, -1),
         S(5, 1), S(-2, None), (S(None), 1), (S(None), S(0, 4, 3), 2), ..., (..., 0), (0, ...),
         (0, ..., 1), None, (None, 0), (0, None), (S(1, 2), None, ..., None), (1, None, 2, 3),
         (0, 0, 0), (), np.int64(1), (S(2, 0, -1), S(3, None, -2))]
INDICES = [[0, 2], [-1], np.array([[0, 1], [2, 2]]), ([0, 1], [1, 3]), ([[0], [1]], [1, 3]),
           (S(None), [0, 3]), (S(1, 3), [3, 0], S(None, None, 2)), (0, [1, 2]), ([1, 2], 0),
           (0, S(None), [1, 2]), ([0, 1], S(None), [1, 2]), ([0, 1], None, [1, 2]),
           (S(None), [0, 1], [1, 2]), (None, [0, 1]), (..., [0, 4]), ([0, 1], ..., [0, 4]),
           (S(None), [1], ..., [2]), ([0, 1, 2], [0, 1, 2], [0, 1, 2]), (S(None), None, [0, 1])]
MASKS = [A > 30, A[:, :, 0] > 20, (S(None), A[0] > 7), ([True, False, True],),
         (A[:, 0, 0] > 10, 0), (..., np.array([True, False, True, False, True])),
         (A[:, 0, 0] > 100), (S(0, 2), A[0, :, 0] > 5, [1]), np.zeros((3, 4, 5), bool)]
NAMES = [f"basic{i}" for i in range(len(BASIC))] + [f"index{i}" for i in range(len(INDICES))] + [
    f"mask{i}" for i in range(len(MASKS))]


def as_tensors(key):
    """The same key with its arrays as tensors."""
    if isinstance(key, tuple):
        return tuple(as_tensors(k) for k in key)
    return Tensor(np.asarray(key)) if isinstance(key, list | np.ndarray) else key


def lists_to_arrays(key):
    if isinstance(key, tuple):
        return tuple(lists_to_arrays(k) for k in key)
    return np.asarray(key) if isinstance(key, list) else key


@pytest.mark.parametrize("convert", [lambda k: k, as_tensors], ids=["plain", "tensors"])
@pytest.mark.parametrize("key", BASIC + INDICES + MASKS, ids=NAMES)
def test_get(key, convert):
    want = A[lists_to_arrays(key)]
    got = Tensor(A)[convert(key)]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("kind", ["number", "full", "row"])
@pytest.mark.parametrize("key", BASIC + INDICES + MASKS, ids=NAMES)
def test_set(key, kind):
    want = A.copy()
    where = lists_to_arrays(key)
    shape = want[where].shape
    value = -1.0
    if kind == "full":
        value = -np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    if kind == "row":
        value = -np.arange(shape[-1] if shape else 1, dtype=np.float32).reshape(shape[-1:])
    want[where] = value
    t = Tensor(A)
    before = +t
    t[key] = Tensor(value) if kind == "row" else value
    np.testing.assert_array_equal(t.asnumpy(), want)
    np.testing.assert_array_equal(before.asnumpy(), A)


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, 0, 5), [0, 3], (S(None), [4]), [-4]], ids=str)
def test_out_of_bounds(key):
    with pytest.raises(IndexError):
        Tensor(A)[key]
    t = Tensor(A)
    with pytest.raises(IndexError):
        t[key] = 0
    np.testing.assert_array_equal(t.asnumpy(), A)


@pytest.mark.parametrize("key", [(0, 0, 0, 0), (..., ...), 1.5, "a", (0, "a"), [1.0], {1}, True,
                                 A[0] > 3, (S(None, None, 0),)], ids=str)
def test_bad_keys(key):
    with pytest.raises((IndexError, TypeError, ValueError)):
        Tensor(A)[key]


def test_bad_values():
    t = Tensor(A)
    for key, value in [(0, np.zeros((3, 3))), (S(None), "x"), ([0, 1], np.zeros(3)),
                       (0, object())]:
        with pytest.raises((ValueError, TypeError)):
            t[key] = value
    np.testing.assert_array_equal(t.asnumpy(), A)
    with pytest.raises(TypeError, match="cannot be deleted"):
        del t[0]


def test_value_dtypes():
    t = Tensor([1, 2, 3])
    t[0] = 7.9
    t[1] = True
    t[2] = Tensor(5.5)
    assert t.tolist() == [7, 1, 5] and t.dtype is ms.int64
    with pytest.raises(OverflowError):
        Tensor([1], ms.uint8)[0] = 256


def test_results_are_values():
    t = Tensor(A)
    row = t[0]
    t[0] = 0
    assert row.asnumpy().sum() == A[0].sum()


def test_new_axes_limit():
    with pytest.raises(IndexError):
        Tensor(A)[(None,) * 6]


def test_gradients_flow_through_indexing():
    def f(x):
        y = x * 2
        y[0] = x[1] * 3
        return (y[:, 1:3] * y[[0, 2]][:, :, None].sum()).sum() + x[-1, 0] ** 2

    def at(a):
        y = a * 2
        y[0] = a[1] * 3
        return (y[:, 1:3] * y[[0, 2]][:, :, None].sum()).sum() + a[-1, 0] ** 2

    a = np.arange(12, dtype=np.float64).reshape(3, 4) / 7
    got = ms.grad(f)(Tensor(a)).asnumpy()
    want = np.zeros_like(a)
    for i in np.ndindex(a.shape):
        step = np.zeros_like(a)
        step[i] = 1e-6
        want[i] = (at(a + step) - at(a - step)) / 2e-6
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("key", [np.zeros((0, 3), bool), (np.zeros((0, 3), bool), None),
                                 (..., np.zeros((3, 2), bool)), [], [[]],
                                 (slice(None), np.zeros(0, np.int32))])
def test_empty_arrays(key):
    x = np.zeros((0, 3, 2), np.float32)
    assert Tensor(x)[key].shape == x[key].shape


def test_empty_array_of_floats():
    with pytest.raises(IndexError, match="dtype float32"):
        Tensor([1.0, 2.0])[np.zeros(0, np.float32)]


@pytest.mark.parametrize("value", [2**64 - 1, 2**63])
def test_large_unsigned_indices_do_not_count_from_the_end(value: int) -> None:
    x, index = ms.Tensor([1.0, 2.0, 3.0]), ms.Tensor(np.array([value], np.uint64))
    for take in (lambda: x[index], lambda: ms.ops.gather(x, index, 0)):
        with pytest.raises(IndexError, match="axis 0 has size 3"):
            take()
