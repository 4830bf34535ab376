"""Primitive classes of composed functions (``ops.UnsortedSegmentMax()(x, ids, 3)``), and the few
older ones that are no function elsewhere."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import algebra, arrange, composite, loss, numeric, place
from .primitive import assign, wrapped

_table = op_table


def xdivy(x: Any, y: Any) -> Tensor:
    """x / y, and 0 where x is 0.

    >>> from diptych import Tensor, ops
    >>> ops.xdivy(Tensor([0.0, 4.0]), Tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    zero = _table["equal"](x, 0)
    return _table["where"](zero, 0.0, x / _table["where"](zero, 1.0, y))


def _div_no_nan(x: Any, y: Any) -> Tensor:
    zero = _table["equal"](y, 0)
    return _table["where"](zero, 0.0, x / _table["where"](zero, 1.0, y))


def _mul_no_nan(x: Any, y: Any) -> Tensor:
    zero = _table["equal"](y, 0)
    return _table["where"](zero, 0.0, _table["where"](zero, 0.0, x) * y)


def _squared_difference(x: Any, y: Any) -> Tensor:
    return _table["square"](x - y)


def _roll(x: Tensor, shift: Any, axis: Any) -> Tensor:
    return _table["roll"](x, shift, axis)


def _conjugate_transpose(x: Tensor, perm: Any) -> Tensor:
    return _table["conj"](_table["transpose"](x, perm))


def _update_cache(input_x: Any, indices: Tensor, updates: Tensor, max_num: int) -> Tensor:
    """Rows ``indices`` of a table take over updates in place; indices below 0 or from max_num on
    are left out. Gives 0."""
    rows = input_x.shape[0]
    places, width = indices.astype(_core.int64).reshape((-1,)), tuple(input_x.shape[1:])
    is_kept = _table["logical_and"](places >= 0, places < min(max_num, rows))
    spare = _table["zeros"]((1, *width), input_x.dtype)  # takes what is left out
    places = _table["where"](is_kept, places, rows)
    rows_of = updates.reshape((places.size, *width))
    made = _table["index_set"](_table["concat"]([input_x, spare], 0), rows_of, [places], None)
    assign(input_x, made[:rows])
    return _table["zeros"]((1,), _core.int32)


_CLASSES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "ApproximateEqual": (numeric.approximate_equal, ("tolerance",)),
    "Addcdiv": (composite.addcdiv, ()),
    "Addcmul": (composite.addcmul, ()),
    "CholeskyInverse": (algebra.cholesky_inverse, ("upper",)),
    "Cdist": (algebra.cdist, ("p",)),
    "CeLU": (_table["celu"], ("alpha",)),
    "Complex": (algebra.complex, ()),
    "ConjugateTranspose": (_conjugate_transpose, ()),
    "Cross": (algebra.cross, ("dim",)),
    "DivNoNan": (_div_no_nan, ()),
    "Heaviside": (numeric.heaviside, ()),
    "HShrink": (_table["hardshrink"], ("lambd",)),
    "Inv": (numeric.inv, ()),
    "IsClose": (numeric.isclose, ("rtol", "atol", "equal_nan")),
    "MulNoNan": (_mul_no_nan, ()),
    "NanToNum": (numeric.nan_to_num, ("nan", "posinf", "neginf")),
    "Renorm": (numeric.renorm, ("p", "axis", "maxnorm")),
    "Rint": (_table["round"], ()),
    "Roll": (_roll, ("shift", "axis")),
    "ScatterDiv": (place.scatter_div, ()),
    "ScatterMax": (place.scatter_max, ()),
    "ScatterMin": (place.scatter_min, ()),
    "ScatterMul": (place.scatter_mul, ()),
    "ScatterNdAdd": (place.scatter_nd_add, ()),
    "ScatterSub": (place.scatter_sub, ()),
    "SoftMarginLoss": (loss.soft_margin_loss, ("reduction",)),
    "SoftShrink": (_table["softshrink"], ("lambd",)),
    "SquaredDifference": (_squared_difference, ()),
    "Trace": (algebra.trace, ()),
    "TrilIndices": (arrange.tril_indices, ("row", "col", "offset", "dtype")),
    "TriuIndices": (arrange.triu_indices, ("row", "col", "offset", "dtype")),
    "UnsortedSegmentMax": (place.unsorted_segment_max, ()),
    "UnsortedSegmentMin": (place.unsorted_segment_min, ()),
    "UnsortedSegmentProd": (place.unsorted_segment_prod, ()),
    "UpdateCache": (_update_cache, ()),
    "Xdivy": (xdivy, ()),
}
for _name, (_target, _start) in _CLASSES.items():
    globals()[_name] = wrapped(_name, _target, *_start)

__all__ = ["xdivy", *_CLASSES]
