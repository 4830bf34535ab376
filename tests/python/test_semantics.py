"""The statements of docs/semantics.md, section by section."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import ops

DOC = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"
NAN, INF = float("nan"), float("inf")
DTYPES = {
    "bool": ms.bool_,
    **{f"u{n}": getattr(ms, f"uint{n}") for n in (8, 16, 32, 64)},
    **{f"i{n}": getattr(ms, f"int{n}") for n in (8, 16, 32, 64)},
    "f16": ms.float16,
    "bf16": ms.bfloat16,
    "f32": ms.float32,
    "f64": ms.float64,
}


def f32(*values: float) -> ms.Tensor:
    return ms.Tensor(np.array(values, np.float32))


def i32(*values: int) -> ms.Tensor:
    return ms.Tensor(np.array(values, np.int32))


def slope(f: Callable[..., Any], *values: float) -> list[float]:
    """The gradient of sum(f(x)) at these values."""
    return ms.grad(lambda x: ops.sum(f(x)))(f32(*values)).asnumpy().tolist()


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


# ---- promotion


def promotion_table() -> dict[tuple[str, str], str]:
    """The table of the document: rows and columns are dtypes."""
    lines = [line.strip() for line in DOC.read_text().splitlines()]
    rows = [line[1:-1].split("|") for line in lines if line.startswith("| ")]
    rows = [[re.sub(r"[*` ]", "", cell) for cell in row] for row in rows]
    start = next(i for i, row in enumerate(rows) if row[1:] == list(DTYPES))
    head = rows[start][1:]
    body = rows[start + 1 : start + 1 + len(head)]
    return {(row[0], name): cell for row in body for name, cell in zip(head, row[1:], strict=True)}


def test_promotion_table_is_complete() -> None:
    assert set(promotion_table()) == {(a, b) for a in DTYPES for b in DTYPES}


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion(a: str, b: str) -> None:
    want = DTYPES[promotion_table()[a, b]]
    assert ops.promote_types(DTYPES[a], DTYPES[b]) == want
    x, y = (ops.cast(f32(1), DTYPES[d]) for d in (a, b))
    assert ops.maximum(x, y).dtype == want


@pytest.mark.parametrize("name", DTYPES)
def test_python_numbers_are_weak(name: str) -> None:
    x = ops.cast(f32(1, 2), DTYPES[name])
    is_float = name in ("f16", "bf16", "f32", "f64")
    assert (x + True).dtype == x.dtype
    assert (x + 1).dtype == (ms.int64 if name == "bool" else x.dtype)
    assert (x + 1.5).dtype == (x.dtype if is_float else ms.float32)


@pytest.mark.parametrize("name", DTYPES)
def test_float_functions_of_integers_give_float32(name: str) -> None:
    x = ops.cast(f32(1, 2), DTYPES[name])
    want = x.dtype if name in ("f16", "bf16", "f32", "f64") else ms.float32
    assert ops.exp(x).dtype == want
    assert (x / x).dtype == want


# ---- integers


def test_integer_division() -> None:
    x, y = i32(7, -7, 7, -7, 5), i32(2, 2, -2, -2, 0)
    same((x // y).asnumpy(), [3, -4, -4, 3, 0])
    same((x % y).asnumpy(), [1, 1, -1, -1, 0])
    same(ops.trunc_div(x, y).asnumpy(), [3, -3, -3, 3, 0])
    same(ops.fmod(x, y).asnumpy(), [1, -1, 1, -1, 0])
    least = i32(-(2**31))
    same((least // i32(-1)).asnumpy(), least.asnumpy())
    same((least % i32(-1)).asnumpy(), [0])


def test_float_division() -> None:
    x, y = f32(7, -7, 7, -7, 5, -5, 0), f32(2, 2, -2, -2, 0, 0, 0)
    same((x // y).asnumpy(), [3, -4, -4, 3, INF, -INF, NAN])
    same((x % y).asnumpy(), [1, 1, -1, -1, NAN, NAN, NAN])
    assert np.signbit((f32(4) % f32(-2)).asnumpy())[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_floor_division_is_exact(dtype: Any) -> None:
    """Rounded, many quotients of multiples are the integer above."""
    rng = np.random.default_rng(1)
    y = rng.uniform(0.01, 9, 4000).astype(dtype) * rng.choice([-1, 1], 4000).astype(dtype)
    x = np.floor(rng.uniform(-500, 500, 4000)).astype(dtype) * y  # rounded
    y[:4], x[:4] = [0.1, -0.1, 0.1, 0.3], [1.0, 1.0, -1.0, 0.9]
    want = [math.floor(Fraction(float(a)) / Fraction(float(b))) for a, b in zip(x, y, strict=True)]
    q, r = ms.Tensor(x) // ms.Tensor(y), ms.Tensor(x) % ms.Tensor(y)
    same(q.asnumpy(), want)
    assert q.asnumpy()[0] == 9
    back = q.asnumpy().astype(np.float64) * y.astype(np.float64) + r.asnumpy()
    np.testing.assert_allclose(back, x, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_floor_division_at_special_values(dtype: Any) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([0.0, -0.0, 1, -1, 2.5, -3, INF, -INF, NAN, tiny, -tiny, 1e30, -1e30], dtype)
    x, y = np.meshgrid(values, values)
    with np.errstate(all="ignore"):
        want = np.floor_divide(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    got = (ms.Tensor(x) // ms.Tensor(y)).asnumpy()
    np.testing.assert_allclose(got, want, rtol=np.finfo(dtype).eps)
    zero = want == 0
    same(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "graph"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_take_subnormals_as_zeros(dtype: Any, wrap: Callable[..., Any]) -> None:
    """Others keep them, afterwards and in every thread too."""
    tiny = ms.Tensor(np.full((64, 256), np.finfo(dtype).tiny / 4, dtype))
    ones = ms.Tensor(np.ones((256, 256), dtype))
    many = ms.Tensor(np.full(1_000_000, np.finfo(dtype).tiny / 4, dtype))
    for product in (lambda x, w: x @ w, ops.dense, lambda x, w: ops.matmul(w, x.T)):
        assert not wrap(product)(tiny, ones).asnumpy().any()
    same(wrap(lambda x: x * 2)(many).asnumpy(), many.asnumpy() * 2)
    assert np.finfo(dtype).tiny / 2 > 0
    assert (np.full(3, np.finfo(dtype).tiny) / 2).all()


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_moments_decay_to_zero(wrap: Callable[..., Any]) -> None:
    """Rounded to nearest, 0.9 times the smallest number is that number again."""
    n = 100_000
    accum, zero = ms.Tensor(np.full(n, 1e-44, np.float32)), ops.zeros((n,))
    step = wrap(lambda p, a, g: ops.momentum(p, a, g, 0.1, 0.9))
    assert not step(ops.ones((n,)), accum, zero)[1].asnumpy().any()


def test_integers_wrap() -> None:
    x = ms.Tensor(np.array([127, -128], np.int8))
    same((x + x).asnumpy(), [-2, 0])
    same((-x).asnumpy(), [-127, -128])
    same(ops.abs(x).asnumpy(), [127, -128])
    same((i32(2**31 - 1) * i32(2)).asnumpy(), [-2])


def test_shifts() -> None:
    shift = i32(1, 31, 32, -1)
    same(ops.bitwise_left_shift(i32(1, 1, 1, 1), shift).asnumpy(), [2, -(2**31), 0, 0])
    same(ops.bitwise_right_shift(i32(-8, -8, -8, -8), shift).asnumpy(), [-4, -1, -1, -1])


def test_integer_powers() -> None:
    same(ops.pow(i32(2, 3, -1, 2, 0), i32(10, 4, -3, -1, 0)).asnumpy(), [1024, 81, -1, 0, 1])


# ---- NaN


def test_nan_propagates() -> None:
    x, y = f32(NAN, 1, NAN), f32(1, NAN, NAN)
    for f in (ops.maximum, ops.minimum):
        same(f(x, y).asnumpy(), [NAN] * 3)
    for g in (ops.relu, ops.relu6, ops.abs, ops.sign, ops.hardtanh, ops.sigmoid):
        assert np.isnan(g(f32(NAN)).asnumpy()).all()
    for h in (ops.amax, ops.amin, ops.sum, ops.mean, ops.prod):
        assert np.isnan(h(f32(1, NAN, 2)).asnumpy())
    same(ops.clamp(f32(NAN, 5), 0.0, 1.0).asnumpy(), [NAN, 1])


def test_nan_compares_false() -> None:
    x = f32(NAN)
    for f in (ops.equal, ops.less, ops.less_equal, ops.greater, ops.greater_equal):
        same(f(x, x).asnumpy(), [False])
    same(ops.not_equal(x, x).asnumpy(), [True])


def test_nan_sorts_last() -> None:
    values, indices = ops.sort(f32(2, NAN, 1))
    same(values.asnumpy(), [1, 2, NAN])
    same(indices.asnumpy(), [2, 0, 1])
    assert ops.argmax(f32(1, NAN, 3)).asnumpy() == 1
    assert ops.argmin(f32(1, NAN, 0)).asnumpy() == 1


def test_signed_zeros() -> None:
    zeros = np.signbit(ops.maximum(f32(-0.0, 0.0), f32(0.0, -0.0)).asnumpy())
    same(zeros, [False, False])
    same(np.signbit(ops.minimum(f32(-0.0, 0.0), f32(0.0, -0.0)).asnumpy()), [True, True])
    same(ops.round(f32(0.5, 1.5, 2.5, -0.5)).asnumpy(), [0, 2, 2, -0.0])


# ---- conversions


def test_float_to_integer() -> None:
    x = f32(1.9, -1.9, NAN, 3e9, -3e9, INF)
    same(ops.cast(x, ms.int32).asnumpy(), [1, -1, 0, 2**31 - 1, -(2**31), 2**31 - 1])
    same(ops.cast(f32(300.5, -1.5, 255.9), ms.uint8).asnumpy(), [255, 0, 255])
    same(ops.cast(f32(1e9, -128.9, -129, NAN), ms.int8).asnumpy(), [127, -128, -128, 0])
    same(ops.cast(f32(65536, -1, INF), ms.uint16).asnumpy(), [65535, 0, 65535])
    same(ops.cast(f32(2**32, -1, 3e9), ms.uint32).asnumpy(), [2**32 - 1, 0, 3 * 10**9])
    same(ops.cast(f32(-1, 1e30), ms.uint64).asnumpy(), [0, 2**64 - 1])
    same(ops.cast(f32(0, -0.0, 0.5, NAN), ms.bool_).asnumpy(), [False, False, True, True])


def test_integer_to_integer_wraps() -> None:
    same(ops.cast(i32(257, -1), ms.uint8).asnumpy(), [1, 255])
    same(ops.cast(i32(-1), ms.uint64).asnumpy(), [2**64 - 1])


def test_rounding_to_half_widths() -> None:
    x = f32(1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, 1e-40)
    back = ops.cast(ops.cast(x, ms.bfloat16), ms.float32).asnumpy()
    same(back[:3], [1, 1 + 2**-6, INF])
    assert 0 < back[3] < 2e-40
    halves = ops.cast(f32(65519, 65520, 2**-24, 2**-25), ms.float16).asnumpy()
    same(halves, np.array([65504, INF, 2**-24, 0], np.float16))


def test_float64_is_rounded_to_half_widths_once() -> None:
    """Rounded to float32 first, each of these would stand in the middle."""
    x = ms.Tensor(np.array([1 + 2**-11 + 2**-40, 65520 - 2**-20, 2**-25 + 2**-60]))
    same(ops.cast(x, ms.float16).asnumpy(), np.array([1 + 2**-10, 65504, 2**-24], np.float16))
    y = ms.Tensor(np.array([1 + 2**-8 + 2**-40, 1 + 3 * 2**-8 - 2**-40]))
    same(ops.cast(ops.cast(y, ms.bfloat16), ms.float64).asnumpy(), [1 + 2**-7, 1 + 2**-7])
    n = ms.Tensor(np.array([2**40 + 2**32 + 1, 2**62 + 2**54 + 1]))
    same(ops.cast(ops.cast(n, ms.bfloat16), ms.float64).asnumpy(), [2**40 + 2**33, 2**62 + 2**55])


# ---- gradients at special points


KINKS = {
    "relu": (ops.relu, [0.0], [0]),
    "relu6": (ops.relu6, [0.0, 6.0], [0, 0]),
    "abs": (ops.abs, [0.0], [0]),
    "sign": (ops.sign, [0.0, 3.0], [0, 0]),
    "floor": (ops.floor, [2.0, 2.5], [0, 0]),
    "clamp": (lambda x: ops.clamp(x, -1.0, 1.0), [-1.0, 1.0, 2.0], [1, 1, 0]),
    "hardtanh": (ops.hardtanh, [-1.0, 1.0], [0, 0]),
    "leaky_relu": (lambda x: ops.leaky_relu(x, alpha=0.25), [0.0], [0.25]),
    "elu": (ops.elu, [0.0], [1]),
    "hardsigmoid": (ops.hardsigmoid, [-3.0, 3.0], [0, 0]),
    "softshrink": (ops.softshrink, [0.5, -0.5], [0, 0]),
    "hardshrink": (ops.hardshrink, [0.5, -0.5], [0, 0]),
    "sqrt": (ops.sqrt, [0.0], [INF]),
    "norm at zero": (ops.norm, [0.0, 0.0], [0, 0]),
    "norm of order 1": (lambda x: ops.norm(x, 1), [0.0, 2.0], [0, 1]),
    "std of equal elements": (ops.std, [2.0, 2.0], [0, 0]),
    "hypot": (lambda x: ops.hypot(x, x), [0.0], [0]),
    "pow with exponent 0": (lambda x: ops.pow(x, 0.0), [0.0, -2.0], [0, 0]),
    "xlogy": (lambda x: ops.xlogy(x, f32(0.0)), [0.0], [0]),
    "ties of amax": (ops.amax, [3.0, 1.0, 3.0], [0.5, 0, 0.5]),
    "ties of amin": (ops.amin, [3.0, 1.0, 1.0], [0, 0.5, 0.5]),
    "ties of maximum": (lambda x: ops.maximum(x, f32(1.0)), [1.0, 2.0, 0.0], [0.5, 1, 0]),
    "ties of minimum": (lambda x: ops.minimum(x, f32(1.0)), [1.0, 2.0, 0.0], [0.5, 0, 1]),
    "prod with a zero": (ops.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
    "remainder": (lambda x: x % 3.0, [7.0, -7.0], [1, 1]),
    "certain and right": (lambda p: ops.binary_cross_entropy(p, f32(0.0, 1.0), None, "sum"),
                          [0.0, 1.0], [0, 0]),
    "certain and wrong": (lambda p: ops.binary_cross_entropy(p, f32(1.0, 0.0), None, "sum"),
                          [0.0, 1.0], [-1 / np.float32(1e-12), 1 / np.float32(1e-12)]),
    "floor_div": (lambda x: x // 3.0 + 0.0 * x, [7.0], [0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_kink(name: str) -> None:
    f, values, want = KINKS[name]
    same(slope(f, *values), want)


def test_remainder_gradient_of_the_divisor() -> None:
    same(slope(lambda y: f32(7, -7, 7) % y, 2, 2, -2), [-3, 4, 4])


def test_where_guards() -> None:
    """The branch that is not taken gets exactly 0, whatever stands in it ..."""
    same(slope(lambda x: ops.where(x > 0, x, f32(NAN, NAN)), 1, 2), [1, 1])
    """... but 0 times an infinite slope is NaN, so what goes in is guarded, not what comes out."""
    bad = slope(lambda x: ops.where(x > 0, ops.sqrt(x), x), 0.0)
    assert np.isnan(bad[0])
    good = slope(lambda x: ops.where(x > 0, ops.sqrt(ops.where(x > 0, x, 1.0)), x), 0.0, 4.0)
    same(good, [1, 0.25])


# ---- in-place writing


def test_values_do_not_alias() -> None:
    x = f32(1, 2, 3, 4)
    view, snapshot = x.reshape((2, 2)), x.asnumpy()
    x[0] = 9.0
    x += 1
    same(x.asnumpy(), [10, 3, 4, 5])
    same(view.asnumpy(), [[1, 2], [3, 4]])
    same(snapshot, [1, 2, 3, 4])


def test_writing_in_place_keeps_gradients() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        y = x * x
        y[0] = 5.0
        return ops.sum(y * y)

    same(ms.grad(f)(f32(2, 3)).asnumpy(), [0, 4 * 27])


def test_where_takes_any_number_but_zero_as_true() -> None:
    condition = ms.Tensor(np.array([0.5, 0.0, np.nan, -0.0], np.float32))
    for dtype in (ms.int32, ms.float32, ms.bool_):
        ones, zeros = ms.ops.ones((4,), dtype), ms.ops.zeros((4,), dtype)
        assert ms.ops.where(condition, ones, zeros).tolist() == [1, 0, 1, 0]


def test_float_remainders_are_exact_for_any_bits() -> None:
    """NumPy's fmod is libm's, which is exact."""
    rng = np.random.default_rng(0)
    special = np.array(
        [0, -0.0, 1, np.inf, -np.inf, np.nan, 1e-45, 1e-38, 3.4e38, 0.1, 16777216], np.float32
    )
    whole, y = rng.integers(1, 2**24, 20_000), rng.normal(size=20_000).astype(np.float32)
    near = (whole * y).astype(np.float32)  # quotients that round to an integer
    pairs = [
        (rng.integers(0, 2**32, 50_000, np.uint32).view(np.float32),
         rng.integers(0, 2**32, 50_000, np.uint32).view(np.float32)),
        (np.repeat(special, 11), np.tile(special, 11)),
        (near, y),
        (np.nextafter(near, np.float32(0)), y),
    ]  # fmt: skip
    for a, b in pairs:
        with np.errstate(all="ignore"):
            f = np.fmod(a, b)
            moved = np.where((f < 0) != (b < 0), f + b, f)
        floor = np.where(f == 0, np.copysign(f, b), moved).astype(np.float32)
        x, y = ms.Tensor(a), ms.Tensor(b)
        for got, want in ((ms.ops.fmod(x, y), f), (ms.ops.remainder(x, y), floor)):
            same = got.asnumpy().view(np.uint32) == want.view(np.uint32)
            assert (same | np.isnan(want)).all()
