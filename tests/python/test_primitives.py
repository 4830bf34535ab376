"""Primitive classes that put their arguments otherwise than their functions do."""

import numpy as np
import pytest

import diptych as ms
from diptych import ops

RNG = np.random.default_rng(5)
IMAGES = RNG.standard_normal((2, 3, 6, 8)).astype(np.float32)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"], autouse=True)
def _mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def test_embedding_lookup():
    table, rows = RNG.standard_normal((4, 5)).astype(np.float32), np.array([[2, 7, 5], [1, 4, 9]])
    made = ops.EmbeddingLookup()(ms.Tensor(table), ms.Tensor(rows, ms.int32), 4).asnumpy()
    want = np.zeros((2, 3, 5), np.float32)
    for place, row in np.ndenumerate(rows - 4):
        if 0 <= row < 4:
            want[place] = table[row]
    np.testing.assert_array_equal(made, want)


def test_pooling_and_resizing():
    x = ms.Tensor(IMAGES)
    made = ops.AdaptiveAvgPool2D((3, 4))(x).asnumpy()
    np.testing.assert_allclose(made, IMAGES.reshape(2, 3, 3, 2, 4, 2).mean((3, 5)), rtol=1e-5,
                               atol=1e-6)  # fmt: skip
    wide = ops.ResizeBilinearV2(align_corners=True)(x, (6, 15)).asnumpy()
    want = np.stack([np.interp(np.linspace(0, 7, 15), range(8), line.astype(float))
                     for line in IMAGES.reshape(-1, 8)])  # fmt: skip
    np.testing.assert_allclose(wide.reshape(-1, 15), want, rtol=1e-4, atol=1e-6)
    rows, columns = np.mgrid[-1:1:6j, -1:1:8j]
    grid = np.stack([np.stack([columns, rows], -1)] * 2).astype(np.float32)
    made = ops.GridSampler2D("nearest", "border", True)(x, ms.Tensor(grid)).asnumpy()
    np.testing.assert_array_equal(made, IMAGES)


def test_einsum_and_partial():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 4))
    made = ops.Einsum("ij,jk->ki")((ms.Tensor(a), ms.Tensor(b))).asnumpy()
    np.testing.assert_allclose(made, (a @ b).T)
    add = ops.Partial()(ops.add, ms.Tensor(a))
    np.testing.assert_allclose(add(ms.Tensor(a)).asnumpy(), 2 * a)
