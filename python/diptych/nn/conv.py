"""Convolution layers over ops.conv*, with MindSpore's pad modes and initial values."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from .cell import Cell
from .check import check_positive

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


def _tuple(cls: str, name: str, value: Any, n: int) -> tuple[int, ...]:
    """An int or n ints, all positive."""
    values = (value,) * n if isinstance(value, int) else tuple(value)
    if len(values) != n or any(isinstance(v, bool) or not isinstance(v, int) for v in values):
        raise TypeError(f"For '{cls}', '{name}' must be an int or {n} ints, but got {value!r}")
    if any(v <= 0 for v in values):
        raise ValueError(f"For '{cls}', '{name}' must be positive, but got {value!r}")
    return values


class _Conv(Cell):
    """What Conv1d, Conv2d and Conv3d share; a subclass sets ``_rank`` and ``_op``."""

    _rank: int
    _op: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls, n = type(self).__name__, self._rank
        check_positive(cls, in_channels=in_channels, out_channels=out_channels, group=group)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{cls}', 'group' must divide 'in_channels' and 'out_channels', "
                f"but got group={group}, in_channels={in_channels}, out_channels={out_channels}"
            )
        if data_format not in (None, "NCW", "NCHW", "NCDHW"):
            raise ValueError(f"For '{cls}', 'data_format' {data_format!r} is not available; "
                             "channels stand before the sizes (NCW, NCHW, NCDHW)")
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = _tuple(cls, "kernel_size", kernel_size, n)
        self.stride = _tuple(cls, "stride", stride, n)
        self.dilation = _tuple(cls, "dilation", dilation, n)
        self.pad_mode, self.padding, self.has_bias = pad_mode, padding, has_bias
        shape = (out_channels, in_channels // group, *self.kernel_size)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            bound = 1 / math.sqrt(math.prod(shape[1:]))
            bias_init = Uniform(bound) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Tensor:
        return self._function(
            x,
            self.weight,
            self.bias,
            stride=self.stride,
            pad_mode=self.pad_mode,
            padding=self.padding,
            dilation=self.dilation,
            groups=self.group,
        )

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}"
        )


class Conv1d(_Conv):
    """1-D convolution: (N, C, L) to (N, out_channels, L')."""

    _rank, _op = 1, "conv1d"


class Conv2d(_Conv):
    """2-D convolution: (N, C, H, W) to (N, out_channels, H', W'); weight (out, in / group, kh, kw).

    ``pad_mode``: "same" keeps H / stride, "valid" pads nothing, "pad" pads by ``padding``.

    >>> import diptych as ms
    >>> ms.nn.Conv2d(3, 8, 3)(ms.ops.ones((1, 3, 16, 16))).shape
    (1, 8, 16, 16)
    """

    _rank, _op = 2, "conv2d"


class Conv3d(_Conv):
    """3-D convolution: (N, C, D, H, W) to (N, out_channels, D', H', W')."""

    _rank, _op = 3, "conv3d"
