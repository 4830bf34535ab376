"""Arrays and element types of ``diptych.numpy``: what becomes a Tensor, and of which dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = [
    "array",
    "array_str",
    "asarray",
    "asfarray",
    "copy",
    "promote_types",
    "result_type",
]

_table = op_table
# Python's types are 32 bits wide here, as in MindSpore.
_NAMES = {int: _core.int32, "int": _core.int32, float: _core.float32, "float": _core.float32}
_NAMES |= {"?": _core.bool_, "int_": _core.int32, "float_": _core.float32}


# ---- dtypes


def as_dtype(dtype: Any) -> Any:
    """A dtype by its name, NumPy's or Python's type; int and float have 32 bits."""
    known = _NAMES.get(dtype) if isinstance(dtype, str | type) else None
    return _core.dtype(dtype) if known is None else known


def cast(x: Tensor, dtype: Any) -> Tensor:
    """x in dtype, if one is given."""
    return x if dtype is None else x.astype(as_dtype(dtype), copy=False)


def as_float(x: Tensor) -> Tensor:
    """Integers and bools as float32, floats as they are."""
    return x if x.dtype.is_floating_point else x.astype(_core.float32)


def sum_dtype(dtype: Any) -> Any:
    """What sums and products of a dtype are counted in: at least 32 bits for integers."""
    if dtype.is_floating_point or dtype.itemsize >= 4:
        return dtype
    return _core.int32


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that values of both meet in: bool < integers < floats, the wider of two of a kind.

    >>> import diptych.numpy as mnp
    >>> mnp.promote_types(int, mnp.float16)
    Float16
    """
    return _core.promote(as_dtype(type1), as_dtype(type2))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that all the arrays and dtypes meet in.

    >>> import diptych.numpy as mnp
    >>> mnp.result_type("bool", mnp.ones(2), mnp.int64)
    Float32
    """
    if not arrays_and_dtypes:
        raise TypeError("result_type: at least one array or dtype is needed")
    found = None
    for item in arrays_and_dtypes:
        is_type = isinstance(item, str | type | _core.dtype)
        own = as_dtype(item) if is_type else as_tensor(item).dtype
        found = own if found is None else promote_types(found, own)
    return found


# ---- arrays


def _stacked(obj: Any) -> Tensor:
    """Nested lists with Tensors inside."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, list | tuple):
        return _table["stack"]([_stacked(item) for item in obj], 0)
    return as_tensor(obj)


def _holds_tensor(obj: Any) -> bool:
    if isinstance(obj, list | tuple):
        return any(map(_holds_tensor, obj))
    return isinstance(obj, Tensor)


def as_tensor(obj: Any, name: str = "a") -> Tensor:
    """A Tensor as it is; NumPy's arrays in their dtype; numbers and nested lists as int32, float32
    or bool."""
    if isinstance(obj, Tensor):
        return obj
    is_list = isinstance(obj, list | tuple)
    if not is_list and not isinstance(obj, bool | int | float) and not hasattr(obj, "__array__"):
        raise TypeError(
            f"{name} is {obj!r} ({type(obj).__name__}); it must be a Tensor, a number, a NumPy "
            "array or a nested list of these"
        )
    if is_list and _holds_tensor(obj):
        return _stacked(obj)
    made = Tensor(obj)
    return made.astype(_core.int32) if made.dtype is _core.int64 and _is_plain(obj) else made


def _is_plain(obj: Any) -> bool:
    """Whether it is of Python's numbers alone."""
    if isinstance(obj, list | tuple):
        return all(map(_is_plain, obj))
    return isinstance(obj, bool | int | float)


def as_operand(x: Any, name: str = "x") -> Any:
    """A number as it is (it takes the dtype of what it meets), all else as a Tensor."""
    return x if isinstance(x, bool | int | float) else as_tensor(x, name)


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """a as a Tensor: itself if it is one of that dtype. Numbers and lists become int32, float32
    or bool.

    >>> import diptych.numpy as mnp
    >>> mnp.asarray([[1, 2], [3, 4]]).dtype
    Int32
    """
    return cast(as_tensor(a), dtype)


def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """asarray under a new handle (unless ``copy`` is False), with at least ndmin axes: those
    missing come first, of size 1.

    >>> import diptych.numpy as mnp
    >>> mnp.array([1, 2], ndmin=2).shape
    (1, 2)
    """
    made = asarray(obj, dtype)
    if whole("array: ndmin", ndmin) < 0:
        raise ValueError(f"array: ndmin is {ndmin}; it must be 0 or more")
    if ndmin > made.ndim:
        return made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape))
    return made.copy() if copy and made is obj else made


def asfarray(a: Any, dtype: Any = None) -> Tensor:
    """asarray as floats; an integer dtype means float32.

    >>> import diptych.numpy as mnp
    >>> mnp.asfarray([1, 2]).dtype
    Float32
    """
    made = as_tensor(a)
    if dtype is None:
        return as_float(made)
    wanted = as_dtype(dtype)
    return cast(made, wanted if wanted.is_floating_point else _core.float32)


def copy(a: Any) -> Tensor:
    """The values of a under a new handle; gradients flow through."""
    return as_tensor(a).copy()


def array_str(a: Tensor) -> str:
    """The text that print shows."""
    return str(as_tensor(a))


# ---- numbers, lists, axes and sizes


def whole(name: str, value: Any) -> int:
    """An int, or the TypeError that says so."""
    if not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}; it must be an int")
    return value


def number(name: str, value: Any) -> float:
    """A number, or the TypeError that says so."""
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    return value


def wholes(name: str, value: Any) -> list[int]:
    """One int or several as a list."""
    many = value if isinstance(value, list | tuple) else (value,)
    return [whole(name, v) for v in many]


def listed(name: str, given: Any) -> list[Any]:
    """The items of a list or tuple, or the slices of a Tensor along its first axis."""
    if isinstance(given, Tensor) and given.ndim:
        return list(_table["unstack"](given, 0))
    if not isinstance(given, list | tuple):
        raise TypeError(f"{name} is {given!r}; it must be a list, a tuple or a Tensor with axes")
    return list(given)


def axis_of(axis: Any, rank: int, name: str = "axis") -> int:
    """An axis counted from the front."""
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"{name} is {axis!r}; it must be an int")
    if not -rank <= axis < rank:
        raise ValueError(f"{name} is {axis}; of {rank} axes, the legal range is [{-rank}, {rank})")
    return axis % rank


def axes_of(axis: Any, rank: int, name: str = "axis") -> tuple[int, ...]:
    """Axes counted from the front; None means all."""
    if axis is None:
        return tuple(range(rank))
    many = axis if isinstance(axis, list | tuple) else (axis,)
    found = tuple(axis_of(a, rank, name) for a in many)
    if len(set(found)) != len(found):
        raise ValueError(f"{name} is {axis}; it names an axis twice")
    return found


def sizes_of(shape: Any, name: str = "shape") -> tuple[int, ...]:
    """Sizes given as an int or as several."""
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, list | tuple) or not all(_is_size(n) for n in sizes):
        raise TypeError(f"{name} is {shape!r}; it must be an int or a tuple or list of ints")
    if any(n < 0 for n in sizes):
        raise ValueError(f"{name} is {shape}; sizes must be 0 or more")
    return tuple(sizes)


def _is_size(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool)


def broadcast_shape(name: str, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The sizes that all shapes broadcast to."""
    rank = max((len(s) for s in shapes), default=0)
    sizes = [1] * rank
    for shape in shapes:
        for axis, n in enumerate(shape, rank - len(shape)):
            if n != 1 and sizes[axis] not in (1, n):
                raise ValueError(f"{name}: shapes {list(map(tuple, shapes))} do not broadcast")
            sizes[axis] = n if n != 1 else sizes[axis]
    return tuple(sizes)


def count(sizes: Sequence[int]) -> int:
    """How many elements these sizes hold."""
    return math.prod(sizes)
