"""Joining, splitting and turning tensors, made of table ops, under MindSpore's signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .basic import tensor_split

__all__ = [
    "argwhere",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "column_stack",
    "diagflat",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "moveaxis",
    "movedim",
    "msort",
    "ravel",
    "rot90",
    "select_scatter",
    "slice_scatter",
    "swapdims",
    "tril_indices",
    "triu_indices",
    "unique_consecutive",
    "vsplit",
    "vstack",
]

_table = op_table

swapdims = _table["swapaxes"]
argwhere = _table["nonzero"]


# ---- axes


def ravel(input: Tensor) -> Tensor:
    """All elements in one axis.

    >>> from diptych import ops
    >>> ops.ravel(ops.ones((2, 3))).shape
    (6,)
    """
    return _table["reshape"](input, (-1,))


def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places, the rest kept in order; both may be lists of equal length.

    >>> from diptych import ops
    >>> ops.movedim(ops.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    first = [source] if isinstance(source, int) else list(source)
    last = [destination] if isinstance(destination, int) else list(destination)
    rank = x.ndim
    for name, axes in (("source", first), ("destination", last)):
        if any(not -rank <= a < rank for a in axes) or len({a % rank for a in axes}) != len(axes):
            raise ValueError(f"movedim: {name} is {axes} for {rank} axes; they must be different")
    if len(first) != len(last):
        raise ValueError(f"movedim: source {source} and destination {destination} differ in length")
    first, last = [a % rank for a in first], [a % rank for a in last]
    order: list[int | None] = [None] * rank
    for a, b in zip(first, last, strict=True):
        order[b] = a
    rest = iter(a for a in range(rank) if a not in first)
    return _table["transpose"](x, [next(rest) if a is None else a for a in order])


moveaxis = movedim


def _at_least(rank: int, place: Callable[[Tensor], Sequence[int]]) -> Callable[..., Any]:
    """One Tensor for one, a list for a list."""

    def function(inputs: Any) -> Any:
        if isinstance(inputs, tuple | list):
            return [function(x) for x in inputs]
        return inputs if inputs.ndim >= rank else inputs.reshape(place(inputs))

    function.__name__ = function.__qualname__ = f"atleast_{rank}d"
    function.__doc__ = f"""Axes of size 1 added up to {rank}; of a list, to each Tensor.

    >>> from diptych import ops
    >>> ops.atleast_{rank}d(ops.ones(())).ndim
    {rank}
    """
    return function


atleast_1d = _at_least(1, lambda x: (1,))
atleast_2d = _at_least(2, lambda x: (1, x.size))
atleast_3d = _at_least(3, lambda x: (*x.shape, 1) if x.ndim == 2 else (1, x.size, 1))


# ---- joining and splitting


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors along axis 0.

    >>> from diptych import Tensor, ops
    >>> ops.hstack([Tensor([1, 2]), Tensor([3])]).tolist()
    [1, 2, 3]
    """
    parts = atleast_1d(list(tensors))
    return _table["concat"](parts, 0 if parts and parts[0].ndim == 1 else 1)


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Joined along axis 0, vectors as rows.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.vstack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))))
    [[1 2]
     [3 4]]
    """
    return _table["concat"](atleast_2d(list(inputs)), 0)


def dstack(inputs: Sequence[Tensor]) -> Tensor:
    """Joined along axis 2, matrices as (n, m, 1).

    >>> from diptych import ops
    >>> ops.dstack((ops.ones((2, 3)), ops.ones((2, 3)))).shape
    (2, 3, 2)
    """
    return _table["concat"](atleast_3d(list(inputs)), 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along axis 1, vectors as columns.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.column_stack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))))
    [[1 3]
     [2 4]]
    """
    return _table["concat"]([x if x.ndim >= 2 else x.reshape((-1, 1)) for x in tensors], 1)


def _cut(op: str, rank: int, input: Tensor, indices_or_sections: Any, axis: int) -> Any:
    if input.ndim < rank:
        raise ValueError(f"{op}: input has shape {input.shape}; it must have {rank} axes or more")
    return tensor_split(input, indices_or_sections, axis)


def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split along axis 1, of a vector along axis 0.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> [part.tolist() for part in ops.hsplit(ms.Tensor([[1, 2], [3, 4]]), 2)]
    [[[1], [3]], [[2], [4]]]
    """
    return _cut("hsplit", 1, input, indices_or_sections, 1 if input.ndim > 1 else 0)


def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split along axis 0.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> [part.tolist() for part in ops.vsplit(ms.Tensor([[1, 2], [3, 4]]), 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _cut("vsplit", 2, input, indices_or_sections, 0)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """tensor_split along axis 2.

    >>> from diptych import ops
    >>> [part.shape for part in ops.dsplit(ops.ones((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _cut("dsplit", 3, input, indices_or_sections, 2)


def slice_scatter(
    input: Tensor,
    src: Tensor,
    axis: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """input with src in place of the elements start : end : step of axis.

    >>> from diptych import Tensor, ops
    >>> ops.slice_scatter(ops.zeros((4,)), Tensor([1.0, 2.0]), start=1, end=4, step=2).tolist()
    [0.0, 1.0, 0.0, 2.0]
    """
    if step < 1 or input.ndim == 0:
        raise ValueError(
            f"slice_scatter: step is {step}, input has shape {input.shape}; step must be 1 or "
            "more, input have an axis"
        )
    axis %= input.ndim
    first, last, _ = slice(start, end).indices(input.shape[axis])
    begin, sizes, steps = [0] * input.ndim, list(input.shape), [1] * input.ndim
    begin[axis], steps[axis] = first, step
    sizes[axis] = max(0, -((first - last) // step))
    if list(src.shape) != sizes:
        raise ValueError(f"slice_scatter: src has shape {src.shape}; it must be {tuple(sizes)}")
    return _table["slice_set"](input, src, begin, sizes, steps)


def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """input with src in place of the slice ``index`` of axis.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.select_scatter(ops.zeros((2, 2)), ms.Tensor([1.0, 2.0]), 0, 1))
    [[0. 0.]
     [1. 2.]]
    """
    if not -input.ndim <= axis < input.ndim or not -input.shape[axis] <= index < input.shape[axis]:
        raise ValueError(
            f"select_scatter: axis is {axis}, index {index}; input has shape {input.shape}"
        )
    first = index % input.shape[axis]
    return slice_scatter(input, _table["expand_dims"](src, axis), axis, first, first + 1)


# ---- turning


def fliplr(input: Tensor) -> Tensor:
    """Axis 1 reversed.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.fliplr(ms.Tensor([[1, 2], [3, 4]])))
    [[2 1]
     [4 3]]
    """
    return _table["flip"](input, (1,))


def flipud(input: Tensor) -> Tensor:
    """Axis 0 reversed.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.flipud(ms.Tensor([[1, 2], [3, 4]])))
    [[3 4]
     [1 2]]
    """
    return _table["flip"](input, (0,))


def rot90(input: Tensor, k: int, dims: Sequence[int]) -> Tensor:
    """Turned k times by 90 degrees in the plane of two axes, from the first to the second.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.rot90(ms.Tensor([[1, 2], [3, 4]]), 1, (0, 1)))
    [[2 4]
     [1 3]]
    """
    if len(dims) != 2 or dims[0] % input.ndim == dims[1] % input.ndim:
        raise ValueError(f"rot90: dims is {dims}; it must be two different axes")
    first, second = dims
    if k % 4 == 0:
        return input
    if k % 4 == 2:
        return _table["flip"](input, (first, second))
    turned = _table["swapaxes"](input, first, second)
    return _table["flip"](turned, (first if k % 4 == 1 else second,))


# ---- matrices and order


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of input on its diagonal number ``offset``, 0 elsewhere.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.diagflat(ms.Tensor([1, 2])))
    [[1 0]
     [0 2]]
    """
    return _table["diag_embed"](ravel(input), offset)


def _triangle(mask: Tensor, dtype: Any) -> Tensor:
    places = _table["transpose"](_table["nonzero"](mask))
    return places if dtype is None else places.astype(dtype)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """Rows and columns (2, n) of the lower triangle of a (row, col) matrix, as int64.

    >>> from diptych import ops
    >>> print(ops.tril_indices(2, 2))
    [[0 1 1]
     [0 0 1]]
    """
    return _triangle(_table["tri"](row, col, offset, _core.bool_), dtype)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None) -> Tensor:
    """Rows and columns (2, n) of the upper triangle of a (row, col) matrix, as int64.

    >>> from diptych import ops
    >>> print(ops.triu_indices(2, 2))
    [[0 0 1]
     [0 1 1]]
    """
    below = _table["tri"](row, col, offset - 1, _core.bool_)
    return _triangle(_table["logical_not"](below), dtype)


def msort(input: Tensor) -> Tensor:
    """Sorted along axis 0.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.msort(ms.Tensor([[3, 1], [2, 4]])))
    [[2 1]
     [3 4]]
    """
    return _table["sort"](input, 0)[0]


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The flat input without repetitions in a row; then, if asked, for each element of input
    where its value stands, and how long each run is.

    >>> from diptych import Tensor, ops
    >>> ops.unique_consecutive(Tensor([1, 1, 2, 2, 1])).tolist()
    [1, 2, 1]
    """
    flat = ravel(input)
    n = flat.shape[0]
    changed = _table["not_equal"](flat[1:], flat[: max(n - 1, 0)])
    first = _table["concat"]([_table["ones"]((min(n, 1),), _core.bool_), changed], 0)
    made = [_table["masked_select"](flat, first)]
    if return_inverse:
        places = _table["cumsum"](first, 0) - 1
        made.append(places.reshape(input.shape))
    if return_counts:
        starts = ravel(_table["nonzero"](first))
        end = _table["full"]((min(n, 1),), float(n), _core.int64)
        made.append(_table["concat"]([starts[1:], end], 0) - starts)
    return made[0] if len(made) == 1 else tuple(made)
