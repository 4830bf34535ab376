"""Random draws from the seed KEY, by the layout that docs/semantics.md writes down."""

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = Sequence[int]

KEY = 7
M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
LOW = 0xFFFFFFFF


def _philox(counter: int, stream: int = 0) -> tuple[int, int, int, int]:
    """Philox 4x32-10 in Python integers."""
    c0, c1, c2, c3 = counter & LOW, counter >> 32, stream & LOW, stream >> 32
    k0, k1 = KEY & LOW, KEY >> 32
    for _ in range(10):
        p0, p1 = M0 * c0, M1 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & LOW, p0 >> 32 ^ c3 ^ k1, p0 & LOW
        k0, k1 = k0 + W0 & LOW, k1 + W1 & LOW
    return c0, c1, c2, c3


def _is_double(dtype: Any) -> bool:
    return np.dtype(dtype) == np.float64


def _word(i: int) -> int:
    """The word of value i of a float32 draw."""
    return _philox(i // 64 * 16 + i % 16)[i % 64 // 16]


def _pair(i: int) -> int:
    """The 64-bit word of value i of a float64 or integer draw."""
    w, p = _philox(i // 32 * 16 + i % 16), i % 32 // 16
    return w[2 * p] << 32 | w[2 * p + 1]


def _unit(i: int, double: bool) -> float:
    return (_pair(i) >> 11) * 2.0**-53 if double else (_word(i) >> 8) * 2.0**-24


def _positive(i: int, double: bool) -> float:
    return _unit(i, True) + 2.0**-54 if double else (_word(i) >> 1) * 2.0**-31 + 2.0**-33


def _fill(shape: Ints, value: Callable[[int], float]) -> Array:
    return np.array([value(i) for i in range(int(np.prod(shape)))]).reshape(tuple(shape))


def _normal(i: int, double: bool) -> float:
    first = i - i % 32 + i % 16
    radius = np.sqrt(-2 * np.log(_positive(first, double)))
    turn = 2 * np.pi * _unit(first + 16, double)
    return float(radius * (np.cos(turn) if i % 32 < 16 else np.sin(turn)))


def standard_normal(shape: Ints, dtype: Any = np.float32) -> Array:
    return _fill(shape, lambda i: _normal(i, _is_double(dtype)))


def normal(shape: Ints, mean: float = 0, stddev: float = 1, dtype: Any = np.float32) -> Array:
    return mean + stddev * standard_normal(shape, dtype)


def uniform(shape: Ints, minval: float = 0, maxval: float = 1, dtype: Any = np.float32) -> Array:
    return minval + (maxval - minval) * _fill(shape, lambda i: _unit(i, _is_double(dtype)))


def exponential(shape: Ints, lambd: float = 1, dtype: Any = np.float32) -> Array:
    return -np.log(1 - uniform(shape, dtype=dtype)) / lambd


def truncated_normal(shape: Ints, mean: float = 0, stddev: float = 1, low: float = -2,
                     high: float = 2, dtype: Any = np.float32) -> Array:
    bell = NormalDist()
    a, b = bell.cdf(low), bell.cdf(high)
    u = uniform(shape, dtype=dtype) + 2.0**-25
    return mean + stddev * np.vectorize(bell.inv_cdf)(a + (b - a) * u)


def randint(low: int, high: int, size: Ints, dtype: Any = np.int64) -> Array:
    return _fill(size, lambda i: low + (_pair(i) * (high - low) >> 64)).astype(dtype)


def randperm(n: int, dtype: Any = np.int64) -> Array:
    out = list(range(n))
    for step, i in enumerate(range(n - 1, 0, -1)):
        j = _pair(step) * (i + 1) >> 64
        out[i], out[j] = out[j], out[i]
    return np.array(out, dtype)


def bernoulli(x: Array, p: Any = 0.5) -> Array:
    u = _fill(x.shape, lambda i: _unit(i, False))
    return (u < p).astype(x.dtype)


def _open(high: int, low: int) -> float:
    return (high << 21 | low >> 11) * 2.0**-53 + 2.0**-54


def multinomial(x: Array, num_samples: int, replacement: bool = True) -> Array:
    rows = []
    for r, weights in enumerate(np.atleast_2d(x)):
        if replacement:
            sums = np.cumsum(weights)
            draws = [_open(*_philox(r * num_samples + s)[:2]) for s in range(num_samples)]
            rows.append([int(np.searchsorted(sums, u * sums[-1], "right")) for u in draws])
        else:
            clocks = [-np.log(_open(*_philox(r * num_samples, i + 1)[:2])) / w if w else np.inf
                      for i, w in enumerate(weights)]
            rows.append(list(np.argsort(clocks, kind="stable")[:num_samples]))
    return np.array(rows, np.int64).reshape(*x.shape[:-1], num_samples)


def _gamma(counter: int, alpha: float) -> float:
    boost = 1.0 if alpha >= 1 else _open(*_philox(counter)[:2]) ** (1 / alpha)
    d = (alpha if alpha >= 1 else alpha + 1) - 1 / 3
    stream = 1
    while True:
        w = _philox(counter, stream)
        x = np.sqrt(-2 * np.log((w[2] + 0.5) * 2.0**-32)) * np.cos(2 * np.pi * w[3] * 2.0**-32)
        v = (1 + x / np.sqrt(9 * d)) ** 3
        if v > 0 and np.log(_open(w[0], w[1])) < x * x / 2 + d - d * v + d * np.log(v):
            return float(d * v * boost)
        stream += 1


def random_gamma(alpha: Array, shape: Ints = ()) -> Array:
    full = (*shape, *alpha.shape)
    flat = np.broadcast_to(alpha, full).reshape(-1)
    return _fill(full, lambda i: _gamma(i, float(flat[i])))


def _poisson(counter: int, rate: float) -> int:
    product, count, stream = 1.0, 0, 0
    while True:
        w = _philox(counter, stream)
        for k in (0, 2):
            product *= _open(w[k], w[k + 1])
            if product <= np.exp(-rate):
                return count
            count += 1
        stream += 1


def random_poisson(rate: Array, shape: Ints = (), dtype: Any = np.float32) -> Array:
    full = (*shape, *rate.shape)
    flat = np.broadcast_to(rate, full).reshape(-1)
    return _fill(full, lambda i: _poisson(i, float(flat[i])))
