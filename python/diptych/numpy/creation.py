"""New arrays: filled, counted, spaced, drawn, and windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from .convert import as_dtype, as_tensor, axis_of, broadcast_shape, cast, sizes_of

__all__ = [
    "arange",
    "bartlett",
    "blackman",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "geomspace",
    "hamming",
    "hanning",
    "identity",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "rand",
    "randint",
    "randn",
    "zeros",
    "zeros_like",
]

_table = op_table


# ---- filled


def zeros(shape: Any, dtype: Any = _core.float32) -> Tensor:
    """0 everywhere; shape is an int or several.

    >>> import diptych.numpy as mnp
    >>> mnp.zeros((1, 2)).tolist()
    [[0.0, 0.0]]
    """
    return _table["zeros"](sizes_of(shape), as_dtype(dtype))


def ones(shape: Any, dtype: Any = _core.float32) -> Tensor:
    """1 everywhere; shape is an int or several."""
    return _table["ones"](sizes_of(shape), as_dtype(dtype))


def empty(shape: Any, dtype: Any = _core.float32) -> Tensor:
    """zeros: memory is always initialised."""
    return zeros(shape, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """fill_value, a number or what broadcasts to shape, everywhere.

    >>> import diptych.numpy as mnp
    >>> mnp.full((2, 2), [1, 2]).tolist()
    [[1, 2], [1, 2]]
    """
    return _table["broadcast_to"](cast(as_tensor(fill_value), dtype), sizes_of(shape))


def _like(prototype: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], Any]:
    made = as_tensor(prototype, "prototype")
    wanted = made.dtype if dtype is None else as_dtype(dtype)
    return tuple(made.shape) if shape is None else sizes_of(shape), wanted


def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """0 in the sizes and dtype of a."""
    return _table["zeros"](*_like(a, dtype, shape))


def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """1 in the sizes and dtype of a."""
    return _table["ones"](*_like(a, dtype, shape))


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """zeros_like: memory is always initialised."""
    return zeros_like(prototype, dtype, shape)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Tensor:
    """fill_value in the sizes and dtype of a."""
    sizes, wanted = _like(a, dtype, shape)
    return full(sizes, fill_value, wanted)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = _core.float32) -> Tensor:
    """An N by M matrix (M None: N) with 1 on diagonal number k, 0 elsewhere.

    >>> import diptych.numpy as mnp
    >>> mnp.eye(2, 3, 1, int).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    rows, columns = sizes_of((N, N if M is None else M), "N, M")
    place = _table["arange"](0, columns, 1, None) - k
    here = _table["equal"](_table["arange"](0, rows, 1, None).reshape((-1, 1)), place)
    return cast(here, dtype)


def identity(n: int, dtype: Any = _core.float32) -> Tensor:
    """The n by n matrix with 1 on its diagonal."""
    return eye(n, dtype=dtype)


# ---- spaced


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """start, start + step ... before stop; ``arange(n)`` starts at 0. Whole numbers give int32.

    >>> import diptych.numpy as mnp
    >>> mnp.arange(1, 2, 0.25).tolist()
    [1.0, 1.25, 1.5, 1.75]
    """
    first, last = (0, start) if stop is None else (start, stop)
    by = 1 if step is None else step
    if not all(isinstance(v, int | float) for v in (first, last, by)) or by == 0:
        raise TypeError(
            f"arange: start, stop, step are {first!r}, {last!r}, {by!r}; they must be numbers, "
            "step not 0"
        )
    if dtype is None:
        is_float = any(isinstance(v, float) for v in (first, last, by))
        dtype = _core.float32 if is_float else _core.int32
    return _table["arange"](first, last, by, as_dtype(dtype))


def _places(name: str, num: int, endpoint: bool) -> tuple[Tensor, int]:
    """0 .. 1 in num places as float64, and the number of steps."""
    if not isinstance(num, int) or num < 0:
        raise ValueError(f"{name}: num is {num!r}; it must be an int, 0 or more")
    steps = num - 1 if endpoint else num
    return _table["arange"](0, num, 1, _core.float64) / max(steps, 1), steps


def _spread(name: str, start: Any, stop: Any, axis: int) -> tuple[Tensor, Tensor, int]:
    """start and stop broadcast as float64, with a new axis of size 1 for the places."""
    first, last = (as_tensor(v).astype(_core.float64) for v in (start, stop))
    shape = broadcast_shape(name, [first.shape, last.shape])
    axis = axis_of(axis, len(shape) + 1)
    opened = [_table["expand_dims"](_table["broadcast_to"](v, shape), axis) for v in (first, last)]
    return opened[0], opened[1], axis


def _laid(place: Tensor, like: Tensor, axis: int) -> Tensor:
    return place.reshape([-1 if a == axis else 1 for a in range(like.ndim)])


def _line(first: Tensor, last: Tensor, place: Tensor) -> Tensor:
    """From first to last, which is met exactly."""
    return _table["where"](_table["equal"](place, 1), last, first + (last - first) * place)


def _typed(x: Tensor, dtype: Any) -> Tensor:
    """Floats as float32 unless a dtype is given; integers are rounded down."""
    wanted = _core.float32 if dtype is None else as_dtype(dtype)
    return (x if wanted.is_floating_point else _table["floor"](x)).astype(wanted)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """num evenly spaced numbers from start to stop (endpoint False: without it) along a new axis;
    retstep: the step too.

    >>> import diptych.numpy as mnp
    >>> mnp.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    place, steps = _places("linspace", num, endpoint)
    first, last, axis = _spread("linspace", start, stop, axis)
    made = _typed(_line(first, last, _laid(place, first, axis)), dtype)
    if not retstep:
        return made
    step = (last - first) / steps if steps else (last - first) * math.nan
    return made, _table["squeeze"](step, axis).astype(_core.float32)


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """base to the powers linspace(start, stop).

    >>> import diptych.numpy as mnp
    >>> mnp.logspace(0, 2, 3, base=2.0).tolist()
    [1.0, 2.0, 4.0]
    """
    place, _ = _places("logspace", num, endpoint)
    first, last, axis = _spread("logspace", start, stop, axis)
    power = _line(first, last, _laid(place, first, axis))
    return _typed(_table["pow"](base, power), dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """num numbers from start to stop, each the same multiple of the one before. The two must be of
    one sign; otherwise the result is NaN.

    >>> import diptych.numpy as mnp
    >>> mnp.geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    place, _ = _places("geomspace", num, endpoint)
    first, last, axis = _spread("geomspace", start, stop, axis)
    return _typed(first * _table["pow"](last / first, _laid(place, first, axis)), dtype)


# ---- drawn


def _float_sizes(name: str, shape: tuple[Any, ...], dtype: Any) -> tuple[Any, Any]:
    wanted = as_dtype(dtype)
    if not wanted.is_floating_point:
        raise ValueError(f"{name}: dtype is {dtype}; it must be a float dtype")
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], list | tuple) else shape
    return sizes_of(sizes), wanted


def rand(*shape: Any, dtype: Any = _core.float32) -> Tensor:
    """Numbers evenly spread over [0, 1).

    >>> import diptych.numpy as mnp
    >>> mnp.rand(2, 3).shape
    (2, 3)
    """
    sizes, wanted = _float_sizes("rand", shape, dtype)
    return _table["uniform"](sizes, 0.0, 1.0, wanted)


def randn(*shape: Any, dtype: Any = _core.float32) -> Tensor:
    """Numbers of mean 0 and standard deviation 1."""
    return _table["standard_normal"](*_float_sizes("randn", shape, dtype))


def randint(minval: int, maxval: Any = None, shape: Any = None, dtype: Any = _core.int32) -> Tensor:
    """Whole numbers of [minval, maxval), each as likely; maxval None: of [0, minval).

    >>> import diptych.numpy as mnp
    >>> mnp.randint(1, 2, (3,)).tolist()
    [1, 1, 1]
    """
    low, high = (0, minval) if maxval is None else (minval, maxval)
    if not isinstance(low, int) or not isinstance(high, int):
        raise TypeError(f"randint: minval, maxval are {minval!r}, {maxval!r}; they must be ints")
    wanted = as_dtype(dtype)
    if low >= high or wanted.is_floating_point or wanted is _core.bool_:
        raise ValueError(
            f"randint: the range is [{low}, {high}), dtype {dtype}; the range must hold a number, "
            "dtype be of integers"
        )
    return _table["randint"](low, high, () if shape is None else sizes_of(shape), wanted)


# ---- windows


def _window(name: str, formula: str, weight: Callable[[Tensor], Any]) -> Callable[[int], Tensor]:
    def window(M: int) -> Tensor:
        if not isinstance(M, int):
            raise TypeError(f"{name}: M is {M!r}; it must be an int")
        if M < 1:
            return _table["zeros"]((0,), _core.float32)
        if M == 1:
            return _table["ones"]((1,), _core.float32)
        place = _table["arange"](0, M, 1, _core.float64) / (M - 1)
        return weight(place).astype(_core.float32)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"{formula}, for t = 0 .. 1 in M places; as float32."
    return window


def _cosines(*weights: float) -> Callable[[Tensor], Any]:
    """weights[0] - weights[1] cos(2 pi t) + weights[2] cos(4 pi t) ..."""

    def weight(t: Tensor) -> Any:
        turns = (_table["cos"](t * (2 * math.pi * i)) for i in range(1, len(weights)))
        terms = zip(weights[1:], turns, strict=True)
        return weights[0] + sum(((-1) ** i * w * c for i, (w, c) in enumerate(terms, 1)))

    return weight


bartlett = _window("bartlett", "1 - |2 t - 1|", lambda t: 1 - _table["abs"](t * 2 - 1))
blackman = _window(
    "blackman", "0.42 - 0.5 cos(2 pi t) + 0.08 cos(4 pi t)", _cosines(0.42, 0.5, 0.08)
)
hamming = _window("hamming", "0.54 - 0.46 cos(2 pi t)", _cosines(0.54, 0.46))
hanning = _window("hanning", "0.5 - 0.5 cos(2 pi t)", _cosines(0.5, 0.5))
