"""Numbers of many elements: sums, means, extremes, running sums. ``axis`` is one or several, None
means all. Integers below 32 bits and bools add up in int32, others in their own dtype."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..ops.numeric import largest, lowest
from .convert import as_dtype, as_float, as_tensor, axes_of, axis_of, cast, number, sum_dtype, whole

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "max",
    "mean",
    "min",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

_table = op_table


# ---- sums


def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Tensor:
    """The sum over axis, plus ``initial`` if given.

    >>> import diptych.numpy as mnp
    >>> mnp.sum([[1, 2], [3, 4]], 0).tolist()
    [4, 6]
    """
    a = as_tensor(a)
    wanted = sum_dtype(a.dtype) if dtype is None else as_dtype(dtype)
    made = _table["sum"](a, axes_of(axis, a.ndim), bool(keepdims), wanted)
    return made if initial is None else made + number("sum: initial", initial)


def prod(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over axis."""
    a = as_tensor(a)
    wanted = sum_dtype(a.dtype) if dtype is None else as_dtype(dtype)
    return _table["prod"](a, axes_of(axis, a.ndim), bool(keepdims), wanted)


def _running(op: str, a: Any, axis: Any, dtype: Any) -> Tensor:
    a = as_tensor(a)
    x, along = (a.reshape((-1,)), 0) if axis is None else (a, axis_of(axis, a.ndim))
    wanted = sum_dtype(x.dtype) if dtype is None else as_dtype(dtype)
    if wanted is _core.bool_:
        return _table[op](x, along).astype(wanted)
    return _table[op](x.astype(wanted, copy=False), along, False, False, wanted)


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running sums along axis; None: of the flattened array.

    >>> import diptych.numpy as mnp
    >>> mnp.cumsum([1, 2, 3]).tolist()
    [1, 3, 6]
    """
    return _running("cumsum", a, axis, dtype)


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running products along axis; None: of the flattened array."""
    return _running("cumprod", a, axis, dtype)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """How many elements over axis are not 0."""
    x = as_tensor(x, "x")
    return _table["count_nonzero"](x, axes_of(axis, x.ndim), bool(keepdims))


# ---- means


def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean over axis; of integers as float32."""
    a = cast(as_tensor(a), dtype)
    return cast(_table["mean"](as_float(a), axes_of(axis, a.ndim), bool(keepdims)), dtype)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """sum(weights x) / sum(weights) over axis (None for weights: all 1); returned: the sum of the
    weights too. weights have the shape of x, or are one for each place along the one axis.

    >>> import diptych.numpy as mnp
    >>> mnp.average([1.0, 4.0], weights=[2, 1]).item()
    2.0
    """
    x = as_float(as_tensor(x, "x"))
    axes = axes_of(axis, x.ndim)
    w = _table["ones_like"](x) if weights is None else as_tensor(weights, "weights")
    if w.shape != x.shape:
        if w.ndim != 1 or len(axes) != 1 or w.size != x.shape[axes[0]]:
            raise ValueError(
                f"average: weights have shape {w.shape}, x {x.shape}, axis is {axis}; weights must "
                "be like x or 1-d along one axis"
            )
        w = w.reshape([-1 if i == axes[0] else 1 for i in range(x.ndim)])
        w = _table["broadcast_to"](w, x.shape)
    total = _table["sum"](w.astype(x.dtype), axes)
    made = _table["sum"](x * w, axes) / total
    return (made, total) if returned else made


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The mean of (x - mean)^2 over axis, by n - ddof."""
    x = as_float(as_tensor(x, "x"))
    return _table["var"](x, axes_of(axis, x.ndim), bool(keepdims), whole("var: ddof", ddof))


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The root of var."""
    x = as_float(as_tensor(x, "x"))
    return _table["std"](x, axes_of(axis, x.ndim), bool(keepdims), whole("std: ddof", ddof))


# ---- extremes


def _extreme(op: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Tensor:
    a = as_tensor(a)
    axes = axes_of(axis, a.ndim)
    name, best = ("amax", "maximum") if op == "amax" else ("amin", "minimum")
    if initial is not None:
        number(f"{name}: initial", initial)
    if where is not True:
        if initial is None:
            raise ValueError(f"{name}: where is given; initial must be too")
        a = _table["where"](as_tensor(where, "where"), a, initial)
    made = _table[op](a, axes, bool(keepdims)) if axes else a
    return made if initial is None else _table[best](made, initial)


def amax(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The largest element over axis, among those where ``where`` holds, and ``initial``; NaN if
    there is one.

    >>> import diptych.numpy as mnp
    >>> mnp.amax([[1, 5], [3, 4]], 0).tolist()
    [3, 5]
    """
    return _extreme("amax", a, axis, keepdims, initial, where)


def amin(
    a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Tensor:
    """The smallest element over axis, among those where ``where`` holds, and ``initial``; NaN if
    there is one."""
    return _extreme("amin", a, axis, keepdims, initial, where)


max, min = amax, amin


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest element over axis."""
    return amax(x, axis, keepdims) - amin(x, axis, keepdims)


def argmax(a: Any, axis: Any = None) -> Tensor:
    """Index of the largest element along axis; None: in the flattened array."""
    return _table["argmax"](as_tensor(a), axis)


def argmin(a: Any, axis: Any = None) -> Tensor:
    """Index of the smallest element along axis; None: in the flattened array."""
    return _table["argmin"](as_tensor(a), axis)


# ---- without NaN


def _without(x: Tensor, value: Any) -> Tensor:
    return _table["where"](_table["isnan"](x), value, x) if x.dtype.is_floating_point else x


def _there(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """How many over the axes are not NaN."""
    return _table["sum"](_table["logical_not"](_table["isnan"](x)), axes, True)


def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum of what is not NaN.

    >>> import diptych.numpy as mnp
    >>> mnp.nansum([1.0, float("nan")]).item()
    1.0
    """
    return sum(_without(as_tensor(a), 0), axis, dtype, keepdims)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Tensor:
    """Running sums in which NaN counts 0."""
    return cumsum(_without(as_tensor(a), 0), axis, dtype)


def _shaped(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    return x if keepdims or not axes else _table["squeeze"](x, axes)


def _nan_extreme(op: str, a: Any, axis: Any, keepdims: bool) -> Tensor:
    a = as_tensor(a)
    axes = axes_of(axis, a.ndim)
    if not a.dtype.is_floating_point or not axes:
        return _extreme(op, a, axis, keepdims, None, True)
    kept = _without(a, lowest(a.dtype) if op == "amax" else largest(a.dtype))
    made = _table[op](kept, axes, True)
    made = _table["where"](_there(a, axes) > 0, made, math.nan)
    return _shaped(made, axes, keepdims)


def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element that is not NaN; NaN if there is none."""
    return cast(_nan_extreme("amax", a, axis, keepdims), dtype)


def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element that is not NaN; NaN if there is none."""
    return cast(_nan_extreme("amin", a, axis, keepdims), dtype)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not NaN; NaN if there is nothing."""
    x = as_float(as_tensor(a))
    axes = axes_of(axis, x.ndim)
    made = _table["sum"](_without(x, 0), axes, True) / _there(x, axes)
    return cast(_shaped(made.astype(x.dtype, copy=False), axes, keepdims), dtype)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The variance of what is not NaN, by n - ddof; NaN where that is not positive."""
    x = as_float(as_tensor(a))
    axes = axes_of(axis, x.ndim)
    centred = _without(x - nanmean(x, axis, keepdims=True), 0)
    count = _there(x, axes) - whole("nanvar: ddof", ddof)
    made = _table["sum"](_table["square"](centred), axes, True) / count
    made = _table["where"](count > 0, made, math.nan).astype(x.dtype, copy=False)
    return cast(_shaped(made, axes, keepdims), dtype)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The root of nanvar."""
    return _table["sqrt"](nanvar(a, axis, dtype, ddof, keepdims))
