"""Comparing and deciding; results are bool."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core, ops
from .._core import Tensor, op_table
from .convert import as_float, as_tensor, axes_of, cast, number
from .elementwise import operands

__all__ = [
    "array_equal",
    "array_equiv",
    "equal",
    "greater",
    "greater_equal",
    "in1d",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isscalar",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "signbit",
    "sometrue",
]

_table = op_table


def _compare(name: str, op: str, doc: str) -> Callable[..., Tensor]:
    def apply(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        return cast(_table[op](*operands(x1, x2)), dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


equal = _compare("equal", "equal", "x1 == x2.")
not_equal = _compare("not_equal", "not_equal", "x1 != x2.")
less = _compare("less", "less", "x1 < x2.")
less_equal = _compare("less_equal", "less_equal", "x1 <= x2.")
greater = _compare("greater", "greater", "x1 > x2.")
greater_equal = _compare("greater_equal", "greater_equal", "x1 >= x2.")
logical_and = _compare("logical_and", "logical_and", "Whether both are not 0.")
logical_or = _compare("logical_or", "logical_or", "Whether one or both are not 0.")
logical_xor = _compare("logical_xor", "logical_xor", "Whether just one is not 0.")


def _test(name: str, function: Callable[[Tensor], Tensor], doc: str) -> Callable[..., Tensor]:
    def apply(x: Any, dtype: Any = None) -> Tensor:
        return cast(function(as_tensor(x, "x")), dtype)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = doc
    return apply


logical_not = _test("logical_not", _table["logical_not"], "Whether x is 0.")
isfinite = _test("isfinite", _table["isfinite"], "Whether neither infinite nor NaN.")
isinf = _test("isinf", _table["isinf"], "Whether infinite.")
isnan = _test("isnan", _table["isnan"], "Whether NaN.")
isposinf = _test("isposinf", lambda x: _table["equal"](x, math.inf), "Whether +infinity.")
isneginf = _test("isneginf", lambda x: _table["equal"](x, -math.inf), "Whether -infinity.")
signbit = _test("signbit", ops.signbit, "Whether the sign is minus, also that of -0.")


def isscalar(element: Any) -> bool:
    """Whether element is a number, a bool or a string of Python's or NumPy's.

    >>> import diptych.numpy as mnp
    >>> mnp.isscalar(2.5), mnp.isscalar(mnp.array(2.5))
    (True, False)
    """
    if isinstance(element, bool | int | float | complex | str | bytes):
        return True
    import numpy as np

    return isinstance(element, np.generic)


def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |a - b| <= atol + rtol |b|; infinities when equal, NaN only with equal_nan.

    >>> import diptych.numpy as mnp
    >>> mnp.isclose([1.0, 2.0], [1.0, 2.1]).tolist()
    [True, False]
    """
    x, y = as_float(as_tensor(a)), as_float(as_tensor(b, "b"))
    tolerances = number("isclose: rtol", rtol), number("isclose: atol", atol)
    return ops.isclose(x, y, *tolerances, equal_nan)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether the shapes and all elements are equal.

    >>> import diptych.numpy as mnp
    >>> mnp.array_equal([1, 2], [1, 2]).item()
    True
    """
    x, y = as_tensor(a1, "a1"), as_tensor(a2, "a2")
    if x.shape != y.shape:
        return Tensor(False)
    same = _table["equal"](x, y)
    if equal_nan:
        both = _table["logical_and"](_table["isnan"](x), _table["isnan"](y))
        same = _table["logical_or"](same, both)
    return _table["all"](same)


def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Whether all elements are equal once the shapes are broadcast; False if they cannot be."""
    x, y = as_tensor(a1, "a1"), as_tensor(a2, "a2")
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    if any(n != m and 1 not in (n, m) for n, m in pairs):
        return Tensor(False)
    return _table["all"](_table["equal"](x, y))


def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element over axis (None: all) is not 0."""
    a = as_tensor(a)
    return _table["any"](a, axes_of(axis, a.ndim), bool(keepdims))


def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """For each element whether it is among test_elements (invert: whether it is not).

    >>> import diptych.numpy as mnp
    >>> mnp.isin([[1, 2], [3, 4]], [4, 1]).tolist()
    [[True, False], [False, True]]
    """
    x, known = as_tensor(element, "element"), as_tensor(test_elements, "test_elements")
    if known.size == 0:
        return _table["full"](x.shape, float(invert), _core.bool_)
    dtype = _core.promote(x.dtype, known.dtype)
    order, _ = _table["sort"](known.reshape((-1,)).astype(dtype), 0)
    place = _table["searchsorted"](order, x.astype(dtype).reshape((-1,)))
    place = _table["minimum"](place, order.size - 1)
    found = _table["equal"](_table["gather"](order, place, 0), x.reshape((-1,)))
    found = found.reshape(x.shape)
    return _table["logical_not"](found) if invert else found


def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """isin of the flattened ar1."""
    return isin(as_tensor(ar1, "ar1").reshape((-1,)), ar2, invert)
