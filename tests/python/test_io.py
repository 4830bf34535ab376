"""Files from Python: IDX and safetensors, whole and damaged."""

import gzip
import struct

import numpy as np
import pytest

import diptych as ms


def test_idx_plain_and_gzip(tmp_path):
    data = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    raw = struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 3, 4) + data.tobytes()
    (tmp_path / "a").write_bytes(raw)
    (tmp_path / "a.gz").write_bytes(gzip.compress(raw))
    for name in ("a", "a.gz"):
        t = ms.io.read_idx(tmp_path / name)
        assert t.dtype == ms.uint8
        np.testing.assert_array_equal(t.asnumpy(), data)
    (tmp_path / "short").write_bytes(raw[:-1])
    with pytest.raises(ValueError, match="short ends inside its elements"):
        ms.io.read_idx(tmp_path / "short")
    with pytest.raises(OSError, match="missing"):
        ms.io.read_idx(tmp_path / "missing")


def test_safetensors_round_trip_and_damage(tmp_path):
    tensors = {"w": ms.Tensor(np.random.default_rng(0).standard_normal((3, 4)), ms.float32),
               "n": ms.Tensor([1, 2, 3], ms.int64), "empty": ms.ops.zeros((0, 2))}
    path = tmp_path / "x.safetensors"
    ms.io.save_tensors(path, tensors)
    back = ms.io.load_tensors(path)
    assert sorted(back) == sorted(tensors)
    for name, t in tensors.items():
        assert back[name].dtype == t.dtype and back[name].shape == t.shape
        np.testing.assert_array_equal(back[name].asnumpy(), t.asnumpy())
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises((OSError, ValueError), match="x.safetensors"):
        ms.io.load_tensors(path)
    with pytest.raises(TypeError, match="'w' is of type list"):
        ms.io.save_tensors(path, {"w": [1.0]})
