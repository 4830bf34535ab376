"""Functions of each element. ``dtype`` converts the result; a plain number takes the dtype of the
array that it meets, and two plain numbers become int32, float32 or bool."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core, ops
from .._core import Tensor, op_table
from .convert import as_float, as_operand, as_tensor, cast, whole

__all__ = [
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "around",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "divmod",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "gcd",
    "heaviside",
    "hypot",
    "invert",
    "lcm",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "positive",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

_table = op_table


def _one(name: str, function: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    def apply(x: Any, dtype: Any = None) -> Tensor:
        return cast(function(as_tensor(x, "x")), dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


def operands(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Two inputs of an op: one at least a Tensor."""
    first, second = as_operand(x1, "x1"), as_operand(x2, "x2")
    if isinstance(first, Tensor) or isinstance(second, Tensor):
        return first, second
    return as_tensor(first), as_tensor(second)


def _two(name: str, function: Callable[..., Tensor], doc: str) -> Callable[..., Tensor]:
    def apply(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        return cast(function(*operands(x1, x2)), dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


def _tensors(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """For functions that look at the dtypes of both."""

    def apply(x1: Any, x2: Any) -> Tensor:
        return function(as_tensor(x1, "x1"), as_tensor(x2, "x2"))

    return apply


# ---- arithmetic

add = _two("add", _table["add"], "x1 + x2.")
subtract = _two("subtract", _table["sub"], "x1 - x2.")
multiply = _two("multiply", _table["mul"], "x1 * x2.")
divide = _two("divide", _table["div"], "x1 / x2; of integers as float32.")
true_divide = _two("true_divide", _table["div"], "x1 / x2; of integers as float32.")
floor_divide = _two("floor_divide", _table["floor_div"], "x1 / x2 rounded down.")
remainder = _two("remainder", _table["remainder"], "What is left of x1 / x2, signed as x2.")
mod = _two("mod", _table["remainder"], "What is left of x1 / x2, signed as x2.")
fmod = _two("fmod", _table["fmod"], "What is left of x1 / x2, signed as x1.")
power = _two("power", _table["pow"], "x1 to the power x2.")
minimum = _two("minimum", _table["minimum"], "The smaller; NaN before all.")
maximum = _two("maximum", _table["maximum"], "The larger; NaN before all.")
hypot = _two("hypot", _table["hypot"], "sqrt(x1^2 + x2^2) without overflow.")
heaviside = _two(
    "heaviside", _tensors(ops.heaviside), "0 for x1 below 0, 1 above, x2 at 0; NaN stays."
)
copysign = _two("copysign", _tensors(ops.copysign), "|x1| with the sign of x2.")


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """floor_divide and remainder."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def float_power(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """x1 to the power x2 as floats: integers become float32."""
    base, exponent = operands(x1, x2)
    base = as_float(base) if isinstance(base, Tensor) else float(base)
    return cast(_table["pow"](base, exponent), dtype)


def _absolute(x: Tensor) -> Tensor:
    return x if x.dtype is _core.bool_ else _table["abs"](x)


absolute = _one("absolute", _absolute, "|x|.")
positive = _one("positive", lambda x: ops.positive(x).copy(), "x itself; bool is refused.")
negative = _one("negative", _table["neg"], "-x.")
sign = _one("sign", _table["sign"], "-1, 0 or 1 as the sign is.")
square = _one("square", _table["square"], "x^2.")
reciprocal = _one("reciprocal", _table["reciprocal"], "1 / x.")
sqrt = _one("sqrt", _table["sqrt"], "The square root; NaN of negative numbers.")


def _cube_root(x: Tensor) -> Tensor:
    x = as_float(x)
    return _table["sign"](x) * _table["pow"](_table["abs"](x), 1 / 3)


cbrt = _one("cbrt", _cube_root, "The cube root.")

# ---- exponentials and logarithms

exp = _one("exp", _table["exp"], "e to the power x.")
exp2 = _one("exp2", _table["exp2"], "2 to the power x.")
expm1 = _one("expm1", _table["expm1"], "exp(x) - 1, exact for small x.")
log = _one("log", _table["log"], "The natural logarithm.")
log2 = _one("log2", _table["log2"], "The logarithm to base 2.")
log10 = _one("log10", _table["log10"], "The logarithm to base 10.")
log1p = _one("log1p", _table["log1p"], "log(1 + x), exact for small x.")
logaddexp = _two("logaddexp", _tensors(ops.logaddexp), "log(exp(x1) + exp(x2)) without overflow.")
logaddexp2 = _two("logaddexp2", _tensors(ops.logaddexp2), "log2(2^x1 + 2^x2) without overflow.")

# ---- angles

sin = _one("sin", _table["sin"], "The sine of radians.")
cos = _one("cos", _table["cos"], "The cosine of radians.")
tan = _one("tan", _table["tan"], "The tangent of radians.")
sinh = _one("sinh", _table["sinh"], "(exp(x) - exp(-x)) / 2.")
cosh = _one("cosh", _table["cosh"], "(exp(x) + exp(-x)) / 2.")
tanh = _one("tanh", _table["tanh"], "sinh(x) / cosh(x).")
arcsin = _one("arcsin", _table["asin"], "The angle in [-pi/2, pi/2] whose sine is x.")
arccos = _one("arccos", _table["acos"], "The angle in [0, pi] whose cosine is x.")
arctan = _one("arctan", _table["atan"], "The angle in (-pi/2, pi/2) whose tangent is x.")
arcsinh = _one("arcsinh", _table["asinh"], "The inverse of sinh.")
arccosh = _one("arccosh", _table["acosh"], "The inverse of cosh on x >= 1.")
arctanh = _one("arctanh", _table["atanh"], "The inverse of tanh.")
arctan2 = _two("arctan2", _table["atan2"], "The angle of the point (x2, x1), in [-pi, pi].")
deg2rad = _one("deg2rad", lambda x: as_float(x) * (math.pi / 180), "Degrees as radians.")
radians = _one("radians", lambda x: as_float(x) * (math.pi / 180), "Degrees as radians.")
rad2deg = _one("rad2deg", lambda x: as_float(x) * (180 / math.pi), "Radians as degrees.")

# ---- rounding

floor = _one("floor", _table["floor"], "Rounded down.")
ceil = _one("ceil", _table["ceil"], "Rounded up.")
trunc = _one("trunc", _table["trunc"], "Rounded towards 0.")
fix = _one("fix", _table["trunc"], "Rounded towards 0.")
rint = _one("rint", _table["round"], "Rounded to the nearest whole number, halves to even ones.")


def around(a: Any, decimals: int = 0) -> Tensor:
    """Rounded to this many decimals, halves to even digits; negative: to tens, hundreds ...

    >>> import diptych.numpy as mnp
    >>> mnp.around([1.25, 3.141], 1).tolist()
    [1.2000000476837158, 3.0999999046325684]
    """
    a = as_tensor(a)
    if whole("around: decimals", decimals) == 0 or (decimals > 0 and not a.dtype.is_floating_point):
        return _table["round"](a)
    scale = 10.0 ** abs(decimals)
    rounded = as_float(a)
    if decimals > 0:
        return _table["round"](rounded * scale) / scale
    return cast(_table["round"](rounded / scale) * scale, a.dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """x limited to [xmin, xmax]; None leaves a side open; where xmin > xmax, xmax.

    >>> import diptych.numpy as mnp
    >>> mnp.clip([1, 2, 3], 2, None).tolist()
    [2, 2, 3]
    """
    if xmin is None and xmax is None:
        raise ValueError("clip: xmin and xmax are both None")
    made = as_tensor(x, "x")
    if xmin is not None:
        made = _table["maximum"](made, as_operand(xmin, "xmin"))
    if xmax is not None:
        made = _table["minimum"](made, as_operand(xmax, "xmax"))
    return cast(made, dtype)


# ---- bits and divisors

bitwise_and = _two("bitwise_and", _table["bitwise_and"], "Bits set in both.")
bitwise_or = _two("bitwise_or", _table["bitwise_or"], "Bits set in either.")
bitwise_xor = _two("bitwise_xor", _table["bitwise_xor"], "Bits set in one of the two.")
invert = _one("invert", _table["bitwise_not"], "All bits turned round; of bool: not.")


def gcd(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The greatest common divisor (Euclid); of 0 and 0 it is 0.

    >>> import diptych.numpy as mnp
    >>> mnp.gcd([12, 0], [18, 5]).tolist()
    [6, 5]
    """
    first, second = operands(x1, x2)
    sizes = (first + second).shape
    wanted = (first + second).dtype
    a, b = (
        _table["broadcast_to"](_absolute(as_tensor(v).astype(wanted)), sizes)
        for v in (first, second)
    )
    while _table["any"](b > 0):  # NaN ends it
        done = _table["logical_not"](b > 0)
        rest = _table["remainder"](a, _table["where"](done, 1, b))
        a, b = _table["where"](done, a, b), _table["where"](done, 0, rest)
    return cast(a, dtype)


def lcm(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """The least common multiple; 0 if one is 0.

    >>> import diptych.numpy as mnp
    >>> mnp.lcm(4, 6).item()
    12
    """
    first, second = operands(x1, x2)
    common = _table["maximum"](gcd(first, second), 1)
    return cast(_absolute(_table["floor_div"](first, common) * second), dtype)
