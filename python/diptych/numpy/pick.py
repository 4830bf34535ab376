"""Elements chosen by index, by condition or by value, and functions applied along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .arrange import moveaxis
from .convert import as_operand, as_tensor, axes_of, axis_of, broadcast_shape, listed
from .elementwise import operands
from .logic import in1d

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "argwhere",
    "choose",
    "intersect1d",
    "piecewise",
    "select",
    "setdiff1d",
    "take",
    "take_along_axis",
    "unique",
    "where",
]

_table = op_table


# ---- by index


def _within(index: Tensor, n: int, mode: str, name: str) -> Tensor:
    """Indices limited to [0, n) as mode says; "raise" leaves it to the op, which refuses."""
    if n == 0 and index.size:
        raise ValueError(f"{name}: there are no elements to take from, but indices")
    if mode == "wrap":
        return _table["remainder"](index, n)
    if mode == "clip":
        return _table["clamp"](index, 0, n - 1)
    if mode == "raise":
        return index
    raise ValueError(f"{name}: mode is {mode!r}; it must be 'raise', 'wrap' or 'clip'")


def take(a: Any, indices: Any, axis: Any = None, mode: str = "clip") -> Tensor:
    """The slices along axis (None: elements of the flattened array) that indices name. Those
    outside are limited ("clip"), taken round ("wrap") or refused ("raise").

    >>> import diptych.numpy as mnp
    >>> mnp.take([4, 5, 6], [0, 9]).tolist()
    [4, 6]
    """
    a, index = as_tensor(a), as_tensor(indices, "indices")
    x, along = (a.reshape((-1,)), 0) if axis is None else (a, axis_of(axis, a.ndim))
    return _table["gather"](x, _within(index, x.shape[along], mode, "take"), along)


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Tensor:
    """The element that indices names along axis at each place; the other axes broadcast. None:
    of the flattened array.

    >>> import diptych.numpy as mnp
    >>> mnp.take_along_axis(mnp.array([[10, 20], [30, 40]]), [[1], [0]], 1).tolist()
    [[20], [30]]
    """
    arr, index = as_tensor(arr, "arr"), as_tensor(indices, "indices")
    if axis is None:
        arr, axis = arr.reshape((-1,)), 0
    axis = axis_of(axis, arr.ndim)
    if index.ndim != arr.ndim:
        raise ValueError(
            f"take_along_axis: arr has shape {arr.shape}, indices {index.shape}; they must have "
            "as many axes"
        )
    thin = [1 if i == axis else n for i, n in enumerate(arr.shape)]
    flat = [1 if i == axis else n for i, n in enumerate(index.shape)]
    sizes = list(broadcast_shape("take_along_axis", [thin, flat]))
    wide = [n if i == axis else m for i, (n, m) in enumerate(zip(arr.shape, sizes, strict=True))]
    sizes[axis] = index.shape[axis]
    spread = _table["broadcast_to"](index, sizes)
    return _table["gather_elements"](_table["broadcast_to"](arr, wide), spread, axis)


def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """At each place the element of that one of the choices which a names; all broadcast.

    >>> import diptych.numpy as mnp
    >>> mnp.choose([0, 1], [[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    index = as_tensor(a)
    many = [as_tensor(x, "choices") for x in listed("choose: choices", choices)]
    if not many:
        raise ValueError("choose: choices is empty; it must hold at least one array")
    shape = broadcast_shape("choose", [index.shape, *(x.shape for x in many)])
    stacked = _table["stack"]([_table["broadcast_to"](x, shape) for x in many], 0)
    place = _within(_table["broadcast_to"](index, shape), len(many), mode, "choose")
    return _table["gather_elements"](stacked, _table["expand_dims"](place, 0), 0)[0]


# ---- by condition


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where condition holds, else y; with the condition alone, the indices of what is not 0,
    one Tensor an axis.

    >>> import diptych.numpy as mnp
    >>> mnp.where([True, False], 1, [2, 3]).tolist()
    [1, 3]
    """
    condition = as_tensor(condition, "condition")
    if x is None and y is None:
        places = argwhere(condition)
        return tuple(places[:, axis] for axis in range(condition.ndim))
    if x is None or y is None:
        raise ValueError("where: one of x and y is None; give both or neither")
    return _table["where"](condition, *operands(x, y))


def argwhere(a: Any) -> Tensor:
    """The indices of the elements that are not 0, one row each."""
    a = as_tensor(a)
    if a.ndim == 0:
        raise ValueError("argwhere: a is a number; it must have an axis")
    return _table["nonzero"](a)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """At each place the choice of the first condition that holds, else ``default``.

    >>> import diptych.numpy as mnp
    >>> mnp.select([[True, False], [True, True]], [[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    conditions, choices = listed("condlist", condlist), listed("choicelist", choicelist)
    if len(conditions) != len(choices) or not conditions:
        raise ValueError(
            f"select: {len(conditions)} conditions and {len(choices)} choices; there must be as "
            "many, one at least"
        )
    tensors = [as_tensor(x, "choicelist") for x in choices]
    made = as_operand(default, "default")
    for condition, choice in zip(reversed(conditions), reversed(tensors), strict=True):
        made = _table["where"](as_tensor(condition, "condlist"), choice, made)
    return made


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """At each place what the function of the last condition that holds gives; one function more
    than conditions is for the places where none does, otherwise these are 0. Numbers stand for
    constant functions. Each function is called with all of x.

    >>> import diptych.numpy as mnp
    >>> x = mnp.array([-1.0, 2.0])
    >>> mnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 7]).tolist()
    [1.0, 7.0]
    """
    x = as_tensor(x, "x")
    single = not isinstance(condlist, list | tuple) or not _is_many(condlist)
    conditions = [as_tensor(condlist if single else c, "condlist") for c in _each(condlist, single)]
    if len(listed("piecewise: funclist", funclist)) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise: {len(conditions)} conditions and {len(funclist)} functions; there must be "
            "as many or one more"
        )
    rest = funclist[len(conditions) :]
    made: Any = _value(rest[0], x, args, kw) if rest else _table["zeros_like"](x)
    for condition, function in zip(conditions, funclist, strict=False):
        made = _table["where"](condition, _value(function, x, args, kw), made)
    return made.astype(x.dtype, copy=False)


def _is_many(condlist: Any) -> bool:
    return any(isinstance(c, list | tuple | Tensor) or hasattr(c, "__array__") for c in condlist)


def _each(condlist: Any, single: bool) -> Sequence[Any]:
    return (condlist,) if single else condlist


def _value(function: Any, x: Tensor, args: tuple[Any, ...], kw: dict[str, Any]) -> Tensor:
    made = function(x, *args, **kw) if callable(function) else function
    return made if isinstance(made, Tensor) else _table["full_like"](x, float(made))


# ---- by value


def _flag(name: str, argument: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name}: {argument} is {value!r}; it must be a bool")


def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different values in order; return_inverse: also where in them each element stands.

    >>> import diptych.numpy as mnp
    >>> mnp.unique([3, 1, 3]).tolist()
    [1, 3]
    """
    values, places, _ = _table["unique"](as_tensor(x, "x"))
    return (values, places.reshape((-1,))) if return_inverse else values


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The values that are in both, in order; return_indices: also where each stands first in the
    flattened ar1 and ar2.

    >>> import diptych.numpy as mnp
    >>> mnp.intersect1d([1, 3, 4], [4, 3, 3]).tolist()
    [3, 4]
    """
    _flag("intersect1d", "assume_unique", assume_unique)
    _flag("intersect1d", "return_indices", return_indices)
    x, y = (as_tensor(v, n).reshape((-1,)) for v, n in ((ar1, "ar1"), (ar2, "ar2")))
    values = unique(x)
    values = _table["masked_select"](values, in1d(values, y))
    if not return_indices:
        return values
    return values, _first(x, values), _first(y, values)


def _first(x: Tensor, values: Tensor) -> Tensor:
    """Where each of the values stands first in x."""
    here = _table["equal"](_table["expand_dims"](values, 1), x)
    return _table["argmax"](here.astype(_core.int32), 1)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The values of ar1 that are not in ar2, in order; assume_unique: in the order of ar1.

    >>> import diptych.numpy as mnp
    >>> mnp.setdiff1d([3, 2, 1], [2]).tolist()
    [1, 3]
    """
    _flag("setdiff1d", "assume_unique", assume_unique)
    x = as_tensor(ar1, "ar1").reshape((-1,))
    x = x if assume_unique else unique(x)
    return _table["masked_select"](x, in1d(x, ar2, invert=True))


# ---- functions along axes


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """func1d of each vector along axis; the axes of its results stand in the place of axis.

    >>> import diptych.numpy as mnp
    >>> mnp.apply_along_axis(lambda v: v[::-1], 0, mnp.array([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    arr = as_tensor(arr, "arr")
    axis = axis_of(axis, arr.ndim)
    last = moveaxis(arr, axis, -1)
    outer = tuple(last.shape[:-1])
    rows = _table["unstack"](last.reshape((-1, arr.shape[axis])), 0)
    made = [as_tensor(func1d(row, *args, **kwargs)) for row in rows]
    if not made:
        raise ValueError(f"apply_along_axis: arr has shape {arr.shape}; there are no vectors")
    inner = tuple(made[0].shape)
    joined = _table["stack"](made, 0).reshape(outer + inner)
    sources = list(range(len(outer), len(outer) + len(inner)))
    return moveaxis(joined, sources, [axis + i for i in range(len(inner))])


def apply_over_axes(func: Callable[..., Tensor], a: Any, axes: Any) -> Tensor:
    """func(a, axis) for each of the axes in turn; a result with one axis less gets it back with
    size 1.

    >>> import diptych.numpy as mnp
    >>> mnp.apply_over_axes(mnp.sum, mnp.ones((2, 3)), (0, 1)).tolist()
    [[6.0]]
    """
    a = as_tensor(a)
    for axis in axes_of(axes, a.ndim, "axes"):
        made = func(a, axis)
        a = made if made.ndim == a.ndim else _table["expand_dims"](made, axis)
    return a
