"""Dense results of more than 2^31 elements, and searches through as many: minutes, and gigabytes.
`make exhaustive` runs them; where memory is short they are skipped."""

from pathlib import Path

import numpy as np
import pytest

import diptych as ms
from diptych import ops

EDGE = 2**31
COUNT = EDGE + 100
NEEDED = 8 << 30


def free_memory() -> int:
    """Bytes that can be had without swapping; 0 where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


@pytest.fixture(scope="module")
def ramp() -> ms.Tensor:
    """0, 1 ... 6, 0, 1 ... as int8, with 100 at EDGE + 7."""
    if free_memory() < NEEDED:
        pytest.skip(f"{free_memory() >> 20} MiB are free; the test takes {NEEDED >> 20}")
    data = np.tile(np.arange(7, dtype=np.int8), COUNT // 7 + 1)[:COUNT]
    data[EDGE + 7] = 100
    return ms.from_numpy(data)


def test_elementwise(ramp):
    y = ops.add(ramp, 1)
    assert y.size == COUNT and int(y[EDGE + 7]) == 101
    for start in (0, EDGE - 3, COUNT - 4):
        want = (np.arange(start, start + 4) % 7 + 1).tolist()
        assert y[start : start + 4].asnumpy().tolist() == want


def test_sum(ramp):
    places = np.arange(COUNT - COUNT % 7, COUNT) % 7
    want = COUNT // 7 * 21 + int(places.sum()) + 100 - (EDGE + 7) % 7
    assert int(ops.sum(ramp, dtype=ms.int64)) == want


def test_searches(ramp):
    assert int(ops.argmax(ramp)) == EDGE + 7
    places = ops.nonzero(ops.greater(ramp, 50))
    assert places.asnumpy().tolist() == [[EDGE + 7]]


def test_concat(ramp):
    y = ops.concat([ramp, ramp[:5]])
    assert y.size == COUNT + 5 and int(y[EDGE + 7]) == 100
    assert y[COUNT:].asnumpy().tolist() == [0, 1, 2, 3, 4]
