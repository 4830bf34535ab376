"""Products of sizes around those where the kernel goes another way: panels packed or not, the few
rows of x turned instead of y, tiles by rows or by columns, terms in two parts."""

from __future__ import annotations

import numpy as np
import pytest

import diptych as ms
from diptych import ops

SIZES = [
    (1, 40, 300), (2, 33, 31), (13, 64, 97), (14, 256, 256), (15, 257, 97), (24, 31, 98),
    (31, 300, 300), (32, 256, 256), (32, 2049, 129), (33, 96, 600), (42, 1024, 20), (56, 70, 511),
    (64, 512, 512), (65, 40, 260), (96, 129, 97), (97, 260, 260), (253, 32, 65), (300, 513, 33),
]  # fmt: skip


def given(*shape: int, dtype: str) -> np.ndarray:
    seed = sum(n * 31**i for i, n in enumerate(shape))
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("m, n, k", SIZES)
def test_layouts(m: int, n: int, k: int, dtype: str) -> None:
    """x y, x y^T, x^T y and x^T y^T against NumPy in double, and each against the others."""
    x, y = given(m, k, dtype=dtype), given(k, n, dtype=dtype)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x).astype(np.float64) @ np.abs(y) * k * np.finfo(dtype).eps / 2
    for turn_x in (False, True):
        for turn_y in (False, True):
            a = ms.Tensor(np.ascontiguousarray(x.T) if turn_x else x)
            b = ms.Tensor(np.ascontiguousarray(y.T) if turn_y else y)
            made = ops.matmul(a, b, transpose_a=turn_x, transpose_b=turn_y).asnumpy()
            assert np.max(np.abs(made - expected) - bound) <= 0


@pytest.mark.parametrize("m, n, k", SIZES)
def test_dense_adds_the_bias(m: int, n: int, k: int) -> None:
    x, w, b = given(m, k, dtype="float32"), given(n, k, dtype="float32"), given(n, dtype="float32")
    made = ops.dense(ms.Tensor(x), ms.Tensor(w), ms.Tensor(b)).asnumpy()
    np.testing.assert_allclose(made, x.astype(np.float64) @ w.T + b, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("turn_x, turn_y", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_threads_give_the_same_bits(turn_x: int, turn_y: int) -> None:
    before = ms.get_context("runtime_num_threads")
    try:
        for m, n, k in SIZES:
            x, y = given(m, k, dtype="float32"), given(k, n, dtype="float32")
            a = ms.Tensor(np.ascontiguousarray(x.T) if turn_x else x)
            b = ms.Tensor(np.ascontiguousarray(y.T) if turn_y else y)
            bits = []
            for threads in (1, 2, 3, 8):
                ms.set_context(runtime_num_threads=threads)
                made = ops.matmul(a, b, transpose_a=bool(turn_x), transpose_b=bool(turn_y))
                bits.append(made.asnumpy().tobytes())
            assert len(set(bits)) == 1, (m, n, k)
    finally:
        ms.set_context(runtime_num_threads=before)
