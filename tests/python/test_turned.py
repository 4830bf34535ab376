"""Operands large enough for tiles: transposed, with short rows, broadcast beside each other,
against NumPy on the same values."""

from typing import Any

import numpy as np
import pytest
from cases import NAMES

import diptych as ms
from diptych import ops

DTYPES = [d for d in NAMES if d != "bf16"]
AXES = [(1, 0, 2), (0, 2, 1), (2, 1, 0), (2, 0, 1)]


def values(shape: tuple[int, ...], dtype: str) -> Any:
    return np.random.default_rng(7).integers(0, 100, shape).astype(NAMES[dtype])


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_copies(dtype: str, axes: tuple[int, ...]) -> None:
    x = values((37, 70, 131), dtype)
    assert (ms.Tensor(x).transpose(axes).contiguous().asnumpy() == x.transpose(axes)).all()


@pytest.mark.parametrize("axes", [(0, 2, 4, 1, 3), (1, 0, 3, 4, 2), (4, 3, 2, 1, 0)])
@pytest.mark.parametrize("shape", [(700, 2, 3, 2, 4), (2, 3, 1500, 2, 3)])
def test_copies_of_short_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = values(shape, "i32")
    assert (ms.Tensor(x).transpose(axes).contiguous().asnumpy() == x.transpose(axes)).all()


@pytest.mark.parametrize("shape", [(83, 2, 133), (130, 81), (5001, 3), (3, 5001)])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "i64", "u8", "f16", "bool"])
def test_transposed_calls(dtype: str, shape: tuple[int, ...]) -> None:
    x, y = values(shape, dtype), values(shape, dtype)[0]
    a, b = ms.Tensor(x), ms.Tensor(y)
    for got, want in [
        (a.T == 3, x.T == 3),
        (ops.maximum(a.T, a.T[..., :1]), np.maximum(x.T, x.T[..., :1])),
        (ops.maximum(a, b), np.maximum(x, y)),
        (ops.maximum(a.T, ms.Tensor(x.T.copy())), x.T),
        (ops.where(a.T > 50, a.T, ms.Tensor(x.ravel()[3])), np.where(x.T > 50, x.T, x.ravel()[3])),
    ]:
        assert got.shape == want.shape
        assert (got.asnumpy() == want).all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "i64"])
def test_a_transposed_operand_repeated(dtype: str) -> None:
    x, y = values((83, 1, 133), dtype), values((9, 1), dtype)
    got = ops.maximum(ms.Tensor(x).T, ms.Tensor(y))
    assert (got.asnumpy() == np.maximum(x.T, y)).all()


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (0, 2)])
def test_transposed_reductions(mode: str, axis: Any) -> None:
    """The order of a sum is that of the sizes: the layout does not change a bit."""
    x = np.random.default_rng(3).standard_normal((60, 11, 70)).astype(np.float32)
    turned, dense = ms.Tensor(x).T, ms.Tensor(x.T.copy())

    def sums(t: ms.Tensor) -> Any:
        return ops.sum(t, axis), ops.amax(t, axis), ops.var(t, axis)

    run = sums if mode == "eager" else ms.jit(lambda t: sums(t.T))
    got = run(turned if mode == "eager" else ms.Tensor(x))
    for r, same, want in zip(got, sums(dense), [np.sum, np.max, np.var], strict=True):
        assert (r.asnumpy() == same.asnumpy()).all()
        assert np.allclose(r.asnumpy(), want(x.T.astype(float), axis), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f32", "f64", "i32", "bool"])
@pytest.mark.parametrize("shape", [(20, 40), (300, 41), (9000, 150), (17, 2000)])
def test_reductions_across_memory(shape: tuple[int, int], dtype: str, axis: int) -> None:
    """Many results at once where they, or the elements of each, lie side by side: the same bits."""
    x = np.random.default_rng(9).standard_normal(shape).astype(NAMES[dtype])
    turned, dense = ms.Tensor(x).T, ms.Tensor(x.T.copy())
    calls = [ops.sum, ops.prod, ops.amax, ops.amin, ops.count_nonzero]
    if dtype == "bool":
        calls += [ops.any, ops.all]
    elif dtype != "i32":
        calls += [ops.mean, ops.var, ops.logsumexp, lambda t, i: ops.norm(t, dim=i)]
    for call in calls:
        got, same = call(turned, axis).asnumpy(), call(dense, axis).asnumpy()
        assert np.array_equal(got, same, equal_nan=True), call
    want = x.T.astype(float).sum(axis)
    assert np.allclose(ops.sum(turned, axis).asnumpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_reductions_of_permuted_axes(dtype: str, axes: tuple[int, ...], axis: Any) -> None:
    x = (np.random.default_rng(4).standard_normal((33, 70, 21)) * 50).astype(NAMES[dtype])
    view, dense = ms.Tensor(x).transpose(axes), ms.Tensor(x.transpose(axes).copy())
    for call in (ops.sum, ops.amin, ops.count_nonzero):
        assert (call(view, axis).asnumpy() == call(dense, axis).asnumpy()).all()
    got, want = ops.amin(view, axis).asnumpy(), x.transpose(axes).min(axis)
    assert (got == want).all()


@pytest.mark.parametrize("width", [255, 257, 320, 321, 577])
def test_columns_of_any_width(width: int) -> None:
    x = np.random.default_rng(5).standard_normal((70, width)).astype(np.float32)
    assert np.allclose(ops.sum(ms.Tensor(x), 0).asnumpy(), x.astype(float).sum(0), atol=1e-4)
    assert (ops.amax(ms.Tensor(x), 0).asnumpy() == x.max(0)).all()


@pytest.mark.parametrize("place", [0, 31, 200, 511, 512, 999])
def test_extremes_of_long_rows(place: int) -> None:
    x = np.random.default_rng(5).standard_normal(1000).astype(np.float32)
    for extreme in (9, -9, np.nan):
        x[place] = extreme
        for f, want in [(ops.amax, np.max), (ops.amin, np.min)]:
            assert np.array_equal(f(ms.Tensor(x)).asnumpy(), want(x), equal_nan=True)


def bfloat16(x: Any) -> ms.Tensor:
    return ms.Tensor(x.astype(np.float32)).astype(ms.bfloat16)


@pytest.mark.parametrize("place", [0, 2048, 70_001, 100_001, 100_002])
@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u32"])
def test_extremes_of_narrow_integers(dtype: str, place: int) -> None:
    x = values((100_003,), dtype)
    for op, extreme in [(ops.amax, 101), (ops.amin, np.iinfo(NAMES[dtype]).min)]:
        y = x + 1
        y[place] = extreme
        assert op(ms.Tensor(y)).asnumpy() == extreme


@pytest.mark.parametrize("layout", ["plain", "turned", "batches", "dense"])
@pytest.mark.parametrize("terms", [30, 64, 295])
def test_large_bfloat16_products(terms: int, layout: str) -> None:
    """Sums with terms left over by the tiles of a matrix unit, which may be copied with zeros."""
    rng = np.random.default_rng(9)
    x = rng.integers(-4, 5, (3, 300, terms) if layout == "batches" else (300, terms))
    y = rng.integers(-4, 5, (3, terms, 260) if layout == "batches" else (terms, 260))
    c = rng.integers(-4, 5, 260)
    ops.full((1 << 20,), np.nan, dtype=ms.float32)  # left in memory, it must not come into a sum
    if layout == "dense":
        got = ops.dense(bfloat16(x), bfloat16(y.T), bfloat16(c))
    elif layout == "turned":
        got = ops.matmul(bfloat16(x.T).T, bfloat16(y.T).T)
    else:
        got = ops.matmul(bfloat16(x), bfloat16(y))
    want = x @ y + (c if layout == "dense" else 0)
    assert np.abs(got.astype(ms.float32).asnumpy() - want).max() <= np.abs(want).max() / 256


def indexed(t: ms.Tensor) -> Any:
    """A few elements of t, which is (30, 40, 50) and may lie any way, read and written by index."""
    i, j = ms.Tensor([3, -1]), ms.Tensor([[7, 0], [11, 29]])
    pairs, ones = ms.Tensor([[3, 5], [-1, 7]]), ops.ones((2, 50), dtype=t.dtype)
    return (
        ops.gather(t, i, 2),
        ops.gather(t, j, 1),
        ops.gather(t, ms.Tensor(9), 0),
        ops.gather(t, ms.Tensor(9), 1),
        ops.gather(t[:, :3], ops.full((30, 1), 2, dtype=ms.int32), 1, 1),
        t[:, i, i],
        t[i, :, i],
        ops.gather_nd(t, pairs),
        ops.embedding(i, t[:, 0]),
        ops.gather_elements(t[:2], 1, ops.full((2, 2, 2), 39, dtype=ms.int64)),
        ops.tensor_scatter_update(t, pairs, ones),
        ops.tensor_scatter_elements(t[0], pairs, pairs.astype(t.dtype), 1),
        ops.masked_scatter(t, t > 50, ops.zeros(t.shape, dtype=t.dtype)),
        ops.index_add(t, i, ops.ones((30, 2, 50), dtype=t.dtype), 1),
    )


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_indices_into_transposed(mode: str, axes: tuple[int, ...]) -> None:
    x = values((30, 40, 50), "f32")
    back = [axes.index(i) for i in range(3)]
    laid = ms.Tensor(x.transpose(axes).copy())
    assert (laid.transpose(back).asnumpy() == x).all()
    run = indexed if mode == "eager" else ms.jit(lambda t: indexed(t.transpose(back)))
    got = run(laid.transpose(back) if mode == "eager" else laid)
    for r, want in zip(got, indexed(ms.Tensor(x)), strict=True):
        assert (r.asnumpy() == want.asnumpy()).all()


def test_strided_indices_are_looked_at() -> None:
    x = ms.Tensor(values((2000, 0), "f32"))
    rows = ms.Tensor(np.array([[0, 5, 1], [7, 2000, 0]])).T
    with pytest.raises(IndexError, match=r"\[1, 1\] is 2000"):
        ops.gather(x, rows, 0)


def test_nothing_of_much() -> None:
    """Empty results of large inputs, which need no copy of them."""
    x = ms.Tensor(values((300, 200), "f32")).T
    rows, columns = ops.topk(x, 0)
    assert rows.shape == columns.shape == (200, 0)
    assert ops.pad(x, (-300, 0)).shape == (200, 0)
    assert ops.dense(x[:0], x).shape == (0, 200)
    assert ops.tile(x, (2, 0)).shape == (400, 0)
