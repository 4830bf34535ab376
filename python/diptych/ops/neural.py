"""Functions of layers made of a few table ops: gated and random activations, dropout of channels,
local response normalisation, bilinear products."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, op_table
from .random import dropout, uniform

__all__ = [
    "bidense",
    "channel_shuffle",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "glu",
    "lrn",
    "rrelu",
    "softmin",
]

_table = op_table


def softmin(x: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """softmax(-x) along axis; dtype: x is converted to it first.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.softmin(ms.Tensor([0.0, 0.0])))
    [0.5 0.5]
    """
    return _table["softmax"](-(x if dtype is None else _table["cast"](x, dtype)), axis)


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """a * sigmoid(b), a and b being the halves of x along axis (Dauphin et al. 2017).

    >>> import diptych as ms
    >>> ms.ops.glu(ms.Tensor([3.0, 0.0])).tolist()
    [1.5]
    """
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"glu: axis is {axis}; input of shape {x.shape} has axes below {x.ndim}")
    if x.shape[axis] % 2:
        raise ValueError(f"glu: axis {axis} of the input of shape {x.shape} must have an even size")
    half = x.shape[axis] // 2
    a, b = _table["narrow"](x, axis, 0, half), _table["narrow"](x, axis, half, half)
    return a * _table["sigmoid"](b)


def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3) -> Tensor:
    """input where it is 0 or more, else input times a slope drawn from [lower, upper) for each
    element (Xu et al. 2015).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.rrelu(ms.Tensor([1.0, -1.0]), 0.25, 0.25))
    [ 1.   -0.25]
    """
    if lower > upper:
        raise ValueError(f"rrelu: lower is {lower}, above upper, which is {upper}")
    slope = uniform(input.shape, lower, upper, dtype=input.dtype)
    return _table["where"](input >= 0, input, input * slope)


def _dropout_channels(op: str, spatial: int, x: Tensor, p: float, training: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"{op}: p is {p}; it must be in [0, 1]")
    if x.ndim not in (spatial + 1, spatial + 2):
        raise ValueError(
            f"{op}: input has shape {x.shape}; it must have {spatial + 2} axes (or "
            f"{spatial + 1} without a batch)"
        )
    if not training:
        return +x
    lead = x.ndim - spatial
    dtype = x.dtype if x.dtype.is_floating_point else None
    kept = _table["ones"]((*x.shape[:lead], *(1,) * spatial), dtype or "float32")
    return (x * dropout(kept, p)).astype(x.dtype, copy=False)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """While training: each channel of (N, C, L) or (C, L) 0 with probability p, the others over
    1 - p (Tompson et al. 2015).

    >>> from diptych import ops
    >>> ops.dropout1d(ops.ones((2, 3, 4))).shape
    (2, 3, 4)
    """
    return _dropout_channels("dropout1d", 1, input, p, training)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """While training: each channel of (N, C, H, W) or (C, H, W) 0 with probability p, the others
    over 1 - p.

    >>> from diptych import ops
    >>> ops.dropout2d(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """
    return _dropout_channels("dropout2d", 2, input, p, training)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """While training: each channel of (N, C, D, H, W) or (C, D, H, W) 0 with probability p, the
    others over 1 - p.

    >>> from diptych import ops
    >>> ops.dropout3d(ops.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """
    return _dropout_channels("dropout3d", 3, input, p, training)


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of (..., C, H, W), in ``groups`` groups, dealt out in turn (Zhang et al. 2018).

    >>> import diptych as ms
    >>> x = ms.ops.arange(4).reshape((1, 4, 1, 1))
    >>> ms.ops.channel_shuffle(x, 2).reshape(-1).tolist()
    [0, 2, 1, 3]
    """
    if x.ndim < 3 or groups <= 0 or x.shape[-3] % groups:
        raise ValueError(
            f"channel_shuffle: groups is {groups} and the input has shape {x.shape}; groups must "
            "divide axis -3"
        )
    lead, (c, h, w) = x.shape[:-3], x.shape[-3:]
    split = x.reshape((*lead, groups, c // groups, h, w))
    return _table["swapaxes"](split, -3, -4).reshape(x.shape)


def lrn(
    x: Tensor,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Tensor:
    """x / (bias + alpha s)^beta for x (N, C, H, W), s being the sum of squares over the channels at
    most depth_radius away (Krizhevsky et al. 2012).

    >>> from diptych import ops
    >>> ops.lrn(ops.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"lrn: norm_region is {norm_region!r}; it must be 'ACROSS_CHANNELS'")
    if x.ndim != 4 or depth_radius < 0:
        raise ValueError(
            f"lrn: input has shape {x.shape} and depth_radius is {depth_radius}; they must be "
            "(N, C, H, W) and 0 or more"
        )
    n, c, h, w = x.shape
    width = 2 * depth_radius + 1
    planes = _table["square"](x).reshape((n, 1, c, h * w))
    padded = _table["pad"](planes, (0, 0, depth_radius, depth_radius))
    sums = _table["avg_pool"](padded, (width, 1), (1, 1)) * width
    return x / _table["pow"](sums.reshape(x.shape) * alpha + bias, beta)


def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 weight x2^T + bias: sum over i, j of x1[..., i] weight[o, i, j] x2[..., j] + bias[o].

    input1 (..., in1), input2 (..., in2), weight (out, in1, in2), bias (out,).

    >>> from diptych import ops
    >>> ops.bidense(ops.ones((5, 2)), ops.ones((5, 3)), ops.ones((4, 2, 3))).shape
    (5, 4)
    """
    if weight.ndim != 3 or input1.shape[:-1] != input2.shape[:-1]:
        raise ValueError(
            f"bidense: inputs have shapes {input1.shape} and {input2.shape}, weight "
            f"{weight.shape}; they must be (..., in1), (..., in2) and (out, in1, in2)"
        )
    out, in1, in2 = weight.shape
    if input1.shape[-1] != in1 or input2.shape[-1] != in2:
        raise ValueError(
            f"bidense: inputs have shapes {input1.shape} and {input2.shape}; their last sizes must "
            f"be {in1} and {in2}, as weight {weight.shape} has them"
        )
    sides = input1 @ weight.transpose((1, 0, 2)).reshape((in1, out * in2))
    sides = sides.reshape((*input1.shape[:-1], out, in2))
    result = (sides * _table["expand_dims"](input2, -2)).sum(-1)
    return result if bias is None else result + bias
