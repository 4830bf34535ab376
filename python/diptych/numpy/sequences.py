"""Along an axis: differences and integrals, convolution, polynomials (highest power first)."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, ops
from .._core import Tensor, op_table
from .convert import as_float, as_tensor, axes_of, axis_of, number, whole

__all__ = [
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "polyadd",
    "polyder",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "trapz",
    "unwrap",
]

_table = op_table


# ---- differences and integrals


def _joined_on(value: Any, a: Tensor, axis: int) -> Tensor | None:
    """What diff joins on: a number becomes one slice."""
    if value is None:
        return None
    made = as_tensor(value, "prepend, append")
    if made.ndim:
        return made
    return _table["broadcast_to"](made, [1 if i == axis else n for i, n in enumerate(a.shape)])


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along axis, n times; prepend and append are joined on first.

    >>> import diptych.numpy as mnp
    >>> mnp.diff([1, 4, 9]).tolist()
    [3, 5]
    """
    a = as_tensor(a)
    axis = axis_of(axis, a.ndim)
    if whole("diff: n", n) == 0:
        return a
    return ops.diff(a, n, axis, _joined_on(prepend, a, axis), _joined_on(append, a, axis))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours in the flattened array, between to_begin and to_end."""
    flat = as_tensor(ary, "ary").reshape((-1,))
    parts = [None if v is None else as_tensor(v).reshape((-1,)) for v in (to_begin, to_end)]
    joined = [p for p in (parts[0], ops.diff(flat), parts[1]) if p is not None]
    return _table["concat"]([p.astype(flat.dtype) for p in joined], 0)


def _slope(f: Tensor, step: float, axis: int) -> Tensor:
    n = f.shape[axis]
    if n < 2:
        raise ValueError(f"gradient: f has shape {f.shape}; along axis {axis} it needs 2 or more")

    def part(start: int, length: int) -> Tensor:
        return _table["narrow"](f, axis, start, length)

    first, last = part(1, 1) - part(0, 1), part(n - 1, 1) - part(n - 2, 1)
    middle = (part(2, n - 2) - part(0, n - 2)) / 2
    return _table["concat"]([first, middle, last], axis) / step


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes along the axes (None: all), from both neighbours inside, from one at the ends;
    varargs are the distances of neighbours: one for all axes, or one each. A list, or of one axis
    a Tensor. edge_order is 1.

    >>> import diptych.numpy as mnp
    >>> mnp.gradient([1.0, 2.0, 4.0]).tolist()
    [1.0, 1.5, 2.0]
    """
    f = as_float(as_tensor(f, "f"))
    if edge_order != 1:
        raise ValueError(f"gradient: edge_order is {edge_order}; it must be 1")
    axes = axes_of(axis, f.ndim)
    steps = varargs or (1,)
    if len(steps) not in (1, len(axes)) or any(not isinstance(s, int | float) for s in steps):
        raise ValueError(
            f"gradient: the distances are {varargs}; they must be numbers, one or one for each of "
            f"{len(axes)} axes"
        )
    made = [_slope(f, steps[i % len(steps)], a) for i, a in enumerate(axes)]
    return made[0] if len(made) == 1 else made


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """Integral along axis by trapezoids, over the points x (like y, or a vector) or steps dx.

    >>> import diptych.numpy as mnp
    >>> mnp.trapz([1.0, 2.0, 3.0]).item()
    4.0
    """
    y = as_tensor(y, "y")
    points = None if x is None else as_tensor(x, "x")
    return ops.trapz(y, points, dx=dx, dim=axis_of(axis, y.ndim))


def unwrap(p: Any, discont: float = math.pi, axis: int = -1) -> Tensor:
    """Angles with multiples of 2 pi added, so that no step along axis is larger than discont.

    >>> import diptych.numpy as mnp
    >>> mnp.around(mnp.unwrap([0.0, 6.0]), 2).tolist()
    [0.0, -0.2800000011920929]
    """
    p = as_float(as_tensor(p, "p"))
    axis = axis_of(axis, p.ndim)
    number("unwrap: discont", discont)
    step = ops.diff(p, 1, axis)
    turned = _table["remainder"](step + math.pi, 2 * math.pi) - math.pi
    upwards = _table["logical_and"](_table["equal"](turned, -math.pi), step > 0)
    turned = _table["where"](upwards, math.pi, turned)
    fix = _table["where"](_table["abs"](step) < discont, 0, turned - step)
    first = _table["narrow"](p, axis, 0, 1)
    rest = _table["narrow"](p, axis, 1, p.shape[axis] - 1)
    return _table["concat"]([first, rest + _table["cumsum"](fix, axis)], axis)


# ---- convolution


def _vector(name: str, argument: str, value: Any) -> Tensor:
    x = as_tensor(value, argument)
    if x.ndim > 1 or x.size == 0:
        raise ValueError(f"{name}: {argument} has shape {x.shape}; it must be a vector, not empty")
    return x.reshape((-1,))


def _convolve(name: str, a: Tensor, v: Tensor, mode: str) -> Tensor:
    """sum_j a[i - j] v[j] for v not longer than a."""
    n, m = a.size, v.size
    bounds = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    if mode not in bounds:
        raise ValueError(f"{name}: mode is {mode!r}; it must be 'full', 'same' or 'valid'")
    start, length = bounds[mode]
    turned = _table["flip"](v, (0,))
    dtype = _core.promote(a.dtype, v.dtype)
    if dtype.is_floating_point:
        row, kernel = (x.reshape((1, 1, -1)).astype(dtype, copy=False) for x in (a, turned))
        made = _table["conv"](row, kernel, None, (1,), (m - 1,)).reshape((-1,))
        return _table["narrow"](made, 0, start, length)
    # Integers stay exact as the product of a's neighbours, one row each, with v.
    padded = _table["pad"](a, (m - 1, m - 1))
    rows = _table["arange"](start, start + length, 1, None).reshape((-1, 1))
    place = rows + _table["arange"](0, m, 1, None)
    return _table["matmul"](_table["gather"](padded, place, 0), turned)


def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """sum_j a[i - j] v[j] of two vectors: wherever they overlap ("full"), as long as the longer
    ("same"), or where the shorter lies inside ("valid").

    >>> import diptych.numpy as mnp
    >>> mnp.convolve([1, 2, 3], [1, 10]).tolist()
    [1, 12, 23, 30]
    """
    x, y = _vector("convolve", "a", a), _vector("convolve", "v", v)
    return _convolve("convolve", *((x, y) if x.size >= y.size else (y, x)), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """sum_j a[i + j] v[j] of two vectors, modes as in convolve.

    >>> import diptych.numpy as mnp
    >>> mnp.correlate([1, 2, 3], [0, 1]).tolist()
    [2, 3]
    """
    x, y = _vector("correlate", "a", a), _vector("correlate", "v", v)
    if x.size >= y.size:
        return _convolve("correlate", x, _table["flip"](y, (0,)), mode)
    return _table["flip"](_convolve("correlate", y, _table["flip"](x, (0,)), mode), (0,))


# ---- polynomials


def _poly(name: str, p: Any) -> Tensor:
    x = as_tensor(p, "coefficients")
    if x.ndim > 1:
        raise ValueError(f"{name}: the coefficients have shape {x.shape}; they must be a vector")
    return x.reshape((-1,))


def _same_length(name: str, a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    x, y = _poly(name, a1), _poly(name, a2)
    n = max(x.size, y.size)
    return _table["pad"](x, (n - x.size, 0)), _table["pad"](y, (n - y.size, 0))


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials.

    >>> import diptych.numpy as mnp
    >>> mnp.polyadd([1, 2], [9, 5, 4]).tolist()
    [9, 6, 6]
    """
    x, y = _same_length("polyadd", a1, a2)
    return x + y


def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials."""
    x, y = _same_length("polysub", a1, a2)
    return x - y


def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials."""
    return convolve(_poly("polymul", a1), _poly("polymul", a2))


def polyval(p: Any, x: Any) -> Tensor:
    """The polynomial at each x (Horner's rule).

    >>> import diptych.numpy as mnp
    >>> mnp.polyval([3, 0, 1], 5).item()
    76
    """
    coefficients, x = _poly("polyval", p), as_tensor(x, "x")
    made = _table["zeros_like"](x)
    for c in _table["unstack"](coefficients, 0):
        made = made * x + c
    return made


def _order(name: str, m: int) -> None:
    if not isinstance(m, int) or m < 0:
        raise ValueError(f"{name}: m is {m!r}; it must be an int, 0 or more")


def polyder(p: Any, m: int = 1) -> Tensor:
    """The m-th derivative of a polynomial.

    >>> import diptych.numpy as mnp
    >>> mnp.polyder([1, 1, 1, 1]).tolist()
    [3, 2, 1]
    """
    _order("polyder", m)
    p = _poly("polyder", p)
    for _ in range(min(m, p.size)):
        n = p.size - 1
        p = p[:n] * _table["arange"](n, 0, -1, p.dtype)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The m-th antiderivative of a polynomial; k are the constants, first that of the first
    integration, one number for all, or None for 0.

    >>> import diptych.numpy as mnp
    >>> mnp.polyint([3, 2], k=7).tolist()
    [1.5, 2.0, 7.0]
    """
    _order("polyint", m)
    p = as_float(_poly("polyint", p))
    constants = list(k) if isinstance(k, list | tuple) else [0 if k is None else k] * m
    if len(constants) == 1:
        constants = constants * m
    if len(constants) < m:
        raise ValueError(f"polyint: k is {k}; there must be one constant, or {m}")
    for constant in constants[:m]:
        p = p / _table["arange"](p.size, 0, -1, p.dtype)
        end = as_tensor(constant, "k").reshape((1,)).astype(p.dtype)
        p = _table["concat"]([p, end], 0)
    return p
