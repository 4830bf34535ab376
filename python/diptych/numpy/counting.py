"""Where numbers fall: counts, histograms, sorted search and interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core, ops
from .._core import Tensor, op_table
from .convert import as_float, as_operand, as_tensor, count, listed, number
from .creation import linspace

__all__ = [
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "interp",
    "searchsorted",
]

_table = op_table


# ---- search


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where each v would be put into the sorted vector a: before equal elements, or after them
    (side "right"). sorter: the indices that sort a.

    >>> import diptych.numpy as mnp
    >>> mnp.searchsorted([1, 2, 2, 3], 2).item()
    1
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is {side!r}; it must be 'left' or 'right'")
    a, v = as_tensor(a), as_tensor(v, "v")
    if a.ndim != 1:
        raise ValueError(f"searchsorted: a has shape {a.shape}; it must have 1 axis")
    order = a if sorter is None else _table["gather"](a, as_tensor(sorter, "sorter"), 0)
    dtype = _core.promote(order.dtype, v.dtype)
    flat = v.reshape((-1,)).astype(dtype, copy=False)
    found = _table["searchsorted"](order.astype(dtype, copy=False), flat, side == "right")
    return found.reshape(v.shape)


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each x falls into: i where bins[i - 1] <= x < bins[i] (right:
    < and <=); bins rise or fall.

    >>> import diptych.numpy as mnp
    >>> mnp.digitize([0.5, 2.0], [1, 2, 3]).tolist()
    [0, 2]
    """
    x, edges = as_tensor(x, "x"), as_tensor(bins, "bins")
    if edges.ndim != 1 or edges.size == 0:
        raise ValueError(
            f"digitize: bins have shape {edges.shape}; they must have 1 axis, not empty"
        )
    rising = searchsorted(edges, x, "left" if right else "right")
    turned = _table["flip"](edges, (0,))
    falling = edges.size - searchsorted(turned, x, "left" if right else "right")
    return _table["where"](edges[0] <= edges[-1], rising, falling)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """At each x the straight line between the points (xp, fp) beside it; xp rises. Outside, left
    and right (None: the first and last fp).

    >>> import diptych.numpy as mnp
    >>> mnp.interp([0.5, 9.0], [0, 1], [10, 20]).tolist()
    [15.0, 20.0]
    """
    x, xp, fp = (as_float(as_tensor(v, n)) for v, n in ((x, "x"), (xp, "xp"), (fp, "fp")))
    if xp.ndim != 1 or xp.shape != fp.shape or xp.size == 0:
        raise ValueError(
            f"interp: xp, fp have shapes {xp.shape}, {fp.shape}; equal, 1-d, not empty"
        )
    high = _table["clamp"](searchsorted(xp, x, "right"), 1, max(xp.size - 1, 1))
    low = high - 1
    high = _table["minimum"](high, xp.size - 1)
    x0, x1, y0, y1 = (_table["gather"](v, i, 0) for v in (xp, fp) for i in (low, high))
    step = _table["where"](_table["equal"](x1, x0), 1, x1 - x0)
    made = y0 + (y1 - y0) * ((x - x0) / step)
    ends = (fp[0] if left is None else left, fp[-1] if right is None else right)
    made = _table["where"](x < xp[0], as_operand(ends[0], "left"), made)
    return _table["where"](x > xp[-1], as_operand(ends[1], "right"), made)


# ---- counts


def _add_up(index: Tensor, weights: Tensor | None, n: int) -> Tensor:
    """How often each of 0 .. n - 1 is in a vector, or the sum of the weights beside it."""
    if weights is None:
        weights = _table["ones"](index.shape, _core.int64)
    zeros = _table["zeros"]((n,), weights.dtype)
    return _table["index_set"](zeros, weights, [index], None, "add")


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each of 0, 1, 2 ... occurs in a vector of integers; with weights the sum of those
    that stand beside it. At least minlength numbers; length: just so many, larger x are left out.

    >>> import diptych.numpy as mnp
    >>> mnp.bincount([0, 2, 2]).tolist()
    [1, 0, 2]
    """
    x = as_tensor(x, "x")
    w = None if weights is None else as_float(as_tensor(weights, "weights"))
    if x.ndim != 1 or (w is not None and w.shape != x.shape):
        shape = None if w is None else w.shape
        raise ValueError(
            f"bincount: x has shape {x.shape}, weights {shape}; both must be 1-d, equal"
        )
    if length is None:
        return ops.bincount(x, w, minlength)
    index = _table["where"](x < length, x, length)
    return _add_up(index, w, length + 1)[:length]


# ---- histograms


def _edges(values: Tensor, bins: Any, limits: Any) -> Tensor:
    """The edges of the bins as float64: given, or evenly spaced over limits (None: the values)."""
    if isinstance(bins, str) or (isinstance(bins, int) and bins < 1):
        raise ValueError(f"histogram: bins is {bins!r}; it must be a number, 1 or more, or edges")
    if not isinstance(bins, int):
        edges = as_tensor(bins, "bins").astype(_core.float64)
        if edges.ndim != 1:
            raise ValueError(f"histogram: bins have shape {edges.shape}; edges have 1 axis")
        return edges
    low: Any
    if limits is None:
        low, high = (_table[op](values, 0).astype(_core.float64) for op in ("amin", "amax"))
    else:
        if not isinstance(limits, list | tuple) or len(limits) != 2:
            raise ValueError(f"histogram: range is {limits!r}; it must be two numbers")
        ends = [float(number("histogram: range", v)) for v in limits]
        low, high = (as_tensor(v).astype(_core.float64) for v in ends)
    widen = _table["where"](_table["equal"](low, high), 0.5, 0.0)
    return linspace(low - widen, high + widen, bins + 1, dtype=_core.float64)


def _bin_of(values: Tensor, edges: Tensor) -> Tensor:
    """The bin of each value, the last one closed on both sides; outside the number of bins."""
    n = max(edges.size - 1, 0)
    if edges.size == 0:
        return _table["zeros"](values.shape, _core.int64)
    values = values.astype(_core.float64)
    place = searchsorted(edges, values, "right") - 1
    place = _table["where"](_table["equal"](values, edges[-1]), n - 1, place)
    return _table["where"]((place < 0) | (place >= n), n, place)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of histogram's bins; weights are not looked at."""
    return _edges(as_tensor(a).reshape((-1,)), bins, range).astype(_core.float32)


def _one_weight(name: str, weights: Any, n: int) -> Tensor | None:
    if weights is None:
        return None
    w = as_float(as_tensor(weights, "weights")).reshape((-1,))
    if w.size != n:
        raise ValueError(f"{name}: {w.size} weights for {n} values; there must be as many")
    return w


def _counted(
    name: str, columns: Sequence[Tensor], edges: Sequence[Tensor], density: bool, weights: Any
) -> Tensor:
    """Counts in the grid of bins; a value outside along one axis is left out."""
    sizes = [max(e.size - 1, 0) for e in edges]
    total = count(sizes)
    index: Any = 0
    outside: Any = False
    for values, edge, n in zip(columns, edges, sizes, strict=True):
        place = _bin_of(values, edge)
        index = index * n + place
        outside = (place >= n) | outside
    index = _table["where"](outside, total, index)
    made = _add_up(index, _one_weight(name, weights, index.size), total + 1)[:total]
    made = made.reshape(sizes)
    if not density:
        return made
    made = made / made.sum()
    for axis, edge in enumerate(edges):
        width = (edge[1:] - edge[:-1]).astype(_core.float32)
        made = made / width.reshape([-1 if i == axis else 1 for i, _ in enumerate(edges)])
    return made


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """How many elements fall into each bin (with weights, the sum of theirs), and the edges. bins
    is a number of equal bins over range (None: from smallest to largest), or the edges. density:
    divided by the total and the width of the bin.

    >>> import diptych.numpy as mnp
    >>> [x.tolist() for x in mnp.histogram([1, 2, 2, 5], 2)]
    [[3, 1], [1.0, 3.0, 5.0]]
    """
    values = as_tensor(a).reshape((-1,))
    edges = _edges(values, bins, range)
    made = _counted("histogram", [values], [edges], density, weights)
    return made, edges.astype(_core.float32)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, list[Tensor]]:
    """histogram of points: sample has one a row (or is a list of coordinates); bins and range are
    for all axes or one an axis.

    >>> import diptych.numpy as mnp
    >>> mnp.histogramdd(mnp.array([[0, 0], [1, 1], [1, 1]]), 2)[0].tolist()
    [[1, 0], [0, 2]]
    """
    if isinstance(sample, list | tuple):
        columns = [as_tensor(x, "sample").reshape((-1,)) for x in sample]
    else:
        points = as_tensor(sample, "sample")
        if points.ndim != 2:
            raise ValueError(f"histogramdd: sample has shape {points.shape}; it must have 2 axes")
        columns = list(_table["unstack"](points, 1))
    n = len(columns)
    many = [bins] * n if isinstance(bins, int) else listed("histogramdd: bins", bins)
    limits = [None] * n if range is None else listed("histogramdd: range", range)
    if len(many) != n or len(limits) != n:
        raise ValueError(
            f"histogramdd: {len(many)} bins and {len(limits)} ranges for {n} axes; there must be "
            "as many"
        )
    edges = [_edges(x, b, limit) for x, b, limit in zip(columns, many, limits, strict=True)]
    made = _counted("histogramdd", columns, edges, density, weights)
    return made, [edge.astype(_core.float32) for edge in edges]


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """histogramdd of points (x, y): the counts, the edges along x and along y. A list of edges as
    bins serves both axes, unless it has two members, one an axis."""
    many = isinstance(bins, int) or len(listed("histogram2d: bins", bins)) == 2
    pair = bins if many else [bins, bins]
    made, (first, second) = histogramdd([x, y], pair, range, weights, density)
    return made, first, second
