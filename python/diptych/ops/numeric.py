"""Elementwise functions and statistics made of table ops, under MindSpore's signatures."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = [
    "absolute",
    "allclose",
    "aminmax",
    "approximate_equal",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bincount",
    "bucketize",
    "copysign",
    "cumprod",
    "cumsum",
    "deg2rad",
    "diff",
    "divide",
    "float_power",
    "floor_mod",
    "fmax",
    "fmin",
    "frac",
    "gumbel_softmax",
    "heaviside",
    "inv",
    "invert",
    "is_floating_point",
    "isclose",
    "ldexp",
    "logaddexp",
    "logaddexp2",
    "logit",
    "multiply",
    "nan_to_num",
    "nanquantile",
    "nansum",
    "negative",
    "polygamma",
    "positive",
    "quantile",
    "rad2deg",
    "renorm",
    "signbit",
    "sinc",
    "std",
    "std_mean",
    "subtract",
    "trapz",
    "var",
    "var_mean",
]

_table = op_table

absolute, negative = _table["abs"], _table["neg"]
arccos, arcsin, arctan, arctan2 = (_table[n] for n in ("acos", "asin", "atan", "atan2"))
arccosh, arcsinh, arctanh = (_table[n] for n in ("acosh", "asinh", "atanh"))
subtract, multiply, divide = _table["sub"], _table["mul"], _table["div"]
floor_mod = _table["remainder"]
invert = _table["bitwise_not"]


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a float type.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.is_floating_point(ms.Tensor([1.0])), ops.is_floating_point(ms.Tensor([1]))
    (True, False)
    """
    return input.dtype.is_floating_point


def positive(input: Tensor) -> Tensor:
    """input itself; bool is refused.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.positive(ms.Tensor([1.0, -2.0])))
    [ 1. -2.]
    """
    if input.dtype is _core.bool_:
        raise TypeError("positive: input is bool; it must be numbers")
    return input


# ---- one input


def deg2rad(x: Tensor) -> Tensor:
    """Degrees as radians.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.deg2rad(ms.Tensor([180.0])))
    [3.1415927]
    """
    return x * (math.pi / 180)


def rad2deg(x: Tensor) -> Tensor:
    """Radians as degrees.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.rad2deg(ms.Tensor([3.1415927])))
    [180.]
    """
    return x * (180 / math.pi)


def inv(x: Tensor) -> Tensor:
    """1 / x in the dtype of x: of integers rounded towards 0, and 0 where x is 0.

    >>> from diptych import Tensor, ops
    >>> ops.inv(Tensor([1, -2, 0])).tolist(), ops.inv(Tensor([4.0])).tolist()
    ([1, 0, 0], [0.25])
    """
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return _table["reciprocal"](x)
    return _table["where"](_table["equal"](_table["abs"](x), 1), x, 0)


def frac(x: Tensor) -> Tensor:
    """x less x rounded towards 0.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.frac(ms.Tensor([1.5, -2.25])))
    [ 0.5  -0.25]
    """
    return x - _table["trunc"](x)


def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.sinc(ms.Tensor([0.0, 0.5])))
    [1.         0.63661975]
    """
    zero = _table["equal"](input, 0)
    x = _table["where"](zero, 1.0, input) * math.pi
    return _table["where"](zero, 1.0, _table["sin"](x) / x)


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), x first limited to [eps, 1 - eps] if eps is given.

    >>> from diptych import Tensor, ops
    >>> ops.logit(Tensor([0.5, 0.0]), 0.5).tolist()
    [0.0, 0.0]
    """
    x = input if eps is None else _table["clamp"](input, eps, 1 - eps)
    return _table["log"](x) - _table["log1p"](-x)


def polygamma(n: int, input: Tensor) -> Tensor:
    """Derivative number n of digamma; n is 0 or 1.

    >>> from diptych import Tensor, ops
    >>> round(ops.polygamma(1, Tensor(1.0)).item(), 4)
    1.6449
    """
    if n not in (0, 1):
        raise ValueError(f"polygamma: n is {n}; it must be 0 or 1")
    return _table["trigamma" if n else "digamma"](input)


def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN replaced by ``nan`` (None: 0), infinities by ``posinf`` and ``neginf`` (None: the largest
    and the lowest number of the dtype).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.nan_to_num(ms.Tensor([1.0, float("nan")]), 7.0))
    [1. 7.]
    """
    if not input.dtype.is_floating_point:
        return input
    where, top = _table["where"], largest(input.dtype)
    x = where(_table["isnan"](input), 0.0 if nan is None else nan, input)
    x = where(_table["equal"](x, math.inf), top if posinf is None else posinf, x)
    return where(_table["equal"](x, -math.inf), -top if neginf is None else neginf, x)


def largest(dtype: Any) -> float:
    """The largest finite number of a dtype."""
    if not dtype.is_floating_point:
        return 2.0 ** (8 * dtype.itemsize - dtype.is_signed) - 1
    digits, exponent = {
        _core.float16: (11, 16),
        _core.bfloat16: (8, 128),
        _core.float32: (24, 128),
        _core.float64: (53, 1024),
    }[dtype]
    return math.ldexp(2 - 2.0 ** (1 - digits), exponent - 1)


def lowest(dtype: Any) -> float:
    """The lowest finite number of a dtype."""
    if dtype.is_floating_point:
        return -largest(dtype)
    return -(2.0 ** (8 * dtype.itemsize - 1)) if dtype.is_signed else 0.0


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """softmax((logits + Gumbel noise) / tau) (Jang et al. 2017). hard: its largest element becomes
    1, the others 0, with the gradient of the soft result.

    >>> from diptych import ops
    >>> print(ops.gumbel_softmax(ops.zeros((2, 3)), hard=True).sum(-1))
    [1. 1.]
    """
    if tau <= 0:
        raise ValueError(f"gumbel_softmax: tau is {tau}; it must be positive")
    noise = -_table["log"](_table["exponential"](logits.shape, 1.0, logits.dtype))
    soft = _table["softmax"]((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = _table["argmax"](soft, dim)
    one = _table["one_hot"](index, soft.shape[dim], 1.0, 0.0, dim, soft.dtype)
    from ..common.grad import stop_gradient

    return one + (soft - stop_gradient(soft))


# ---- two inputs


def fmax(input: Any, other: Any) -> Tensor:
    """The larger; a number before NaN.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.fmax(ms.Tensor([1.0, float("nan")]), ms.Tensor([0.0, 2.0])))
    [1. 2.]
    """
    both = _table["maximum"](input, other)
    rest = _table["where"](_table["isnan"](input), other, input)
    return _table["where"](_table["isnan"](both), rest, both)


def fmin(input: Any, other: Any) -> Tensor:
    """The smaller; a number before NaN.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.fmin(ms.Tensor([1.0, float("nan")]), ms.Tensor([0.0, 2.0])))
    [0. 2.]
    """
    both = _table["minimum"](input, other)
    rest = _table["where"](_table["isnan"](input), other, input)
    return _table["where"](_table["isnan"](both), rest, both)


def signbit(input: Tensor) -> Tensor:
    """Whether the sign is minus, also that of -0; NaN has none here.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.signbit(ms.Tensor([1.0, -0.0])))
    [False  True]
    """
    if not input.dtype.is_floating_point:
        return _table["less"](input, 0)
    minus_zero = _table["equal"](_table["reciprocal"](input), -math.inf)
    return _table["logical_or"](_table["less"](input, 0), minus_zero)


def copysign(x: Tensor, other: Any) -> Tensor:
    """|x| with the sign of other.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.copysign(ms.Tensor([1.0, -2.0]), ms.Tensor([-0.0, 3.0])))
    [-1.  2.]
    """
    other = other if isinstance(other, Tensor) else _table["full"]((), float(other), x.dtype)
    return _table["abs"](x) * _table["where"](signbit(other), -1.0, 1.0)


def heaviside(input: Tensor, values: Any) -> Tensor:
    """0 below 0, 1 above, ``values`` at 0; NaN stays.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.heaviside(ms.Tensor([-1.0, 0.0, 2.0]), ms.Tensor([0.5])))
    [0.  0.5 1. ]
    """
    step = _table["where"](
        _table["isnan"](input), input, _table["maximum"](_table["sign"](input), 0)
    )
    return _table["where"](_table["equal"](input, 0), values, step)


def _log_add(x: Any, y: Any, base: float) -> Tensor:
    """max + log(1 + base^-|x - y|); equal infinities have no distance."""
    distance = _table["where"](_table["equal"](x, y), 0.0, _table["abs"](x - y))
    scale = math.log(base)
    low = _table["log1p"](_table["exp"](distance * -scale))
    return _table["maximum"](x, y) + (low if base == math.e else low / scale)


def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)) without overflow.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.logaddexp(ms.Tensor([0.0]), ms.Tensor([0.0])))
    [0.6931472]
    """
    return _log_add(input, other, math.e)


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2^input + 2^other) without overflow.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.logaddexp2(ms.Tensor([3.0]), ms.Tensor([3.0])))
    [4.]
    """
    return _log_add(input, other, 2.0)


def ldexp(x: Tensor, other: Any) -> Tensor:
    """x * 2^other.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.ldexp(ms.Tensor([1.0, 3.0]), ms.Tensor([2, -1])))
    [4.  1.5]
    """
    return x * _table["exp2"](other)


def float_power(input: Any, exponent: Any) -> Tensor:
    """input^exponent in float64.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.float_power(ms.Tensor([1, 2, 3]), 2))
    [1. 4. 9.]
    """
    parts = [v.astype(_core.float64) if isinstance(v, Tensor) else v for v in (input, exponent)]
    return _table["pow"](*parts)


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, element by element; equal infinities are
    close, NaN only with equal_nan.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.isclose(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1])))
    [ True False]
    """
    near = _table["abs"](input - other) <= atol + rtol * _table["abs"](other)
    finite = _table["isfinite"](input - other)
    close = _table["logical_or"](_table["logical_and"](near, finite), _table["equal"](input, other))
    if not equal_nan:
        return close
    both = _table["logical_and"](_table["isnan"](input), _table["isnan"](other))
    return _table["logical_or"](close, both)


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close, as isclose says.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.allclose(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.0 + 1e-7]))
    Tensor(shape=[], dtype=Bool, value= True)
    """
    return _table["all"](isclose(input, other, rtol, atol, equal_nan))


def approximate_equal(x: Tensor, y: Tensor, tolerance: float = 1e-5) -> Tensor:
    """Whether |x - y| < tolerance, element by element; x and y have one shape.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.approximate_equal(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1])))
    [ True False]
    """
    if x.shape != y.shape:
        raise ValueError(
            f"approximate_equal: x and y have shapes {x.shape} and {y.shape}; they must be equal"
        )
    return _table["less"](_table["maximum"](x, y) - _table["minimum"](x, y), tolerance)


# ---- along an axis


def cumsum(x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    """Running sum along axis, in double for floats; of dtype, None: that of x.

    >>> from diptych import Tensor, ops
    >>> ops.cumsum(Tensor([[1, 2, 3]]), 1).tolist()
    [[1, 3, 6]]
    """
    return _table["cumsum"](x, axis, dtype=dtype)


def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Running product along dim, in double for floats; of dtype, None: that of input.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.cumprod(ms.Tensor([1.0, 2.0, 3.0]), 0))
    [1. 2. 6.]
    """
    return _table["cumprod"](input, dim, dtype=dtype)


def diff(
    x: Tensor,
    n: int = 1,
    axis: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along axis, n times; prepend and append are joined on first.

    >>> from diptych import Tensor, ops
    >>> ops.diff(Tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
    if x.ndim == 0 or n < 0:
        raise ValueError(f"diff: x has shape {x.shape}, n is {n}; it needs an axis, and n >= 0")
    parts = [p for p in (prepend, x, append) if p is not None]
    x = x if len(parts) == 1 else _table["concat"](parts, axis)
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis] - 1
        high, low = (_table["narrow"](x, axis, start, size) for start in (1, 0))
        x = _table["not_equal"](high, low) if x.dtype is _core.bool_ else high - low
    return x


def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Integral along dim by trapezoids, over the points x (like y, or one axis) or steps dx.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.trapz(ms.Tensor([1.0, 2.0, 3.0])))
    4.0
    """
    if not -y.ndim <= dim < y.ndim or y.shape[dim] == 0:
        raise ValueError(f"trapz: dim is {dim}; y has shape {y.shape} and needs a point there")
    size = y.shape[dim] - 1
    high, low = (_table["narrow"](y, dim, start, size) for start in (1, 0))
    step: Any = dx
    if x is not None:
        last = x.ndim == 1
        step = diff(x, axis=-1 if last else dim)
        if last:
            step = step.reshape([size if a == dim % y.ndim else 1 for a in range(y.ndim)])
    return ((high + low) * step).sum(dim) / 2


def nansum(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum over axis (None: all) of what is not NaN.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.nansum(ms.Tensor([1.0, float("nan"), 3.0])))
    4.0
    """
    kept = _table["where"](_table["isnan"](input), 0, input)
    return _table["sum"](kept, axis, keepdims, dtype)


def _quantile(input: Tensor, q: Any, axis: int | None, keepdims: bool, skip: bool) -> Tensor:
    """Between the two elements in order around q (n - 1); ``skip``: n counts no NaN."""
    levels = q.tolist() if isinstance(q, Tensor) else q
    if isinstance(levels, list | tuple):
        made = [_quantile(input, one, axis, keepdims, skip) for one in levels]
        return _table["stack"](made, 0)
    if not 0 <= levels <= 1:
        raise ValueError(f"quantile: q is {levels}; it must lie between 0 and 1")
    x = input.reshape((-1,)) if axis is None else input
    along = 0 if axis is None else axis
    order, _ = _table["sort"](x, along)
    missing = _table["isnan"](order)
    count = x.shape[along] - _table["sum"](missing, along, True)
    last = _table["maximum"](count - 1, 0)
    place = last.astype(_core.float64) * levels
    low = _table["floor"](place)
    high = _table["minimum"](low + 1, last)
    below, above = (
        _table["gather_elements"](order, i.astype(_core.int64), along) for i in (low, high)
    )
    made = _table["lerp"](below, above, (place - low).astype(x.dtype))
    if not skip:
        made = _table["where"](_table["any"](missing, along, True), math.nan, made)
    if axis is None:
        return made.reshape((1,) * input.ndim if keepdims else ())
    return made if keepdims else made.squeeze(along)


def quantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The value below which a share q of the elements along axis (None: all) lies, interpolated
    linearly; NaN if there is one. A list or 1-d Tensor of q gives a new first axis.

    >>> from diptych import Tensor, ops
    >>> ops.quantile(Tensor([3.0, 1.0, 2.0]), 0.75).item()
    2.5
    """
    return _quantile(input, q, axis, keepdims, False)


def nanquantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """quantile of what is not NaN.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.nanquantile(ms.Tensor([1.0, float("nan"), 3.0]), 0.5))
    2.0
    """
    return _quantile(input, q, axis, keepdims, True)


def renorm(input: Tensor, p: float, axis: int, maxnorm: float) -> Tensor:
    """Slices along axis whose p-norm is above maxnorm shrunk to it.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.renorm(ms.Tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0))
    [[0.6 0.8]
     [0.3 0.4]]
    """
    if p <= 0 or maxnorm < 0 or input.ndim < 2:
        raise ValueError(
            f"renorm: p is {p}, maxnorm {maxnorm}, input has shape {input.shape}; p must be "
            "positive, maxnorm 0 or more, input have 2 axes or more"
        )
    others = [i for i in range(input.ndim) if i != axis % input.ndim]
    norms = _table["norm"](input, others, True, p)
    return input * _table["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def std(
    input: Tensor,
    axis: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    keep_dims: bool = False,
) -> Tensor:
    """Standard deviation over axis (None: all), the root of var.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.std(ms.Tensor([1.0, 2.0, 3.0]), 0, 1))
    1.0
    """
    return _table["std"](input, axis, keepdims or keep_dims, ddof)


def var(
    input: Tensor,
    axis: Any = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    keep_dims: bool = False,
) -> Tensor:
    """Variance over axis (None: all): squared distances to the mean, over n - ddof.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.var(ms.Tensor([1.0, 2.0, 3.0]), 0, 1))
    1.0
    """
    return _table["var"](input, axis, keepdims or keep_dims, ddof)


def std_mean(
    input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over axis (None: all).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.std_mean(ms.Tensor([1.0, 2.0, 3.0])))
    0.8164966 2.0
    """
    return _table["std"](input, axis, keepdims, ddof), _table["mean"](input, axis, keepdims)


def var_mean(
    input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """Variance and mean over axis (None: all).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.var_mean(ms.Tensor([1.0, 2.0, 3.0])))
    0.6666667 2.0
    """
    return _table["var"](input, axis, keepdims, ddof), _table["mean"](input, axis, keepdims)


def aminmax(input: Tensor, *, axis: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Smallest and largest element over axis (None: all).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.aminmax(ms.Tensor([3.0, 1.0, 2.0])))
    1.0 3.0
    """
    return _table["amin"](input, axis, keepdims), _table["amax"](input, axis, keepdims)


# ---- counting


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a 1-d input, as int64; with weights the sum of those
    that stand beside it, in their dtype (integers as float32). At least ``minlength`` numbers.

    >>> from diptych import Tensor, ops
    >>> ops.bincount(Tensor([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    counts = _table["bincount"](input, minlength)
    if weights is None:
        return counts
    if weights.shape != input.shape:
        raise ValueError(f"bincount: weights have shape {weights.shape}, input {input.shape}")
    if not weights.dtype.is_floating_point:
        weights = weights.astype(_core.float32)
    zeros = _table["zeros"](counts.shape, weights.dtype)
    return _table["index_set"](zeros, weights, [input], None, "add")


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Tensor:
    """The number of boundaries (sorted) below each element, or up to it if right, as int64.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.bucketize(ms.Tensor([1.0, 3.0, 6.0]), [2.0, 4.0]))
    [0 1 2]
    """
    edges = boundaries if isinstance(boundaries, Tensor) else Tensor(list(boundaries))
    return _table["searchsorted"](edges, input, right)
