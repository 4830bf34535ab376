"""Loops that elementwise rows have beside their general one: for near quotients, for one exponent,
for narrow integers. What they give is what the general loop would."""

import math
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import ops

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -3.0, 1e30, -1e-30, 1e-45]


def numbers(n: int, dtype: str) -> Any:
    """Small numbers, and every special one once somewhere."""
    x = np.random.default_rng(5).uniform(-9, 9, n)
    x[:: n // len(SPECIAL)][: len(SPECIAL)] = SPECIAL
    return x.astype(dtype)


# ---- quotients


def floor_mod(x: float, y: float) -> float:
    r = math.fmod(x, y)
    return math.copysign(r, y) if r == 0 else r + y if (r < 0) != (y < 0) else r


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e4, 1e9])
def test_near_and_far_quotients(dtype: str, scale: float) -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(-9, 9, 4096).astype(dtype)
    y = (rng.uniform(0.1, 9, 4096) * rng.choice([-1, 1], 4096) * scale).astype(dtype)
    x[::16] = (y[::16].astype("f8") * rng.integers(-9, 9, 256)).astype(dtype)  # nearly whole ones
    y[2000] = 1e-30  # one far quotient, in a block of its own
    a, b = ms.Tensor(x), ms.Tensor(y)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    assert (ops.fmod(a, b).asnumpy() == [math.fmod(p, q) for p, q in pairs]).all()
    wide = np.array([floor_mod(p, q) for p, q in pairs])
    assert (ops.remainder(a, b).asnumpy() == wide.astype(dtype)).all()
    whole = np.array([math.floor(p / q) for p, q in pairs])
    got = ops.floor_div(a, b).asnumpy().astype("f8")
    near = np.abs(whole) < 2**20
    exact = np.round((x[near].astype("f8") - wide[near]) / y[near])
    assert (got[near] == exact).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_of_special_numbers(dtype: str) -> None:
    x, y = (v.ravel().astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    for op, want in [(ops.fmod, np.fmod), (ops.remainder, np.remainder)]:
        with np.errstate(invalid="ignore"):
            expected = want(x, y)
        one_by_one = [op(ms.Tensor(x[i : i + 1]), ms.Tensor(y[i : i + 1])) for i in range(x.size)]
        together = op(ms.Tensor(x), ms.Tensor(y)).asnumpy()
        assert np.array_equal(together, [r.asnumpy()[0] for r in one_by_one], equal_nan=True)
        if op is ops.fmod:
            assert np.array_equal(together, expected, equal_nan=True)


# ---- one exponent


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 0.5, -1.0, -0.5])
def test_one_exponent(dtype: str, exponent: float) -> None:
    x = numbers(3000, dtype)
    a = ms.Tensor(x)
    got = ops.pow(a, exponent).asnumpy()
    general = ops.pow(a, ms.Tensor(np.full_like(x, exponent))).asnumpy()
    assert np.array_equal(np.isnan(got), np.isnan(general))
    fine = ~np.isnan(got)
    assert np.array_equal(np.signbit(got[fine]), np.signbit(general[fine]))
    assert np.array_equal(np.isinf(got), np.isinf(general))
    finite = np.isfinite(got)
    apart = np.abs(got[finite].astype("f8") - general[finite])
    assert (apart <= 2.5 * np.spacing(np.abs(general[finite]))).all()
    one = ms.Tensor(np.asarray(exponent, dtype))
    assert np.array_equal(ops.pow(a, one).asnumpy(), got, equal_nan=True)
    assert np.array_equal(ms.jit(ops.pow)(a, one).asnumpy(), got, equal_nan=True)
    small = ops.pow(ms.Tensor(x[:100]), exponent).asnumpy()
    assert np.array_equal(small, got[:100], equal_nan=True)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 0.5, 7.0])
def test_gradient_of_one_exponent(exponent: float) -> None:
    x = np.abs(numbers(600, "float64"))
    x = x[np.isfinite(x) & (x > 1e-3)]
    grad = ms.grad(lambda a: ops.pow(a, exponent).sum())(ms.Tensor(x))
    assert np.allclose(grad.asnumpy(), exponent * x ** (exponent - 1), rtol=1e-14)
    at_zero = ms.grad(lambda a: ops.pow(a, exponent).sum())(ms.Tensor([0.0]))
    assert at_zero.asnumpy()[0] == (math.inf if exponent == 0.5 else exponent == 1)


# ---- narrow integers


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32"])
def test_narrow_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(7)
    x, y = (rng.integers(info.min, info.max, 5000, endpoint=True) for _ in range(2))
    x[:4], y[:4] = [info.min, info.max, info.min, 0], [info.max, info.max, 0, info.min]
    a, b = (ms.Tensor(v.astype(dtype)) for v in (x, y))
    few = rng.integers(0, info.bits, 5000)
    c = ms.Tensor(few.astype(dtype))
    for got, want in [
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x.astype("u8") * y.astype("u8")),
        (-a, -x),
        (ops.abs(a), np.abs(x)),
        (ops.maximum(a, b), np.maximum(x, y)),
        (ops.minimum(a, b), np.minimum(x, y)),
        (a & b, x & y),
        (a | b, x | y),
        (a ^ b, x ^ y),
        (~a, ~x),
        (a << c, x << few),
        (a >> c, x >> few),
        (ops.relu(a), np.maximum(x, 0)),
        (ops.sign(a), np.sign(x)),
    ]:
        assert got.dtype == a.dtype
        assert (got.asnumpy() == want.astype(dtype)).all()
    for got, want in [(a < b, x < y), (a == b, x == y), (a >= b, x >= y)]:
        assert got.dtype == ms.bool_
        assert (got.asnumpy() == want).all()
    divisor = np.where(y == 0, 3, y)
    d = ms.Tensor(divisor.astype(dtype))
    assert ((a // d).asnumpy() == (x // divisor).astype(dtype)).all()
    assert ((a % d).asnumpy() == (x % divisor).astype(dtype)).all()
    assert (ops.clamp(a, c, b).asnumpy() == np.minimum(np.maximum(x, few), y).astype(dtype)).all()
    assert (ops.where(a < b, a, b).asnumpy() == np.where(x < y, x, y).astype(dtype)).all()
    assert ((a.reshape(50, 100).T + 1).asnumpy() == (x.reshape(50, 100).T + 1).astype(dtype)).all()


# ---- half precision


def test_half_precision_both_ways() -> None:
    bits = np.arange(65536, dtype=np.uint16)
    half = bits.view(np.float16)
    for cut in (0, 3):  # the last elements go another way
        wide = ms.Tensor(half[: 65536 - cut]).astype(ms.float32).asnumpy()
        want = half[: 65536 - cut].astype(np.float32)
        nan = np.isnan(want)
        assert np.array_equal(wide[~nan].view(np.uint32), want[~nan].view(np.uint32))
        assert np.isnan(wide[nan]).all()
    x = np.random.default_rng(8).normal(0, 1, 50003).astype("f4")
    x *= np.float32(2.0) ** np.random.default_rng(9).integers(-30, 20, 50003)
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    assert np.array_equal(ms.Tensor(x).astype(ms.float16).asnumpy(), want)
