"""Writing by index: rows of parameters in place, and slices gathered by segment number, under
MindSpore's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .numeric import largest, lowest

__all__ = [
    "scatter",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sum",
]

_table = op_table


def scatter(input: Tensor, axis: int, index: Tensor, src: Any) -> Tensor:
    """input with src at the places that index names along axis.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.scatter(ops.zeros((2, 2)), 1, ms.Tensor([[1], [0]]), ms.Tensor([[5.0], [6.0]])))
    [[0. 5.]
     [6. 0.]]
    """
    if not isinstance(src, Tensor):
        src = _table["full_like"](index, float(src), input.dtype)
    return _table["tensor_scatter_elements"](input, index, src, axis)


def _place(name: str, change: Callable, doc: str) -> Any:
    def function(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        made = change(input_x, indices, updates)
        _core.repoint(input_x, made)
        return input_x

    function.__name__ = function.__qualname__ = name
    places = "[[0], [2]]" if "_nd_" in name else "[0, 2]"
    function.__doc__ = f"""{doc} In place: the parameter shows the result, which is returned.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> table = ms.Parameter(ops.ones((3, 2)))
    >>> ops.{name}(table, ms.Tensor({places}), ops.ones((2, 2))).shape
    (3, 2)
    """
    return function


def _rows(reduction: str) -> Callable:
    def change(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return _table["index_set"](x, updates, [indices], None, reduction)

    return change


scatter_update = _place("scatter_update", _rows("none"), "Rows replaced.")
scatter_add = _place("scatter_add", _rows("add"), "Rows added to.")


def _each_row(name: str) -> Callable:
    def change(x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        return _table[name](x, indices.expand_dims(-1), updates)

    return change


scatter_sub = _place("scatter_sub", _each_row("tensor_scatter_sub"), "Rows subtracted from.")
scatter_mul = _place("scatter_mul", _each_row("tensor_scatter_mul"), "Rows multiplied.")
scatter_div = _place("scatter_div", _each_row("tensor_scatter_div"), "Rows divided.")
scatter_max = _place("scatter_max", _each_row("tensor_scatter_max"), "Rows of the larger values.")
scatter_min = _place("scatter_min", _each_row("tensor_scatter_min"), "Rows of the smaller values.")
scatter_nd_update = _place(
    "scatter_nd_update", _table["tensor_scatter_update"], "Slices at index tuples replaced."
)
scatter_nd_add = _place(
    "scatter_nd_add", _table["tensor_scatter_add"], "Slices at index tuples added to."
)


# ---- segments


def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Sums of the slices of input_x that carry the same segment number.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.unsorted_segment_sum(ms.Tensor([1.0, 3.0, 2.0]), ms.Tensor([0, 0, 1]), 2))
    [4. 2.]
    """
    rest = input_x.shape[segment_ids.ndim :]
    zero = _table["zeros"]((num_segments, *rest), input_x.dtype)
    rows = input_x.reshape((segment_ids.size, *rest))
    return _table["index_set"](zero, rows, [segment_ids.reshape(-1)], None, "add")


def _segments(op: str, start: float, x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    rest = x.shape[segment_ids.ndim :]
    base = _table["full"]((num_segments, *rest), start, x.dtype)
    rows = x.reshape((segment_ids.size, *rest))
    return _table[op](base, segment_ids.reshape((-1, 1)), rows)


def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The largest of the slices of x that carry the same number; without any: the lowest value.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.unsorted_segment_max(ms.Tensor([1.0, 3.0, 2.0]), ms.Tensor([0, 0, 1]), 2))
    [3. 2.]
    """
    return _segments("tensor_scatter_max", lowest(x.dtype), x, segment_ids, num_segments)


def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The smallest of the slices of x that carry the same number; without any: the largest
    value.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.unsorted_segment_min(ms.Tensor([1.0, 3.0, 2.0]), ms.Tensor([0, 0, 1]), 2))
    [1. 2.]
    """
    return _segments("tensor_scatter_min", largest(x.dtype), x, segment_ids, num_segments)


def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """The product of the slices of x that carry the same number; without any: 1.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.unsorted_segment_prod(ms.Tensor([1.0, 3.0, 2.0]), ms.Tensor([0, 0, 1]), 2))
    [3. 2.]
    """
    return _segments("tensor_scatter_mul", 1.0, x, segment_ids, num_segments)
