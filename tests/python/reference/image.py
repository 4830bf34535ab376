"""Resampling and patches in NumPy: each mode of interpolation as a matrix along one axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = Sequence[int]


def _cubic(d: float) -> float:
    """Keys' convolution kernel with a = -3/4, in its textbook form."""
    a, d = -0.75, abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def _matrix(n: int, size: int, mode: str, align: bool, scale: float) -> Array:
    m = np.zeros((size, n))
    ratio = 1 / scale if scale else n / size
    for i in range(size):
        corner = i * (n - 1) / (size - 1) if size > 1 else 0.0
        place = corner if align else (i + 0.5) * ratio - 0.5
        if mode == "area":
            begin, end = i * n // size, -(-(i + 1) * n // size)
            m[i, begin:end] = 1 / (end - begin)
        elif mode in ("nearest", "nearest-exact"):
            exact = (i + 0.5) * ratio if mode == "nearest-exact" else i * ratio
            m[i, min(int(np.floor(corner + 0.5) if align else exact), n - 1)] = 1
        elif mode == "bicubic":
            for at in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
                m[i, min(max(at, 0), n - 1)] += _cubic(place - at)
        else:
            place = min(max(place, 0), n - 1)
            m[i, int(place)] += 1 - place % 1
            m[i, min(int(place) + 1, n - 1)] += place % 1
    return m


def resize_axis(x: Array, axis: int, size: int, mode: str = "nearest", align_corners: bool = False,
                scale: float = 0) -> Array:
    m = _matrix(x.shape[axis], size, mode, align_corners, scale)
    return np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)


def resize_axis_grad(g: Array, axis: int, size: int, mode: str = "nearest",
                     align_corners: bool = False, scale: float = 0) -> Array:
    m = _matrix(size, g.shape[axis], mode, align_corners, scale)
    return np.moveaxis(np.tensordot(m, g, (0, axis)), 0, axis)


def interpolate(x: Array, size: Ints, mode: str = "nearest", align_corners: bool = False,
                scale_d: float = 0, scale_h: float = 0, scale_w: float = 0) -> Array:
    for i, scale in enumerate((scale_w, scale_h, scale_d)[: len(size)]):
        x = resize_axis(x, x.ndim - 1 - i, size[-1 - i], mode, align_corners, scale)
    return x


def _place(v: float, n: int, padding: str, align: bool) -> float:
    v = (v + 1) / 2 * (n - 1) if align else ((v + 1) * n - 1) / 2
    if padding == "reflection":
        low, high = (0, n - 1) if align else (-0.5, n - 0.5)
        span = high - low
        turns, rest = divmod(v - low, span) if span else (0, 0.0)
        v = (low + rest if turns % 2 == 0 else high - rest) if span else 0.0
    return v if padding == "zeros" else min(max(v, 0), n - 1)


def grid_sample(x: Array, grid: Array, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool = False) -> Array:
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for b, i, j in np.ndindex(n, *grid.shape[1:3]):
        px = _place(grid[b, i, j, 0], w, padding_mode, align_corners)
        py = _place(grid[b, i, j, 1], h, padding_mode, align_corners)
        for yy in range(h):
            for xx in range(w):
                if mode == "nearest":
                    weight = float(np.round(py) == yy and np.round(px) == xx)
                else:
                    weight = max(0, 1 - abs(py - yy)) * max(0, 1 - abs(px - xx))
                out[b, :, i, j] += weight * x[b, :, yy, xx]
    return out


def _two(v: Ints) -> tuple[int, int]:
    return (v[0], v[0]) if len(v) == 1 else (v[0], v[1])


def unfold(x: Array, kernel_size: Ints, dilation: Ints = (1,), padding: Ints = (0,),
           stride: Ints = (1,)) -> Array:
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = map(_two, (kernel_size, dilation, padding, stride))
    p = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    rows = range(0, p.shape[2] - dh * (kh - 1), sh)
    columns = range(0, p.shape[3] - dw * (kw - 1), sw)
    windows = [p[:, :, i : i + dh * (kh - 1) + 1 : dh, j : j + dw * (kw - 1) + 1 : dw]
               for i in rows for j in columns]
    return np.stack([v.reshape(x.shape[0], -1) for v in windows], -1)


def fold(x: Array, output_size: Ints, kernel_size: Ints, dilation: Ints = (1,),
         padding: Ints = (0,), stride: Ints = (1,)) -> Array:
    """The transpose of unfold, through the numbers of the elements."""
    h, w = _two(output_size)
    kh, kw = _two(kernel_size)
    n, c = x.shape[0], x.shape[1] // (kh * kw)
    number = np.arange(1, n * c * h * w + 1).reshape(n, c, h, w)
    places = unfold(number, kernel_size, dilation, padding, stride)
    out = np.zeros(n * c * h * w + 1)
    np.add.at(out, places.reshape(-1), x.reshape(-1))
    return out[1:].reshape(n, c, h, w)
