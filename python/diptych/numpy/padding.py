"""Arrays made larger at their ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .convert import as_tensor
from .pick import apply_along_axis

__all__ = ["pad"]

_table = op_table


def _pairs(name: str, value: Any, rank: int) -> list[tuple[Any, Any]]:
    """One pair an axis, of a number, a pair for all axes, or a list of pairs."""
    if isinstance(value, Tensor):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return [(value, value)] * rank
    items = list(value)
    if all(not isinstance(item, list | tuple) for item in items) and len(items) in (1, 2):
        return [(items[0], items[-1])] * rank
    rows = [item if isinstance(item, list | tuple) else (item,) for item in items]
    if len(rows) == 1:
        rows = rows * rank
    if len(rows) != rank or any(len(row) not in (1, 2) for row in rows):
        raise ValueError(f"pad: {name} is {value}; it must be a number or a pair for each axis")
    return [(row[0], row[-1]) for row in rows]


def _part(x: Tensor, axis: int, start: int, length: int) -> Tensor:
    return _table["narrow"](x, axis, start, length)


def _ends(x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    return _part(x, axis, 0, 1), _part(x, axis, x.shape[axis] - 1, 1)


def _repeated(x: Tensor, axis: int, n: int) -> Tensor:
    return _table["broadcast_to"](x, [n if i == axis else m for i, m in enumerate(x.shape)])


def _filled(x: Tensor, axis: int, width: tuple[int, int], values: Any) -> Tensor:
    parts = []
    for n, value in zip(width, values, strict=True):
        number = as_tensor(value, "constant_values").astype(x.dtype)
        shape = [n if i == axis else m for i, m in enumerate(x.shape)]
        parts.append(_table["broadcast_to"](number, shape))
    return _table["concat"]([parts[0], x, parts[1]], axis)


def _ramp(x: Tensor, axis: int, width: tuple[int, int], values: Any) -> Tensor:
    """Straight lines from the ends to the values."""
    parts = []
    for side, (n, value) in enumerate(zip(width, values, strict=True)):
        share = _table["arange"](1, n + 1, 1, _core.float64) / max(n, 1)
        share = share if side else _table["flip"](share, (0,))
        share = share.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        end = _ends(x, axis)[side]
        parts.append((end + (value - end) * share).astype(x.dtype))
    return _table["concat"]([parts[0], x, parts[1]], axis)


def _statistic(op: str) -> Callable[..., Tensor]:
    def function(x: Tensor, axis: int, width: tuple[int, int], lengths: Any) -> Tensor:
        n, parts = x.shape[axis], []
        for side in (0, 1):
            size = n if lengths[side] is None else min(lengths[side], n)
            if size < 1:
                raise ValueError(f"pad: stat_length is {lengths}; it must be 1 or more")
            near = _part(x, axis, n - size if side else 0, size)
            value = _table[op](near, axis, True)
            if not x.dtype.is_floating_point:
                value = _table["round"](value)
            parts.append(_repeated(value.astype(x.dtype), axis, width[side]))
        return _table["concat"]([parts[0], x, parts[1]], axis)

    return function


def _picked(x: Tensor, axis: int, places: list[int]) -> Tensor:
    return _table["index_select"](x, Tensor(places), axis)


def _edge(x: Tensor, axis: int, width: tuple[int, int]) -> Tensor:
    first, last = _ends(x, axis)
    parts = [_repeated(first, axis, width[0]), x, _repeated(last, axis, width[1])]
    return _table["concat"](parts, axis)


def _wrap(x: Tensor, axis: int, width: tuple[int, int]) -> Tensor:
    n = x.shape[axis]
    return _picked(x, axis, [i % n for i in range(-width[0], n + width[1])])


def _mirrored(x: Tensor, axis: int, width: tuple[int, int], share_end: int, odd: bool) -> Tensor:
    """Mirrored at the ends, share_end 1: which are repeated ("symmetric"). odd: the mirror images
    are taken from twice the end, so that the line goes on; then each period adds a step."""
    n = x.shape[axis]
    period = 2 * (n - 1 + share_end)
    if period == 0:
        return _edge(x, axis, width)
    places, turned, rounds = [], [], []
    for i in range(-width[0], n + width[1]):
        round_, place = divmod(i, period)
        is_image = place >= n
        places.append(period - share_end - place if is_image else place)
        turned.append(is_image)
        rounds.append(round_)
    made = _picked(x, axis, places)
    if not odd:
        return made
    first, last = _ends(x, axis)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    made = _table["where"](Tensor(turned).reshape(shape), last * 2 - made, made)
    return made + (last - first) * 2 * Tensor(rounds).astype(x.dtype).reshape(shape)


def _called(x: Tensor, widths: Any, mode: Callable[..., Any], kwargs: dict[str, Any]) -> Tensor:
    """By the user's function: it gets each padded vector and returns it filled."""
    for axis, width in enumerate(widths):
        x = _filled(x, axis, width, (0, 0))
    for axis, width in enumerate(widths):
        x = apply_along_axis(_filler(mode, width, axis, kwargs), axis, x)
    return x


def _filler(mode: Any, width: Any, axis: int, kwargs: dict[str, Any]) -> Callable[..., Any]:
    def fill(vector: Tensor) -> Any:
        return mode(vector.copy(), width, axis, kwargs)

    return fill


_BY_VALUE = {"constant": _filled, "linear_ramp": _ramp}
_BY_STATISTIC = {
    "maximum": _statistic("amax"),
    "mean": _statistic("mean"),
    "minimum": _statistic("amin"),
}
_BY_PLACE = {"edge": _edge, "wrap": _wrap}
_MIRRORS = {"reflect": 0, "symmetric": 1}
_MODES = ("empty", *_BY_VALUE, *_BY_STATISTIC, *_BY_PLACE, *_MIRRORS)


def pad(
    arr: Any,
    pad_width: Any,
    mode: Any = "constant",
    stat_length: Any = None,
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Tensor:
    """arr with pad_width elements more before and after each axis.

    pad_width, stat_length, constant_values and end_values are a number, a pair, or a pair an axis.
    mode: "constant" (constant_values), "empty" (0), "edge", "linear_ramp" (to end_values),
    "maximum", "mean", "minimum" (of the stat_length elements at the end), "reflect" and
    "symmetric" (mirrored without and with the end itself; reflect_type "odd" goes on with the
    slope), "wrap", or a function of (vector, pad of this axis, axis, kwargs) that returns the
    vector filled.

    >>> import diptych.numpy as mnp
    >>> mnp.pad([1, 2, 3], (2, 1), "reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    x = as_tensor(arr, "arr")
    widths = _pairs("pad_width", pad_width, x.ndim)
    if any(not isinstance(n, int) or n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: pad_width is {pad_width}; it must be ints, 0 or more")
    if callable(mode):
        return _called(x, widths, mode, kwargs)
    if mode not in _MODES or kwargs or reflect_type not in ("even", "odd"):
        raise ValueError(
            f"pad: mode is {mode!r}, reflect_type {reflect_type!r}, others {sorted(kwargs)}; mode "
            f"must be one of {', '.join(_MODES)} or a function, reflect_type 'even' or 'odd'"
        )
    values = _pairs("values", end_values if mode == "linear_ramp" else constant_values, x.ndim)
    values = [(0, 0)] * x.ndim if mode == "empty" else values
    lengths = _pairs("stat_length", stat_length, x.ndim)
    for axis, width in enumerate(widths):
        if mode in ("constant", "empty", "linear_ramp"):
            x = _BY_VALUE.get(mode, _filled)(x, axis, width, values[axis])
        elif mode in _BY_STATISTIC:
            x = _BY_STATISTIC[mode](x, axis, width, lengths[axis])
        elif mode in _BY_PLACE:
            x = _BY_PLACE[mode](x, axis, width)
        else:
            x = _mirrored(x, axis, width, _MIRRORS[mode], reflect_type == "odd")
    return x
