"""The Tensor handle: making, operators, in-place semantics, protocols, printing, copying."""

import copy
import gc
import math
import operator
import pickle
import warnings

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor

FLOATS = [ms.float16, ms.bfloat16, ms.float32, ms.float64]
INTS = [ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64]


# ---- making


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, ms.int64, ()),
        (1.5, ms.float32, ()),
        (True, ms.bool_, ()),
        ([1, 2], ms.int64, (2,)),
        ([1, 2.5], ms.float32, (2,)),
        ([True, False], ms.bool_, (2,)),
        ([[1, 2, 3], [4, 5, 6]], ms.int64, (2, 3)),
        ([], ms.float32, (0,)),
        ([[], []], ms.float32, (2, 0)),
        (np.zeros((2, 3), np.int8), ms.int8, (2, 3)),
        (np.float64(2.0), ms.float32, ()),
        (range(3), None, None),
    ],
)
def test_default_dtypes(data, dtype, shape):
    if dtype is None:
        with pytest.raises(TypeError, match="data is of type range"):
            Tensor(data)
        return
    t = Tensor(data)
    assert t.dtype is dtype
    assert t.shape == shape


def test_making_copies_numpy():
    a = np.zeros(3, np.float32)
    t = Tensor(a)
    a[:] = 1
    assert t.tolist() == [0, 0, 0]


def test_from_numpy_shares():
    a = np.zeros(3, np.float32)
    t = ms.from_numpy(a)
    a[1] = 5
    assert t.tolist() == [0, 5, 0]


@pytest.mark.parametrize("bad", [[[1, 2], [3]], [[1], 2], [1, [2]]])
def test_uneven_lists(bad):
    with pytest.raises(ValueError, match="lengths differ"):
        Tensor(bad)


@pytest.mark.parametrize("bad", ["text", object(), [object()], {1: 2}, b"bytes", [None]])
def test_bad_data(bad):
    with pytest.raises((TypeError, ValueError)):
        Tensor(bad)


def test_nesting_limit():
    nested = 1.0
    for _ in range(9):
        nested = [nested]
    with pytest.raises(ValueError, match="deeper than 8"):
        Tensor(nested)


def test_lists_of_tensors():
    t = Tensor([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])])
    assert t.tolist() == [[1, 2], [3, 4]]
    assert t.dtype is ms.float32


def test_shape_and_init():
    assert Tensor(shape=(2, 3), dtype=ms.float16).shape == (2, 3)
    assert Tensor(shape=(2,), dtype=ms.float32, init="ones").tolist() == [1, 1]
    with pytest.raises(ValueError, match="not both"):
        Tensor([1], shape=(1,))
    with pytest.raises(ValueError, match="can not be None"):
        Tensor(shape=(None, 3), dtype=ms.float32, init="ones")


def test_integer_range():
    assert Tensor(2**63, ms.uint64).item() == 2**63
    assert Tensor(-(2**63), ms.int64).item() == -(2**63)
    for value, dtype in [(256, ms.uint8), (-1, ms.uint8), (2**31, ms.int32), (2**64, ms.uint64)]:
        with pytest.raises(OverflowError, match="does not fit"):
            Tensor(value, dtype)


# ---- dtypes


def test_dtype_objects():
    assert repr(ms.float32) == "Float32"
    assert repr(ms.bool_) == "Bool"
    assert repr(ms.uint8) == "UInt8"
    assert repr(ms.bfloat16) == "BFloat16"
    assert ms.dtype.DType("float32") is ms.float32
    assert ms.dtype.DType(np.float32) is ms.float32
    assert ms.dtype.DType(np.dtype("int16")) is ms.int16
    assert ms.dtype.DType(float) is ms.float32
    assert ms.float32 != ms.float64
    assert pickle.loads(pickle.dumps(ms.int8)) is ms.int8
    assert copy.deepcopy(ms.int8) is ms.int8
    with pytest.raises(TypeError, match="is not a dtype; legal"):
        ms.dtype.DType("float31")


@pytest.mark.parametrize("dtype", FLOATS + INTS + [ms.bool_])
def test_elements_of_every_dtype(dtype):
    t = Tensor([0, 1, 1], dtype)
    assert t.tolist() == [0, 1, 1]
    assert t.itemsize * 3 == t.nbytes
    assert t[1].item() == 1


# ---- operators

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
             operator.mod, operator.pow]


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("scalar", [2, 2.5])
def test_arithmetic_with_numbers(op, scalar):
    a = np.array([1.0, 2.0, 3.5], np.float32)
    t = Tensor(a)
    for got, want in [(op(t, scalar), op(a, np.float32(scalar))),
                      (op(scalar, t), op(np.float32(scalar), a)),
                      (op(t, t), op(a, a))]:
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)
        assert got.dtype is ms.float32


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.eq, operator.ne, operator.gt,
                                operator.ge])
def test_comparison(op):
    a = np.array([1.0, 2.0, np.nan], np.float32)
    assert op(Tensor(a), 2).tolist() == op(a, np.float32(2)).tolist()
    assert op(2, Tensor(a)).tolist() == op(np.float32(2), a).tolist()


def test_weak_numbers():
    assert (Tensor([1], ms.float16) + 1.5).dtype is ms.float16
    assert (Tensor([1], ms.int8) + 1).dtype is ms.int8
    assert (Tensor([1], ms.int8) + 1.5).dtype is ms.float32
    assert (Tensor([True]) + 1).dtype is ms.int64
    assert (Tensor([1], ms.int32) / 2).dtype is ms.float32
    assert (Tensor([1], ms.int32) + np.float64(1.5)).dtype is ms.float32
    with pytest.raises(OverflowError):
        Tensor([1], ms.uint8) + 300
    assert (Tensor([1], ms.uint8) < 300).tolist() == [True]


def test_numpy_operands():
    a, t = np.array([1.0, 2.0], np.float32), Tensor([3.0, 4.0])
    for got in (a + t, t + a):
        assert isinstance(got, Tensor)
        assert got.tolist() == [4, 6]
    assert (t + [1, 2]).tolist() == [4, 6]


def test_bits_and_logic():
    t = Tensor([1, 2, 3])
    assert (t & 1).tolist() == [1, 0, 1]
    assert (t | 4).tolist() == [5, 6, 7]
    assert (t ^ t).tolist() == [0, 0, 0]
    assert (t << 1).tolist() == [2, 4, 6]
    assert (t >> 1).tolist() == [0, 1, 1]
    assert (~t).tolist() == [-2, -3, -4]
    assert (-t).tolist() == [-1, -2, -3]
    assert abs(-t).tolist() == [1, 2, 3]
    assert (+t).tolist() == [1, 2, 3]
    q, r = divmod(Tensor([7]), 3)
    assert (q.item(), r.item()) == (2, 1)


def test_matmul_operator():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (Tensor(a) @ Tensor(a.T)).tolist() == (a @ a.T).tolist()
    with pytest.raises(TypeError):
        Tensor(a) @ 2
    with pytest.raises(ValueError, match="matmul"):
        Tensor(a) @ Tensor(a)


@pytest.mark.parametrize("other", ["x", None, object(), {}])
def test_foreign_operands(other):
    with pytest.raises(TypeError):
        Tensor([1.0]) + other
    assert (Tensor([1.0]) == other) is False
    assert (Tensor([1.0]) != other) is True


def test_broadcast_error_names_sizes():
    with pytest.raises(ValueError, match="add: shapes do not broadcast"):
        Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])


# ---- in place


def test_in_place_repoints_the_handle():
    t = Tensor([1.0, 2.0])
    same, before = t, +t
    t += 1
    assert same.tolist() == [2, 3]
    assert before.tolist() == [1, 2]
    t *= Tensor([2.0, 3.0])
    t -= 1
    t /= 2
    assert t.tolist() == [1.5, 4]


def test_in_place_keeps_dtype_and_shape():
    t = Tensor([1.0], ms.float16)
    t += Tensor([1.0], ms.float32)
    assert t.dtype is ms.float16
    i = Tensor([1])
    with pytest.raises(TypeError, match="float32 result cannot be kept in a int64"):
        i += 1.5
    with pytest.raises(ValueError, match="in-place"):
        i += Tensor([[1], [2]])
    assert i.tolist() == [1]


def test_writes_to_parts_warn_once():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    row = x[0]
    with pytest.warns(UserWarning, match=r"x\[0\] \+= 1") as seen:
        row += 1
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row += 1  # the handle has a value of its own by now
        x[0] += 10
        x[0, 1] = 7
        (x + 1)[0] = 3
        lone = (x + 1).reshape((4,))
        lone += 1  # nobody else shares it
    assert x.tolist() == [[11, 7], [3, 4]]
    with pytest.warns(UserWarning, match="not views"):
        x[0][1] = 5
    with pytest.warns(UserWarning, match="not views"):
        flat = x.reshape((4,))
        flat[0] = 100
    assert x.tolist() == [[11, 7], [3, 4]]


# ---- Python numbers and containers


def test_truth_and_numbers():
    assert bool(Tensor(1.0)) and not bool(Tensor([0]))
    assert bool(Tensor(math.nan))
    assert int(Tensor(3.7)) == 3 and float(Tensor(2)) == 2.0
    assert [10, 20][Tensor(1)] == 20
    with pytest.raises(ValueError, match="ambiguous"):
        bool(Tensor([1, 2]))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(Tensor([]))
    with pytest.raises(TypeError, match="one element"):
        int(Tensor([1, 2]))
    with pytest.raises(TypeError, match="only integer tensors"):
        [1][Tensor(0.0)]


def test_containers():
    t = Tensor([[1, 2], [3, 4]])
    assert len(t) == 2
    assert [row.tolist() for row in t] == [[1, 2], [3, 4]]
    assert 3 in t and 9 not in t
    assert t.item(1, 0) == 3 and t.item(3) == 4 and t.item(-3) == 2
    assert Tensor(5).item(0) == 5
    with pytest.raises(ValueError, match="one element"):
        t.item()
    with pytest.raises(TypeError, match="0-d"):
        len(Tensor(1))
    with pytest.raises(TypeError, match="0-d"):
        iter(Tensor(1))
    a, b = t
    assert b.tolist() == [3, 4]


def test_hash_and_identity():
    t = Tensor([1, 2])
    assert {t: 1}[t] == 1
    assert hash(t) != hash(+t)


def test_attributes():
    t = Tensor(np.zeros((2, 3), np.float32))
    assert (t.shape, t.ndim, t.size, t.itemsize, t.nbytes) == ((2, 3), 2, 6, 4, 24)
    assert t.strides == (12, 4)
    assert t.T.shape == (3, 2) and t.T.strides == (4, 12)
    with pytest.raises(AttributeError):
        t.shape = (3, 2)


# ---- printing


def test_printing():
    t = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert str(t) == "[[1. 2.]\n [3. 4.]]"
    assert repr(t) == (
        "Tensor(shape=[2, 2], dtype=Float32, value=\n"
        "[[ 1.00000000e+00,  2.00000000e+00],\n [ 3.00000000e+00,  4.00000000e+00]])"
    )
    assert repr(Tensor([1, 2])) == "Tensor(shape=[2], dtype=Int64, value= [1, 2])"
    assert repr(Tensor(1.5)) == "Tensor(shape=[], dtype=Float32, value= 1.5)"
    assert str(Tensor([1.5], ms.bfloat16)) == "[1.5]"
    assert f"{Tensor(2.5)}" == "2.5"


# ---- copying


@pytest.mark.parametrize("dtype", [ms.float32, ms.bfloat16, ms.int64, ms.bool_])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_pickle_and_deepcopy(dtype, shape):
    t = Tensor(np.ones(shape), dtype)
    for made in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t), copy.copy(t)):
        assert made is not t
        assert (made.dtype, made.shape, made.tolist()) == (t.dtype, t.shape, t.tolist())


def test_copies_are_independent():
    t = Tensor([1.0, 2.0])
    made = copy.deepcopy(t)
    made += 1
    made[0] = 9
    assert t.tolist() == [1, 2]


def test_subclass():
    class Mine(Tensor):
        def __init__(self, data):
            super().__init__(data)
            self.extra = "kept"

    m = Mine([1.0, 2.0])
    assert m.extra == "kept" and isinstance(m, Tensor)
    assert type(m + 1) is Tensor
    m.self = m  # a cycle the collector frees
    del m
    gc.collect()


def test_new_without_init():
    t = Tensor.__new__(Tensor)
    assert t.shape == (0,)
    repr(t), t + 1, list(t)


def test_methods():
    t = Tensor([[1.0, -2.0], [3.0, 4.0]])
    assert t.astype(ms.int32).dtype is ms.int32
    assert t.to(ms.float16).dtype is ms.float16
    assert t.reshape(4).shape == t.reshape((4,)).shape == t.view(-1).shape == (4,)
    assert t.transpose(1, 0).tolist() == t.transpose((1, 0)).tolist() == [[1, 3], [-2, 4]]
    assert t.sum().item() == 6 and t.sum(0).tolist() == [4, 2]
    assert t.mean(axis=1, keep_dims=True).shape == (2, 1)
    assert t.abs().tolist() == [[1, 2], [3, 4]]
    assert t.expand_dims(0).shape == t.unsqueeze(0).shape == (1, 2, 2)
    assert t.flatten(0).shape == (4,) and t.swapaxes(0, 1).shape == (2, 2)
    assert t.flatten().tolist() == [1, -2, 3, 4] and t.flatten("F").tolist() == [1, 3, -2, 4]
    assert ms.ops.ones((2, 3, 4)).flatten(1).shape == (2, 12)
    with pytest.raises(ValueError, match="order is 'A'"):
        t.flatten("A")
    assert t.resize(3).tolist() == [1, -2, 3] and t.resize((2, 3))[1].tolist() == [4, 0, 0]
    assert Tensor([0, 1]).choose([[1, 2], 7]).tolist() == [1, 7]
    assert Tensor([1.0, 2.0]).searchsorted(2.0, side="right").item() == 2
    assert t.detach().tolist() == t.tolist()
    assert t.clamp(0, 3).tolist() == [[1, 0], [3, 3]]
    assert t.int().dtype is ms.int32 and t.half().dtype is ms.float16
    u = t.copy()
    assert u.add_(1) is u and u.tolist() == [[2, -1], [4, 5]]
    assert u.fill_(7).tolist() == [[7, 7], [7, 7]]
    assert t.tolist() == [[1, -2], [3, 4]]


def test_what_is_out_of_range_is_an_index_error_and_a_value_error() -> None:
    x = ms.ops.ones((2, 3))
    for call in (lambda: x.squeeze(5), lambda: ms.ops.gather(x, ms.Tensor([9]), 0)):
        with pytest.raises(ms.OutOfRangeError, match="legal") as caught:
            call()
        assert isinstance(caught.value, IndexError) and isinstance(caught.value, ValueError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_numpy_asks_tensors_for_all_and_any() -> None:
    x = ms.Tensor([True, False])
    assert not np.all(x) and np.any(x)
    with pytest.raises(TypeError, match="out must be None"):
        x.all(out=x)


def test_the_public_names_stand_in_common_too() -> None:
    from diptych.common import Parameter, Tensor, jit

    assert (Parameter, Tensor, jit) == (ms.Parameter, ms.Tensor, ms.jit)


def test_format():
    x = ms.Tensor(2 / 3)
    assert f"{x:.3f}" == "0.667" and f"{ms.Tensor(5):>4d}" == "   5" and f"{x}" == str(x)
    assert f"{ms.Tensor([1, 2])}" == "[1 2]"
    assert f"{ms.Parameter(ms.Tensor(1.5), name='w'):.1e}" == "1.5e+00"
    with pytest.raises(TypeError, match="'.3f' is for one number; the tensor has shape"):
        f"{ms.Tensor([1.0, 2.0]):.3f}"
