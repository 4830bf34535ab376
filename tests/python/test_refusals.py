"""Arguments that no call can take: errors that name them, and no crash."""

import numpy as np
import pytest

import diptych as ms
from diptych import ops


class Clears:
    """An int that empties the list it stands in."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __index__(self):
        self.numbers.clear()
        return 2


class Truth(int):
    """An int that makes the list it stands in longer when asked whether it is 0."""

    def __new__(cls, numbers):
        made = super().__new__(cls, 1)
        made.numbers = numbers
        return made

    def __bool__(self):
        self.numbers.extend([1] * 100)
        return True


def test_lists_that_change_while_they_are_read():
    shape = []
    shape.extend([Clears(shape), 3])
    assert ops.reshape(ops.zeros(6), shape).shape == (2, 3)
    numbers = []
    numbers.extend([Truth(numbers), 1])
    with pytest.raises(RuntimeError, match="changed while it was read"):
        ms.Tensor(numbers, ms.bool_)


@pytest.mark.parametrize("call, error, text", [
    (lambda x: ops.sum(x, 2**70), OverflowError, f"sum: argument 'axis' is {2**70}"),
    (lambda x: ops.einsum("é->é", x), ValueError, "einsum: the equation has"),
    (lambda x: x["a"], IndexError, "an index is of type str"),
    (lambda x: ops.cross(x, x, 5), ValueError, "cross: .* dim is 5"),
    (lambda x: ops.trapz(x, dim=9), ValueError, "trapz: dim is 9"),
    (lambda x: ops.shuffle(x.sum()), ValueError, "shuffle: x is 0-d"),
    (lambda x: ops.tensordot(x, x, -1), ValueError, "tensordot: axes is -1"),
    (lambda x: ops.interpolate(x.reshape(1, 1, 3), scale_factor=float("nan")), ValueError,
     "scale_factor is nan"),
    (lambda x: ops.interpolate(x.reshape(1, 1, 3), scale_factor=(1.0, 2.0)), ValueError,
     "takes 1 factors"),
])
def test_errors_name_the_argument(call, error, text):
    with pytest.raises(error, match=text):
        call(ms.Tensor([1.0, 2.0, 3.0]))


def test_dlpack_of_turned_axes_is_dense():
    turned = np.from_dlpack(ms.Tensor([1.0, 2.0, 3.0])[::-1])
    assert turned.strides == (4,) and turned.tolist() == [3, 2, 1]
