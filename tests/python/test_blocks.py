"""Searching, listing and scattering at sizes around the blocks and parts they work in."""

import numpy as np
import pytest

from diptych import Tensor, _core

OPS = _core.op_table
TYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 16, 17, 1000])
def test_searchsorted(n: int, dtype: type) -> None:
    rng = np.random.default_rng(n)
    line = np.sort((rng.random(n) * 50).astype(dtype))
    values = (rng.random(77) * 60).astype(dtype)
    if dtype in (np.float32, np.float64) and n > 3:
        line[-2:], values[5:8] = np.nan, [np.nan, np.inf, -np.inf]
    for right in (False, True):
        got = OPS["searchsorted"](Tensor(line), Tensor(values), right).asnumpy()
        np.testing.assert_array_equal(
            got, np.searchsorted(line, values, "right" if right else "left")
        )


def test_searchsorted_in_several_lines() -> None:
    rng = np.random.default_rng(0)
    lines, values = np.sort(rng.random((5, 33)), 1), rng.random((5, 40))
    got = OPS["searchsorted"](Tensor(lines), Tensor(values)).asnumpy()
    want = [np.searchsorted(a, v) for a, v in zip(lines, values, strict=True)]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "shape", [(), (0,), (3, 0), (1,), (16385,), (100003,), (300, 401), (7, 11, 13, 5), (2, 70000)]
)
@pytest.mark.parametrize("share", [0.3, 0.001, 1.0])
def test_nonzero(shape: tuple[int, ...], share: float) -> None:
    x = (np.random.default_rng(1).random(shape) < share).astype(np.float32)
    got = OPS["nonzero"](Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, np.argwhere(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int16, np.uint8])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_index_set_of_numbers(dtype: type, reduction: str) -> None:
    """In order: the last of equal places stays, sums come out as NumPy's one after the other."""
    rng = np.random.default_rng(2)
    start = rng.integers(0, 50, (30, 40)).astype(dtype)
    rows, columns = rng.integers(0, 30, (50, 60)), rng.integers(-40, 40, 60)
    for values in (rng.integers(0, 9, (50, 60)).astype(dtype), np.ones((60,), dtype)):
        want = start.copy()
        if reduction == "add":
            np.add.at(want, (rows, columns), values)
        else:
            want[rows, columns] = values
        places = [Tensor(rows), Tensor(columns)]
        got = OPS["index_set"](Tensor(start), Tensor(values), places, None, reduction)
        np.testing.assert_array_equal(got.asnumpy(), want)
