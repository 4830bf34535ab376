"""Convolution layers over ops.conv*, with MindSpore's pad modes and initial values."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from .cell import Cell
from .check import check_bool, check_choice, check_positive, each_axis

__all__ = [
    "Conv1d",
    "Conv1dTranspose",
    "Conv2d",
    "Conv2dTranspose",
    "Conv3d",
    "Conv3dTranspose",
]


def _paddings(cls: str, padding: Any, n: int) -> tuple[int, ...]:
    """Begin and end of each axis, from an int, one number an axis, or all of them."""
    if isinstance(padding, tuple | list) and len(padding) == 2 * n:
        return each_axis(cls, "padding", padding, 2 * n, 0)
    return tuple(p for p in each_axis(cls, "padding", padding, n, 0) for _ in range(2))


def _check_format(cls: str, data_format: str, legal: str) -> None:
    if data_format != legal:
        raise ValueError(
            f"For '{cls}', 'data_format' {data_format!r} is not available; channels stand before "
            f"the sizes ({legal})"
        )


class _Convolution(Cell):
    """What all convolutions share: checked settings, ``weight`` and ``bias``.

    A subclass sets the number of spatial axes ``_rank`` and its ``_op``.
    """

    _rank: int
    _op: str
    _is_transposed = False

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
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls, n = type(self).__name__, self._rank
        check_positive(cls, in_channels=in_channels, out_channels=out_channels, group=group)
        check_choice(cls, "pad_mode", pad_mode, ("same", "valid", "pad"))
        check_bool(cls, has_bias=has_bias)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{cls}', 'group' must divide 'in_channels' and 'out_channels', "
                f"but got group={group}, in_channels={in_channels}, out_channels={out_channels}"
            )
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = each_axis(cls, "kernel_size", kernel_size, n)
        self.stride = each_axis(cls, "stride", stride, n)
        self.dilation = each_axis(cls, "dilation", dilation, n)
        self.pad_mode, self.padding = pad_mode, padding
        self._pads = _paddings(cls, padding, n)
        if pad_mode != "pad" and any(self._pads):
            raise ValueError(
                f"For '{cls}', 'padding' must be 0 when 'pad_mode' is {pad_mode!r}, "
                f"but got {padding!r}"
            )
        self.has_bias = has_bias
        self.weight = self._make_weight(weight_init, dtype)
        self.bias = None
        if has_bias:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            bias_init = Uniform(bound) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self._function = getattr(ops, self._op)

    def _make_weight(self, init: Any, dtype: Any) -> Parameter:
        first, second = self.out_channels, self.in_channels
        if self._is_transposed:
            first, second = second, first
        kernel = (1, *self.kernel_size) if self._rank == 1 else self.kernel_size
        init = HeUniform(math.sqrt(5)) if init is None else init
        if self._rank == 1 and isinstance(init, Tensor) and init.ndim == 3:
            init = ops.expand_dims(init, 2)
        shape = (first, second // self.group, *kernel)
        return Parameter(initializer(init, shape, dtype), name="weight")

    def _kernel(self) -> Tensor:
        """The weight as the op wants it: 1-D layers store a kernel as (1, k)."""
        return ops.squeeze(self.weight, 2) if self._rank == 1 else self.weight

    def construct(self, x: Tensor) -> Tensor:
        return self._function(
            x,
            self._kernel(),
            self.bias,
            stride=self.stride,
            pad_mode=self.pad_mode,
            padding=self._pads if self.pad_mode == "pad" else 0,
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


class Conv1d(_Convolution):
    """1-D convolution: (N, C, L) to (N, out_channels, L').

    The weight is (out_channels, in_channels / group, 1, kernel_size), as MindSpore stores it. The
    settings are those of Conv2d.

    >>> import diptych as ms
    >>> net = ms.nn.Conv1d(3, 8, 5)
    >>> net(ms.ops.ones((1, 3, 16))).shape, net.weight.shape
    ((1, 8, 16), (8, 3, 1, 5))
    """

    _rank, _op = 1, "conv1d"


class Conv2d(_Convolution):
    """2-D convolution: (N, C, H, W) to (N, out_channels, H', W'); weight (out, in / group, kh, kw).

    Args:
        kernel_size, stride, dilation: int, or (h, w).
        pad_mode: "same" gives ceil(H / stride) places, "valid" pads nothing, "pad" pads by
            ``padding``.
        padding: with "pad": int, (h, w), or (top, bottom, left, right).
        group: number of groups of channels, each convolved by itself.
        has_bias: whether a ``bias`` (out_channels,) is added.
        weight_init, bias_init: None: uniform in +-1 / sqrt(in / group * kh * kw).

    >>> import diptych as ms
    >>> ms.nn.Conv2d(3, 8, 3)(ms.ops.ones((1, 3, 16, 16))).shape
    (1, 8, 16, 16)
    """

    _rank, _op = 2, "conv2d"

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
        data_format: str = "NCHW",
        dtype: Any = None,
    ) -> None:
        _check_format("Conv2d", data_format, "NCHW")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip


class Conv3d(_Convolution):
    """3-D convolution: (N, C, D, H, W) to (N, out_channels, D', H', W').

    weight (out, in / group, kd, kh, kw); the settings are those of Conv2d with three axes.

    >>> import diptych as ms
    >>> ms.nn.Conv3d(3, 8, 3, stride=2)(ms.ops.ones((1, 3, 4, 6, 6))).shape
    (1, 8, 2, 3, 3)
    """

    _rank, _op = 3, "conv3d"

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
        data_format: str = "NCDHW",
        dtype: Any = None,
    ) -> None:
        _check_format("Conv3d", data_format, "NCDHW")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip


class _Transposed(_Convolution):
    """A convolution's gradient as a layer: the pad mode says how large the result is."""

    _is_transposed = True

    def _set_output_padding(self, output_padding: Any) -> None:
        cls = type(self).__name__
        self.output_padding = each_axis(cls, "output_padding", output_padding, self._rank, 0)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise ValueError(
                f"For '{cls}', 'output_padding' must be 0 when 'pad_mode' is {self.pad_mode!r}, "
                f"but got {output_padding!r}"
            )

    def _cuts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(what to cut at begin and end of each axis, what to add at the end)."""
        if self.pad_mode == "pad":
            return self._pads, self.output_padding
        cut: list[int] = []
        added: list[int] = []
        for k, s, d in zip(self.kernel_size, self.stride, self.dilation, strict=True):
            over = (k - 1) * d + 1 - s  # beyond size * stride places
            wanted = max(over, 0) if self.pad_mode == "same" else 0
            cut += [wanted // 2, wanted - wanted // 2]
            added.append(max(-over, 0))
        return tuple(cut), tuple(added)

    def construct(self, x: Tensor) -> Tensor:
        cut, added = self._cuts()
        return self._function(
            x,
            self._kernel(),
            self.bias,
            stride=self.stride,
            padding=cut,
            output_padding=added,
            groups=self.group,
            dilation=self.dilation,
        )


class Conv1dTranspose(_Transposed):
    """Transposed 1-D convolution: (N, C, L) to (N, out_channels, L').

    The weight is (in_channels, out_channels / group, 1, kernel_size), as MindSpore stores it. The
    settings are those of Conv2dTranspose, without ``output_padding``.

    >>> import diptych as ms
    >>> net = ms.nn.Conv1dTranspose(3, 8, 4, stride=2)
    >>> net(ms.ops.ones((1, 3, 16))).shape, net.weight.shape
    ((1, 8, 32), (3, 8, 1, 4))
    """

    _rank, _op = 1, "conv1d_transpose"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._set_output_padding(0)


class Conv2dTranspose(_Transposed):
    """Transposed 2-D convolution: (N, C, H, W) to (N, out_channels, H', W').

    Args:
        kernel_size, stride, dilation: int, or (h, w).
        pad_mode: "same" gives H * stride places; "valid" all, H * stride + max(span - stride, 0)
            with span = dilation (kernel - 1) + 1; "pad" cuts ``padding`` and adds
            ``output_padding``: (H - 1) * stride + span - begin - end + output_padding.
        padding: with "pad": int, (h, w), or (top, bottom, left, right).
        output_padding: with "pad": int, or (h, w), below stride or dilation.
        group: number of groups of channels.
        weight_init, bias_init: None: uniform in +-1 / sqrt(out / group * kh * kw); the weight is
            (in_channels, out_channels / group, kh, kw).

    >>> import diptych as ms
    >>> ms.nn.Conv2dTranspose(3, 8, 4, stride=2)(ms.ops.ones((1, 3, 8, 8))).shape
    (1, 8, 16, 16)
    """

    _rank, _op = 2, "conv2d_transpose"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip
        self._set_output_padding(output_padding)


class Conv3dTranspose(_Transposed):
    """Transposed 3-D convolution: (N, C, D, H, W) to (N, out_channels, D', H', W').

    weight (in_channels, out_channels / group, kd, kh, kw); the settings are those of
    Conv2dTranspose with three axes.

    >>> import diptych as ms
    >>> ms.nn.Conv3dTranspose(3, 8, 2, stride=2)(ms.ops.ones((1, 3, 2, 4, 4))).shape
    (1, 8, 4, 8, 8)
    """

    _rank, _op = 3, "conv3d_transpose"

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
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: Any = None,
    ) -> None:
        _check_format("Conv3dTranspose", data_format, "NCDHW")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip
        self._set_output_padding(output_padding)
