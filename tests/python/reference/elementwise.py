"""Elementwise ops in NumPy and the math module."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _is_float(*xs: Any) -> bool:
    return any(np.asarray(x).dtype.kind == "f" for x in xs)


def _each(function: Any, x: Array) -> Array:
    """A function of the math module at every element."""
    out = [function(float(v)) for v in np.ravel(x)]
    return np.array(out, dtype=np.float64).reshape(np.shape(x))


# ---- arithmetic


def add(x: Array, y: Array) -> Array:
    return np.add(x, y)


def sub(x: Array, y: Array) -> Array:
    return np.subtract(x, y)


def mul(x: Array, y: Array) -> Array:
    return np.multiply(x, y)


def div(x: Array, y: Array) -> Array:
    return np.true_divide(x, y)


def floor_div(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y)


def remainder(x: Array, y: Array) -> Array:
    return np.remainder(x, y)


def trunc_div(x: Array, y: Array) -> Array:
    if _is_float(x, y):
        return np.trunc(np.true_divide(x, y))
    return np.where(y == 0, 0, (x - np.fmod(x, y)) // np.where(y == 0, 1, y))


def fmod(x: Array, y: Array) -> Array:
    return np.fmod(x, y)


def pow(x: Array, y: Array) -> Array:
    return np.power(x, y)


def maximum(x: Array, y: Array) -> Array:
    return np.maximum(x, y)


def minimum(x: Array, y: Array) -> Array:
    return np.minimum(x, y)


def neg(x: Array) -> Array:
    return np.negative(x)


def abs(x: Array) -> Array:
    return np.absolute(x)


def sign(x: Array) -> Array:
    return np.sign(x)


def square(x: Array) -> Array:
    return x * x


def reciprocal(x: Array) -> Array:
    return 1 / x


def floor(x: Array) -> Array:
    return np.floor(x) if _is_float(x) else x


def ceil(x: Array) -> Array:
    return np.ceil(x) if _is_float(x) else x


def round(x: Array) -> Array:
    return np.rint(x) if _is_float(x) else x


def trunc(x: Array) -> Array:
    return np.trunc(x) if _is_float(x) else x


def lerp(x: Array, end: Array, weight: Array) -> Array:
    return x * (1 - np.asarray(weight)) + end * np.asarray(weight)


def clamp(x: Array, min: Array, max: Array) -> Array:
    return np.minimum(np.maximum(x, min), max)


def where(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def xlogy(x: Array, y: Array) -> Array:
    return np.where(x == 0, 0, x * np.log(y))


def hypot(x: Array, y: Array) -> Array:
    return np.hypot(x, y)


# ---- exponentials, roots, trigonometry


def exp(x: Array) -> Array:
    return np.exp(x)


def exp2(x: Array) -> Array:
    return np.exp2(x)


def expm1(x: Array) -> Array:
    return np.expm1(x)


def log(x: Array) -> Array:
    return np.log(x)


def log1p(x: Array) -> Array:
    return np.log1p(x)


def log2(x: Array) -> Array:
    return np.log2(x)


def log10(x: Array) -> Array:
    return np.log10(x)


def sqrt(x: Array) -> Array:
    return np.sqrt(x)


def rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def sin(x: Array) -> Array:
    return np.sin(x)


def cos(x: Array) -> Array:
    return np.cos(x)


def tan(x: Array) -> Array:
    return np.tan(x)


def asin(x: Array) -> Array:
    return np.arcsin(x)


def acos(x: Array) -> Array:
    return np.arccos(x)


def atan(x: Array) -> Array:
    return np.arctan(x)


def atan2(y: Array, x: Array) -> Array:
    return np.arctan2(y, x)


def sinh(x: Array) -> Array:
    return np.sinh(x)


def cosh(x: Array) -> Array:
    return np.cosh(x)


def tanh(x: Array) -> Array:
    return np.tanh(x)


def asinh(x: Array) -> Array:
    return np.arcsinh(x)


def acosh(x: Array) -> Array:
    return np.arccosh(x)


def atanh(x: Array) -> Array:
    return np.arctanh(x)


def erf(x: Array) -> Array:
    return _each(math.erf, x)


def erfc(x: Array) -> Array:
    return _each(math.erfc, x)


def _erfinv(y: float) -> float:
    """Bisection: slow and plain."""
    lo, hi = -6.0, 6.0
    for _ in range(200):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if math.erf(mid) < y else (lo, mid)
    return (lo + hi) / 2


def erfinv(x: Array) -> Array:
    return _each(_erfinv, x)


def lgamma(x: Array) -> Array:
    return _each(math.lgamma, x)


def _digamma(x: float) -> float:
    """Recurrence upwards, then the asymptotic series."""
    shift = 0.0
    while x < 20:
        shift += 1 / x
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))
    return math.log(x) - 0.5 / x - series - shift


def digamma(x: Array) -> Array:
    return _each(_digamma, x)


def _trigamma(x: float) -> float:
    """Recurrence upwards, then the asymptotic series."""
    total = 0.0
    while x < 20:
        total += 1 / (x * x)
        x += 1
    s = 1 / (x * x)
    return total + 1 / x + s / 2 + s / x * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s / 30)))


def trigamma(x: Array) -> Array:
    return _each(_trigamma, x)


# ---- activations


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def relu6(x: Array) -> Array:
    return np.clip(x, 0, 6)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def logsigmoid(x: Array) -> Array:
    return -np.logaddexp(0, -x)


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def gelu_erf(x: Array) -> Array:
    return x * (1 + _each(math.erf, x / math.sqrt(2))) / 2


def gelu_tanh(x: Array) -> Array:
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * (np.exp(x) - 1))


def celu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0, x, alpha * (np.exp(x / alpha) - 1))


def selu(x: Array) -> Array:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return scale * np.where(x > 0, x, alpha * (np.exp(x) - 1))


def leaky_relu(x: Array, alpha: float = 0.2) -> Array:
    return np.where(x > 0, x, alpha * x)


def prelu(x: Array, weight: Array) -> Array:
    return np.where(x > 0, x, weight * x)


def hardsigmoid(x: Array) -> Array:
    return np.clip(x / 6 + 0.5, 0, 1)


def hardswish(x: Array) -> Array:
    return x * np.clip(x + 3, 0, 6) / 6


def mish(x: Array) -> Array:
    return x * np.tanh(np.log(1 + np.exp(x)))


def softsign(x: Array) -> Array:
    return x / (1 + np.absolute(x))


def tanhshrink(x: Array) -> Array:
    return x - np.tanh(x)


def hardshrink(x: Array, lambd: float = 0.5) -> Array:
    return np.where(np.absolute(x) > lambd, x, 0)


def softshrink(x: Array, lambd: float = 0.5) -> Array:
    return np.sign(x) * np.maximum(np.absolute(x) - lambd, 0)


def hardtanh(x: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    return np.clip(x, min_val, max_val)


def threshold(x: Array, threshold: float, value: float) -> Array:
    return np.where(x > threshold, x, value)


# ---- integers and truth values


def bitwise_and(x: Array, y: Array) -> Array:
    return np.bitwise_and(x, y)


def bitwise_or(x: Array, y: Array) -> Array:
    return np.bitwise_or(x, y)


def bitwise_xor(x: Array, y: Array) -> Array:
    return np.bitwise_xor(x, y)


def bitwise_not(x: Array) -> Array:
    return np.invert(x)


def bitwise_left_shift(x: Array, n: Array) -> Array:
    return np.left_shift(x, n)


def bitwise_right_shift(x: Array, n: Array) -> Array:
    return np.right_shift(x, n)


def logical_and(x: Array, y: Array) -> Array:
    return np.logical_and(x, y)


def logical_or(x: Array, y: Array) -> Array:
    return np.logical_or(x, y)


def logical_xor(x: Array, y: Array) -> Array:
    return np.logical_xor(x, y)


def logical_not(x: Array) -> Array:
    return np.logical_not(x)


# ---- predicates


def equal(x: Array, y: Array) -> Array:
    return np.equal(x, y)


def not_equal(x: Array, y: Array) -> Array:
    return np.not_equal(x, y)


def greater(x: Array, y: Array) -> Array:
    return np.greater(x, y)


def greater_equal(x: Array, y: Array) -> Array:
    return np.greater_equal(x, y)


def less(x: Array, y: Array) -> Array:
    return np.less(x, y)


def less_equal(x: Array, y: Array) -> Array:
    return np.less_equal(x, y)


def isnan(x: Array) -> Array:
    return np.isnan(x)


def isinf(x: Array) -> Array:
    return np.isinf(x)


def isfinite(x: Array) -> Array:
    return np.isfinite(x)
