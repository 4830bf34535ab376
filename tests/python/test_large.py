"""Tensors of more than 2^31 elements: views of one element, and zeros whose pages nobody has
touched, so that neither takes memory. What fills memory or takes minutes is in tests/exhaustive."""

import numpy as np
import pytest

import diptych as ms
from diptych import ops

EDGE = 2**31
COUNT = EDGE + 100
MARKS = {3: 1, EDGE + 7: 5, EDGE + 50: 9}


@pytest.fixture(scope="module")
def zeros() -> ms.Tensor:
    """u8 zeros but for MARKS, over NumPy's memory."""
    try:
        data = np.zeros(COUNT, np.uint8)
    except MemoryError:
        pytest.skip("no address space for 2^31 bytes")
    for place, value in MARKS.items():
        data[place] = value
    return ms.from_numpy(data)


@pytest.fixture
def wide() -> ms.Tensor:
    """One byte seen 2 x COUNT times."""
    return ops.broadcast_to(ms.Tensor(np.array([3], np.uint8)), (2, COUNT))


def test_shape_of_a_view(wide):
    assert wide.shape == (2, COUNT) and wide.size == 2 * COUNT and wide.nbytes == 2 * COUNT
    assert wide.T.shape == (COUNT, 2)
    assert ops.expand_dims(wide, 0).shape == (1, 2, COUNT)
    assert ops.broadcast_to(wide[0], (2**20, COUNT)).size == 2**20 * COUNT


def test_places_in_a_view(wide):
    assert int(wide[1, EDGE + 5]) == 3 and int(wide[-1, -1]) == 3
    assert wide[:, EDGE : EDGE + 3].asnumpy().tolist() == [[3, 3, 3]] * 2
    assert wide[:, :: 2**30].shape == (2, 3)
    with pytest.raises(IndexError, match=str(COUNT)):
        wide[0, COUNT]


def test_too_large_is_an_error(wide):
    with pytest.raises(ValueError, match="2\\^62"):
        ops.broadcast_to(wide, (2**31, 2, COUNT))
    with pytest.raises(ValueError, match="groups is 4611686018427387904"):
        ops.conv2d(ops.ones((1, 2, 3, 3)), ops.ones((2, 2, 1, 1)), groups=2**62)


def test_indexing(zeros):
    assert zeros.shape == (COUNT,) and zeros.size == COUNT
    assert [int(zeros[i]) for i in (3, EDGE + 7, -50, EDGE - 1, EDGE, -1)] == [1, 5, 9, 0, 0, 0]
    assert zeros[EDGE + 5 : EDGE + 9].asnumpy().tolist() == [0, 0, 5, 0]
    assert zeros[-93::43].asnumpy().tolist() == [5, 9, 0]
    places = ms.Tensor(np.array([EDGE + 7, 3, -50]))
    assert zeros[places].asnumpy().tolist() == [5, 1, 9]
    assert ops.gather(zeros, places, 0).asnumpy().tolist() == [5, 1, 9]
    with pytest.raises(IndexError, match=str(COUNT)):
        zeros[ms.Tensor(np.array([COUNT]))]


def test_reshape_and_narrow(zeros):
    rows = zeros.reshape(-1, 4)
    assert rows.shape == (COUNT // 4, 4) and int(rows[(EDGE + 7) // 4, 3]) == 5
    columns = rows.T
    assert int(columns[3, (EDGE + 7) // 4]) == 5
    tail = ops.narrow(zeros, 0, EDGE, 100)
    assert int(ops.argmax(tail)) == 50 and int(ops.sum(tail)) == 14


def test_reductions(zeros):
    assert int(ops.sum(zeros)) == sum(MARKS.values())
    assert int(ops.count_nonzero(zeros)) == len(MARKS)
    assert int(ops.amax(zeros)) == max(MARKS.values())
