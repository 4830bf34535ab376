"""Pooling layers over ops.*_pool*, with MindSpore's defaults."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]


class _Pool(Cell):
    """What the pools share; a subclass sets ``_op``."""

    _op: str

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        **more: Any,
    ) -> None:
        super().__init__()
        if pad_mode.lower() not in ("valid", "same", "pad"):
            raise ValueError(
                f"For '{type(self).__name__}', 'pad_mode' must be 'valid', 'same' or 'pad', "
                f"but got {pad_mode!r}"
            )
        self.kernel_size, self.stride, self.pad_mode = kernel_size, stride, pad_mode.lower()
        self.padding, self.ceil_mode, self.more = padding, ceil_mode, more
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Any:
        return self._function(
            x,
            self.kernel_size,
            self.stride,
            padding=self.padding,
            pad_mode=self.pad_mode,
            ceil_mode=self.ceil_mode,
            **self.more,
        )

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            pad_mode,
            padding,
            ceil_mode,
            dilation=dilation,
            return_indices=return_indices,
        )


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(
            kernel_size,
            stride,
            pad_mode,
            padding,
            ceil_mode,
            count_include_pad=count_include_pad,
            divisor_override=divisor_override,
        )


class MaxPool1d(_MaxPool):
    """Largest value of windows of (N, C, L)."""

    _op = "max_pool1d"


class MaxPool2d(_MaxPool):
    """Largest value of windows of (N, C, H, W).

    >>> import diptych as ms
    >>> ms.nn.MaxPool2d(2, 2)(ms.ops.ones((1, 1, 4, 4))).shape
    (1, 1, 2, 2)
    """

    _op = "max_pool2d"


class MaxPool3d(_MaxPool):
    """Largest value of windows of (N, C, D, H, W)."""

    _op = "max_pool3d"


class AvgPool1d(_AvgPool):
    """Mean of windows of (N, C, L)."""

    _op = "avg_pool1d"


class AvgPool2d(_AvgPool):
    """Mean of windows of (N, C, H, W)."""

    _op = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """Mean of windows of (N, C, D, H, W)."""

    _op = "avg_pool3d"


class _AdaptiveAvgPool(Cell):
    _op: str

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Tensor:
        return self._function(x, self.output_size)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Mean over windows chosen so that the result has ``output_size`` places."""

    _op = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Mean over windows chosen so that the result has ``output_size`` = (H, W)."""

    _op = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Mean over windows chosen so that the result has ``output_size`` = (D, H, W)."""

    _op = "adaptive_avg_pool3d"
