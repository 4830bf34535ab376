"""Convolution, pooling, batch norm, recurrent layers and attention in double, by plain loops over
the definitions."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = tuple[int, ...] | None


# ---- convolution


def _each(value: Ints, n: int) -> tuple[int, ...]:
    assert value is not None
    return tuple(value) * n if len(value) == 1 else tuple(value)


def _pads(padding: tuple[int, ...], n: int) -> list[tuple[int, int]]:
    if len(padding) == 2 * n and len(padding) > 1:
        return [(padding[2 * i], padding[2 * i + 1]) for i in range(n)]
    return [(p, p) for p in _each(padding, n)]


def conv(x: Array, weight: Array, bias: Array | None = None, stride: tuple[int, ...] = (1,),
         padding: tuple[int, ...] = (0,), dilation: tuple[int, ...] = (1,),
         groups: int = 1) -> Array:  # fmt: skip
    n = x.ndim - 2
    steps, spread = _each(stride, n), _each(dilation, n)
    x = np.pad(x, [(0, 0), (0, 0), *_pads(padding, n)])
    kernel = weight.shape[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(spread, kernel, strict=True)]
    out = [(s - r) // t + 1 for s, r, t in zip(x.shape[2:], reach, steps, strict=True)]
    co, ci = weight.shape[0] // groups, weight.shape[1]
    y = np.zeros((x.shape[0], weight.shape[0], *out))
    for place in itertools.product(*map(range, out)):
        window = x[(slice(None), slice(None), *(
            slice(o * t, o * t + r, d)
            for o, t, r, d in zip(place, steps, reach, spread, strict=True)
        ))]  # fmt: skip
        for g in range(groups):
            part, w = window[:, g * ci : (g + 1) * ci], weight[g * co : (g + 1) * co]
            axes = list(range(1, part.ndim))
            y[(slice(None), slice(g * co, (g + 1) * co), *place)] = np.tensordot(
                part, w, (axes, axes)
            )
    return y if bias is None else y + bias.reshape(-1, *[1] * n)


def conv_transpose(x: Array, weight: Array, bias: Array | None = None,
                   stride: tuple[int, ...] = (1,), padding: tuple[int, ...] = (0,),
                   dilation: tuple[int, ...] = (1,), groups: int = 1,
                   output_padding: tuple[int, ...] = (0,)) -> Array:  # fmt: skip
    """Each input element adds its kernel to the result; padding is cut away at the end."""
    n = x.ndim - 2
    steps, spread, more = _each(stride, n), _each(dilation, n), _each(output_padding, n)
    pads = _pads(padding, n)
    kernel = weight.shape[2:]
    full = [
        (s - 1) * t + d * (k - 1) + 1 + m
        for s, t, d, k, m in zip(x.shape[2:], steps, spread, kernel, more, strict=True)
    ]
    ci, co = weight.shape[0] // groups, weight.shape[1]
    y = np.zeros((x.shape[0], co * groups, *full))
    for place in itertools.product(*map(range, x.shape[2:])):
        where = tuple(
            slice(p * t, p * t + d * (k - 1) + 1, d)
            for p, t, d, k in zip(place, steps, spread, kernel, strict=True)
        )
        for g in range(groups):
            pixel = x[(slice(None), slice(g * ci, (g + 1) * ci), *place)]
            y[(slice(None), slice(g * co, (g + 1) * co), *where)] += np.tensordot(
                pixel, weight[g * ci : (g + 1) * ci], (1, 0)
            )
    cut = tuple(slice(b, f - e) for (b, e), f in zip(pads, full, strict=True))
    y = y[(slice(None), slice(None), *cut)]
    return y if bias is None else y + bias.reshape(-1, *[1] * n)


# ---- pooling


def _out_size(size: int, kernel: int, stride: int, pad: tuple[int, int], dilation: int,
              ceil_mode: bool) -> int:  # fmt: skip
    room = size + sum(pad) - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return room // stride + 1
    out = -(-room // stride) + 1
    return out - 1 if (out - 1) * stride >= size + pad[0] else out


def _largest(x: Array, indices: list[list[list[int]]]) -> tuple[Array, Array]:
    """Over the product of index lists, one for each output of each axis."""
    out = [len(axis) for axis in indices]
    y = np.full((*x.shape[:2], *out), -np.inf)
    at = np.full(y.shape, -1, dtype=np.int32)
    flat = np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for place in itertools.product(*map(range, out)):
        grid = np.ix_(*[axis[o] for axis, o in zip(indices, place, strict=True)])
        values = x[(slice(None), slice(None), *grid)].reshape(*x.shape[:2], -1)
        if values.shape[2]:
            best = values.argmax(2)
            y[(slice(None), slice(None), *place)] = values.max(2)
            at[(slice(None), slice(None), *place)] = flat[grid].reshape(-1)[best]
    return y, at


def max_pool(x: Array, kernel_size: tuple[int, ...], stride: Ints = None,
             padding: tuple[int, ...] = (0,), dilation: tuple[int, ...] = (1,),
             ceil_mode: bool = False) -> tuple[Array, Array]:  # fmt: skip
    n = x.ndim - 2
    kernel, steps = _each(kernel_size, n), _each(stride or kernel_size, n)
    spread, pads = _each(dilation, n), _pads(padding, n)
    indices = []
    for i in range(n):
        size = x.shape[2 + i]
        out = _out_size(size, kernel[i], steps[i], pads[i], spread[i], ceil_mode)
        windows = [
            [o * steps[i] - pads[i][0] + k * spread[i] for k in range(kernel[i])]
            for o in range(out)
        ]
        indices.append([[p for p in w if 0 <= p < size] for w in windows])
    return _largest(x, indices)


def _equal_parts(size: int, out: int) -> list[list[int]]:
    return [list(range(o * size // out, -(-(o + 1) * size // out))) for o in range(out)]


def adaptive_max_pool(x: Array, output_size: tuple[int, ...]) -> tuple[Array, Array]:
    sizes = _each(output_size, x.ndim - 2)
    return _largest(x, [_equal_parts(s, o) for s, o in zip(x.shape[2:], sizes, strict=True)])


def adaptive_avg_pool(x: Array, output_size: tuple[int, ...]) -> Array:
    sizes = _each(output_size, x.ndim - 2)
    parts = [_equal_parts(s, o) for s, o in zip(x.shape[2:], sizes, strict=True)]
    y = np.zeros((*x.shape[:2], *sizes))
    for place in itertools.product(*map(range, sizes)):
        grid = np.ix_(*[axis[o] for axis, o in zip(parts, place, strict=True)])
        values = x[(slice(None), slice(None), *grid)]
        y[(slice(None), slice(None), *place)] = values.reshape(*x.shape[:2], -1).mean(2)
    return y


def avg_pool(x: Array, kernel_size: tuple[int, ...], stride: Ints = None,
             padding: tuple[int, ...] = (0,), ceil_mode: bool = False,
             count_include_pad: bool = True,
             divisor_override: int | None = None) -> Array:  # fmt: skip
    n = x.ndim - 2
    kernel, steps, pads = (
        _each(kernel_size, n), _each(stride or kernel_size, n), _pads(padding, n)
    )  # fmt: skip
    out = [
        _out_size(x.shape[2 + i], kernel[i], steps[i], pads[i], 1, ceil_mode) for i in range(n)
    ]
    y = np.zeros((*x.shape[:2], *out))
    for place in itertools.product(*map(range, out)):
        starts = [o * steps[i] - pads[i][0] for i, o in enumerate(place)]
        padded = [
            min(s + kernel[i], x.shape[2 + i] + pads[i][1]) - s for i, s in enumerate(starts)
        ]
        window = x[(slice(None), slice(None), *(
            slice(max(s, 0), min(s + kernel[i], x.shape[2 + i])) for i, s in enumerate(starts)
        ))]  # fmt: skip
        count = int(np.prod(padded if count_include_pad else window.shape[2:]))
        y[(slice(None), slice(None), *place)] = window.reshape(*x.shape[:2], -1).sum(2) / (
            divisor_override or count
        )
    return y


# ---- batch norm


def _over(v: Array, x: Array) -> Array:
    return v.reshape(-1, *[1] * (x.ndim - 2))


def batch_norm_infer(x: Array, mean: Array, variance: Array, weight: Array | None = None,
                     bias: Array | None = None, epsilon: float = 1e-5) -> Array:  # fmt: skip
    y = (x - _over(mean, x)) / np.sqrt(_over(variance, x) + epsilon)
    if weight is not None:
        y = y * _over(weight, x)
    return y if bias is None else y + _over(bias, x)


def batch_norm_train(x: Array, weight: Array | None = None, bias: Array | None = None,
                     epsilon: float = 1e-5) -> tuple[Array, Array, Array]:  # fmt: skip
    axes = (0, *range(2, x.ndim))
    mean, variance = x.mean(axes), x.var(axes)
    return batch_norm_infer(x, mean, variance, weight, bias, epsilon), mean, variance


# ---- recurrent layers


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _cell(mode: str, a: Array, b: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
    """The state after one step, from the sums of input (a) and state (b)."""
    if mode == "lstm":
        i, f, g, o = np.split(a + b, 4)
        cell = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(cell), cell
    if mode == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3), np.split(b, 3)
        z, new = _sigmoid(az + bz), np.tanh(an + _sigmoid(ar + br) * bn)
        return (1 - z) * new + z * h, None
    return np.tanh(a + b) if mode == "tanh" else np.maximum(a + b, 0), None


def rnn_layer(x: Array, h0: Array, w_ih: Array, w_hh: Array, b_ih: Array | None = None,
              b_hh: Array | None = None, c0: Array | None = None,
              seq_length: Array | None = None, mode: str = "lstm",
              reverse: bool = False) -> Callable[..., None]:  # fmt: skip
    """The fourth result, what the gradient needs, has no meaning outside."""
    steps, n = x.shape[:2]
    y, last = np.zeros((steps, *h0.shape)), h0.copy()
    cells = None if c0 is None else c0.copy()
    for row in range(n):
        length = steps if seq_length is None else min(int(seq_length[row]), steps)
        times = range(length)
        for t in reversed(times) if reverse else times:
            a = w_ih @ x[t, row] + (0 if b_ih is None else b_ih)
            b = w_hh @ last[row] + (0 if b_hh is None else b_hh)
            state, cell = _cell(mode, a, b, last[row], None if cells is None else cells[row])
            y[t, row] = last[row] = state
            if cells is not None:
                cells[row] = cell

    def check(got_y: Array, got_h: Array, got_c: Array, saved: Array) -> None:
        np.testing.assert_allclose(got_y, y, rtol=0, atol=2e-5)
        np.testing.assert_allclose(got_h, last, rtol=0, atol=2e-5)
        if cells is not None:
            np.testing.assert_allclose(got_c, cells, rtol=0, atol=2e-5)
        assert saved.shape[1:] == y.shape

    return check


# ---- attention


def flash_attention(query: Array, key: Array, value: Array, attn_mask: Array | None = None,
                    scale: float = 0.0, is_causal: bool = False) -> tuple[Array, Array]: # fmt: skip
    times = query.shape[1] // key.shape[1]
    key, value = key.repeat(times, 1), value.repeat(times, 1)
    s = query @ key.swapaxes(2, 3) * (scale or query.shape[3] ** -0.5)
    if attn_mask is not None:
        s = np.where(attn_mask, s, -np.inf) if attn_mask.dtype == bool else s + attn_mask
    if is_causal:
        s = np.where(np.tril(np.ones(s.shape[2:], bool)), s, -np.inf)
    p = np.exp(s - s.max(3, keepdims=True))
    total = p.sum(3)
    return p @ value / total[..., None], np.log(total) + s.max(3)
