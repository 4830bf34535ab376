"""NumPy, the buffer protocol and DLPack, both ways."""

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64"]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_round_trip(name, shape):
    a = (np.arange(np.prod(shape, dtype=int)) % 2).astype(name).reshape(shape)
    for t in (Tensor(a), ms.from_numpy(a), ms.from_dlpack(a)):
        assert t.dtype.name == name and t.shape == shape
        b = t.asnumpy()
        assert b.dtype == a.dtype and b.shape == a.shape
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, np.from_dlpack(t))
        np.testing.assert_array_equal(a, np.asarray(t))


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[:, 1], np.s_[1:, ::-2]])
def test_strided(view):
    a = np.arange(20, dtype=np.float32).reshape(4, 5)[view]
    for t in (Tensor(a), ms.from_numpy(a)):
        np.testing.assert_array_equal(t.asnumpy(), a)
        np.testing.assert_array_equal((t + 1).asnumpy(), a + 1)


def test_views_of_tensors():
    a = np.arange(20, dtype=np.float32).reshape(4, 5)
    t = Tensor(a)
    np.testing.assert_array_equal(t.T.asnumpy(), a.T)
    np.testing.assert_array_equal(t[::-1, 1].asnumpy(), a[::-1, 1])
    assert bytes(memoryview(t.T)) == a.T.tobytes()


def test_asnumpy_is_a_snapshot():
    t = Tensor([1.0, 2.0])
    a = t.asnumpy()
    t += 1
    t[0] = 9
    assert a.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 5
    p = ms.Parameter(Tensor([1.0, 2.0]), name="p")
    a = p.asnumpy()
    p.set_data(Tensor([5.0, 6.0]))
    assert a.tolist() == [1, 2]


def test_asnumpy_outlives_the_tensor():
    arrays = [Tensor(np.full(1000, i, np.float32)).asnumpy() for i in range(50)]
    assert all((a == i).all() for i, a in enumerate(arrays))


def test_array_protocol():
    t = Tensor([1.5, 2.5])
    assert np.array(t).flags.writeable
    assert np.asarray(t, dtype=np.int32).tolist() == [1, 2]
    assert np.array(t, dtype=np.float64).dtype == np.float64
    assert t.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="without a copy"):
        t.__array__(np.int32, copy=False)
    assert np.stack([t, t]).shape == (2, 2)
    assert np.float32(2) * t is not None


def test_foreign_arrays():
    big = np.arange(3, dtype=">i4")
    assert Tensor(big).tolist() == [0, 1, 2]
    odd = np.frombuffer(b"\0" + np.arange(3, dtype=np.float32).tobytes(), np.uint8)[1:]
    assert Tensor(odd.view(np.float32)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=str(np.dtype(np.clongdouble))):
        Tensor(np.zeros(2, np.clongdouble))
    with pytest.raises(TypeError):
        Tensor(np.array(["a"]))
    with pytest.raises(TypeError):
        Tensor(np.array([object()]))
    with pytest.raises(ValueError, match="axes"):
        Tensor(np.zeros((1,) * 9))

    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2, np.float32)

    assert Tensor(Wrapped()).tolist() == [1, 1]
    with pytest.raises(TypeError, match="numpy.ndarray"):
        ms.from_numpy([1, 2])


def test_bfloat16():
    t = Tensor([1.0, 2.5], ms.bfloat16)
    a = t.asnumpy()
    try:
        import ml_dtypes
    except ImportError:
        assert a.dtype == np.uint16
        return
    assert a.dtype == ml_dtypes.bfloat16
    assert a.astype(np.float32).tolist() == [1, 2.5]
    back = Tensor(a)
    assert back.dtype is ms.bfloat16 and back.tolist() == [1, 2.5]


def test_buffer_requests():
    t = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    view = memoryview(t)
    assert (view.format, view.shape, view.strides, view.readonly) == ("f", (2, 3), (12, 4), True)
    t += 1
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(BufferError):
        memoryview(Tensor([1.0], ms.bfloat16))
    with pytest.raises(TypeError, match="read-only"):
        view[0, 0] = 1.0


def test_dlpack_shares():
    a = np.zeros(3, np.float32)
    t = ms.from_dlpack(a)
    a[0] = 7
    assert t.tolist() == [7, 0, 0]
    assert t.__dlpack_device__() == (1, 0)
    u = Tensor([1.0, 2.0])
    b = np.from_dlpack(u)
    u += 1
    assert b.tolist() == [1, 2]


def test_dlpack_refusals():
    t = Tensor([1.0])
    capsule = t.__dlpack__()
    assert ms.from_dlpack(capsule).tolist() == [1]
    with pytest.raises(ValueError, match="used before"):
        ms.from_dlpack(capsule)
    t.__dlpack__(max_version=(1, 0))  # dropped unused
    assert np.asarray(ms.from_dlpack(t.__dlpack__(copy=True)))[0] == 1
    with pytest.raises(BufferError):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        t.__dlpack__(1)
    with pytest.raises(TypeError):
        t.__dlpack__(bad=1)
    with pytest.raises(AttributeError):
        ms.from_dlpack(object())
