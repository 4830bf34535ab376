"""Pooling layers over ops.*_pool*, with MindSpore's defaults."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell
from .check import check_bool, check_choice, check_number, check_positive, each_axis

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


def _with_batch(function: Any, x: Tensor, rank: int) -> Any:
    """function(x), where x may lack the batch axis before its channels and ``rank`` sizes."""
    if x.ndim != rank + 1:
        return function(x)
    out = function(ops.expand_dims(x, 0))
    return tuple(y[0] for y in out) if isinstance(out, tuple) else out[0]


class _Pool(Cell):
    """What the pools share; a subclass sets ``_rank`` and ``_op``."""

    _rank: int
    _op: str

    def __init__(
        self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, ceil_mode: bool
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        self.kernel_size = each_axis(cls, "kernel_size", kernel_size, self._rank)
        self.stride = each_axis(cls, "stride", stride, self._rank)
        self.pad_mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
        check_choice(cls, "pad_mode", self.pad_mode, ("valid", "same", "pad"))
        check_bool(cls, ceil_mode=ceil_mode)
        self.padding = each_axis(cls, "padding", padding, self._rank, 0)
        if self.pad_mode != "pad" and any(self.padding):
            raise ValueError(
                f"For '{cls}', 'padding' must be 0 when 'pad_mode' is {self.pad_mode!r}, but got "
                f"{padding!r}"
            )
        self.ceil_mode = ceil_mode
        self._function = getattr(ops, self._op)

    def _settings(self) -> dict[str, Any]:
        return {}

    def _pool(self, x: Tensor) -> Any:
        return self._function(
            x,
            self.kernel_size,
            self.stride,
            padding=self.padding if self.pad_mode == "pad" else 0,
            pad_mode=self.pad_mode,
            ceil_mode=self.ceil_mode,
            **self._settings(),
        )

    def construct(self, x: Tensor) -> Any:
        return _with_batch(self._pool, x, self._rank)

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
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        self.dilation = each_axis(type(self).__name__, "dilation", dilation, self._rank)
        check_bool(type(self).__name__, return_indices=return_indices)
        self.return_indices = return_indices

    def _settings(self) -> dict[str, Any]:
        return {"dilation": self.dilation, "return_indices": self.return_indices}


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
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode)
        check_bool(type(self).__name__, count_include_pad=count_include_pad)
        if divisor_override is not None:
            check_positive(type(self).__name__, divisor_override=divisor_override)
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _settings(self) -> dict[str, Any]:
        return {
            "count_include_pad": self.count_include_pad,
            "divisor_override": self.divisor_override,
        }


def _check_format(cls: str, data_format: str) -> None:
    if data_format != "NCHW":
        raise ValueError(
            f"For '{cls}', 'data_format' {data_format!r} is not available; channels stand before "
            "the sizes (NCHW)"
        )


class MaxPool1d(_MaxPool):
    """Largest value of windows of (N, C, L) or (C, L). The settings are those of MaxPool2d.

    >>> import diptych as ms
    >>> ms.nn.MaxPool1d(2, 2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[3.0, 2.0]]]
    """

    _rank, _op = 1, "max_pool1d"


class MaxPool2d(_MaxPool):
    """Largest value of windows of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, dilation: int, or (h, w).
        pad_mode: "valid" takes whole windows only, "same" gives ceil(H / stride) places, "pad"
            pads by ``padding``; what is padded never wins.
        padding: with "pad": int, or (h, w).
        return_indices: the result is (values, their positions in the plane of each channel).
        ceil_mode: windows that begin inside may end outside.
        data_format: "NCHW".

    >>> import diptych as ms
    >>> ms.nn.MaxPool2d(2, 2)(ms.ops.ones((1, 1, 4, 4))).shape
    (1, 1, 2, 2)
    """

    _rank, _op = 2, "max_pool2d"

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        _check_format("MaxPool2d", data_format)
        super().__init__(
            kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )


class MaxPool3d(_MaxPool):
    """Largest value of windows of (N, C, D, H, W) or (C, D, H, W). The settings are those of
    MaxPool2d.

    >>> import diptych as ms
    >>> ms.nn.MaxPool3d(2, 2)(ms.ops.ones((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    _rank, _op = 3, "max_pool3d"


class AvgPool1d(_AvgPool):
    """Mean of windows of (N, C, L) or (C, L). The settings are those of AvgPool2d.

    >>> import diptych as ms
    >>> ms.nn.AvgPool1d(2, 2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[2.0, 1.0]]]
    """

    _rank, _op = 1, "avg_pool1d"

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """Mean of windows of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride: int, or (h, w).
        pad_mode: "valid" takes whole windows only, "same" gives ceil(H / stride) places and counts
            elements of the input only, "pad" pads by ``padding`` zeros.
        padding: with "pad": int, or (h, w).
        ceil_mode: windows that begin inside may end outside.
        count_include_pad: whether padded zeros count in the mean.
        divisor_override: sums are divided by this instead of the count, or None.
        data_format: "NCHW".

    >>> import diptych as ms
    >>> ms.nn.AvgPool2d(2, 2)(ms.ops.ones((1, 1, 4, 4))).shape
    (1, 1, 2, 2)
    """

    _rank, _op = 2, "avg_pool2d"

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = 1,
        pad_mode: str = "valid",
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        _check_format("AvgPool2d", data_format)
        super().__init__(
            kernel_size, stride, pad_mode, padding, ceil_mode, count_include_pad, divisor_override
        )


class AvgPool3d(_AvgPool):
    """Mean of windows of (N, C, D, H, W) or (C, D, H, W). The settings are those of AvgPool2d.

    >>> import diptych as ms
    >>> ms.nn.AvgPool3d(2, 2)(ms.ops.ones((1, 1, 4, 4, 4))).shape
    (1, 1, 2, 2, 2)
    """

    _rank, _op = 3, "avg_pool3d"


class _LPPool(Cell):
    """(sum of x^p over windows)^(1/p)."""

    _rank: int

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_number(cls, norm_type=norm_type)
        if norm_type <= 0:
            raise ValueError(f"For '{cls}', 'norm_type' must be positive, but got {norm_type}")
        check_bool(cls, ceil_mode=ceil_mode)
        self.norm_type, self.ceil_mode = norm_type, ceil_mode
        self.kernel_size = each_axis(cls, "kernel_size", kernel_size, self._rank)
        self.stride = self.kernel_size
        if stride is not None:
            self.stride = each_axis(cls, "stride", stride, self._rank)

    def _pool(self, x: Tensor) -> Tensor:
        pool = ops.avg_pool1d if self._rank == 1 else ops.avg_pool2d
        powers = ops.pow(x, self.norm_type)
        sums = pool(
            powers, self.kernel_size, self.stride, ceil_mode=self.ceil_mode, divisor_override=1
        )
        return ops.pow(sums, 1 / self.norm_type)

    def construct(self, x: Tensor) -> Tensor:
        return _with_batch(self._pool, x, self._rank)

    def extend_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class LPPool1d(_LPPool):
    """(sum of x^norm_type)^(1/norm_type) over windows of (N, C, L) or (C, L); ``stride`` None: the
    windows touch.

    >>> import diptych as ms
    >>> ms.nn.LPPool1d(2, 2)(ms.Tensor([[[3.0, 4.0]]])).tolist()
    [[[5.0]]]
    """

    _rank = 1


class LPPool2d(_LPPool):
    """(sum of x^norm_type)^(1/norm_type) over windows of (N, C, H, W) or (C, H, W); ``stride``
    None: the windows touch.

    >>> import diptych as ms
    >>> ms.nn.LPPool2d(1, 2)(ms.ops.ones((1, 1, 2, 2))).tolist()
    [[[[4.0]]]]
    """

    _rank = 2


class _Adaptive(Cell):
    """What the adaptive pools share; a subclass sets ``_rank`` and ``_op``."""

    _rank: int
    _op: str

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        sizes = output_size if isinstance(output_size, tuple | list) else (output_size,)
        for size in sizes:
            if size is not None or self._rank == 1:
                check_positive(type(self).__name__, output_size=size)
        if len(sizes) not in (1, self._rank):
            raise ValueError(
                f"For '{type(self).__name__}', 'output_size' must be an int or {self._rank} of "
                f"them, but got {output_size!r}"
            )
        self.output_size = output_size
        self._function = getattr(ops, self._op)

    def _pool(self, x: Tensor) -> Any:
        return self._function(x, self.output_size)

    def construct(self, input: Tensor) -> Any:
        return _with_batch(self._pool, input, self._rank)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        check_bool(type(self).__name__, return_indices=return_indices)
        self.return_indices = return_indices

    def _pool(self, x: Tensor) -> Any:
        return self._function(x, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_Adaptive):
    """Mean over windows of (N, C, L) chosen so that the result has ``output_size`` places.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveAvgPool1d(2)(ms.ops.ones((1, 1, 6))).shape
    (1, 1, 2)
    """

    _rank, _op = 1, "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """Mean over windows of (N, C, H, W) chosen so that the result has ``output_size`` = (H, W);
    None keeps a size.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveAvgPool2d((None, 2))(ms.ops.ones((1, 1, 5, 6))).shape
    (1, 1, 5, 2)
    """

    _rank, _op = 2, "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """Mean over windows of (N, C, D, H, W) chosen so that the result has ``output_size`` =
    (D, H, W); None keeps a size.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveAvgPool3d(1)(ms.ops.ones((1, 1, 5, 6, 7))).shape
    (1, 1, 1, 1, 1)
    """

    _rank, _op = 3, "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_Adaptive):
    """Largest value of windows of (N, C, L) chosen so that the result has ``output_size`` places.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveMaxPool1d(2)(ms.Tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
    [[[3.0, 2.0]]]
    """

    _rank, _op = 1, "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Largest value of windows of (N, C, H, W) chosen so that the result has ``output_size`` =
    (H, W); None keeps a size. ``return_indices``: also their positions in the plane.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveMaxPool2d(2)(ms.ops.ones((1, 1, 5, 6))).shape
    (1, 1, 2, 2)
    """

    _rank, _op = 2, "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Largest value of windows of (N, C, D, H, W) chosen so that the result has ``output_size`` =
    (D, H, W); None keeps a size. ``return_indices``: also their positions in the volume.

    >>> import diptych as ms
    >>> ms.nn.AdaptiveMaxPool3d((1, 2, 2))(ms.ops.ones((1, 1, 5, 6, 7))).shape
    (1, 1, 1, 2, 2)
    """

    _rank, _op = 3, "adaptive_max_pool3d"


class _MaxUnpool(Cell):
    """What MaxUnpool1d, 2d and 3d share; a subclass sets ``_rank``."""

    _rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        cls, n = type(self).__name__, self._rank
        self.kernel_size = each_axis(cls, "kernel_size", kernel_size, n)
        self.stride = self.kernel_size if stride is None else each_axis(cls, "stride", stride, n)
        self.padding = each_axis(cls, "padding", padding, n, 0)

    def _sizes(self, x: Tensor, output_size: Any) -> tuple[int, ...]:
        steps = zip(
            x.shape[-self._rank :], self.stride, self.padding, self.kernel_size, strict=True
        )
        usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in steps)
        if output_size is None:
            return usual
        sizes = tuple(output_size)[-self._rank :]
        near = zip(sizes, usual, self.stride, strict=False)
        if len(sizes) != self._rank or any(abs(n - u) >= s for n, u, s in near):
            raise ValueError(
                f"For '{type(self).__name__}', 'output_size' must be nearer to {usual} than "
                f"'stride' {self.stride}, but got {output_size!r}"
            )
        return sizes

    def construct(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        if x.ndim not in (self._rank + 1, self._rank + 2) or x.shape != indices.shape:
            raise ValueError(
                f"For '{type(self).__name__}', the input must have {self._rank + 2} axes ("
                f"{self._rank + 1} without a batch) and 'indices' its shape, but got {x.shape} and "
                f"{indices.shape}"
            )
        sizes, lead = self._sizes(x, output_size), x.shape[: -self._rank]
        places = math.prod(sizes)
        zero = ops.zeros((*lead, places), x.dtype)
        flat = ops.tensor_scatter_elements(
            zero, indices.reshape((*lead, -1)), x.reshape((*lead, -1)), len(lead)
        )
        return flat.reshape((*lead, *sizes))

    def extend_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Undoes MaxPool1d as far as it goes. The settings are those of MaxUnpool2d.

    >>> import diptych as ms
    >>> net = ms.nn.MaxUnpool1d(2)
    >>> net(ms.Tensor([[[5.0, 7.0]]]), ms.Tensor([[[1, 2]]], ms.int32)).tolist()
    [[[0.0, 5.0, 7.0, 0.0]]]
    """

    _rank = 1


class MaxUnpool2d(_MaxUnpool):
    """Undoes MaxPool2d as far as it goes: ``net(x, indices, output_size=None)`` puts each element
    of x (N, C, H, W) at the place that indices name in its plane, among zeros.

    Args:
        kernel_size, stride, padding: those of the pool; ``stride`` None is kernel_size. They give
            the size (H - 1) stride - 2 padding + kernel_size, from which ``output_size`` may differ
            by less than stride.

    >>> import diptych as ms
    >>> x = ms.ops.rand(1, 1, 4, 4)
    >>> values, places = ms.nn.MaxPool2d(2, 2, return_indices=True)(x)
    >>> ms.nn.MaxUnpool2d(2)(values, places).shape
    (1, 1, 4, 4)
    """

    _rank = 2


class MaxUnpool3d(_MaxUnpool):
    """Undoes MaxPool3d as far as it goes. The settings are those of MaxUnpool2d.

    >>> import diptych as ms
    >>> values, places = ms.nn.MaxPool3d(2, 2, return_indices=True)(ms.ops.ones((1, 1, 2, 2, 2)))
    >>> ms.nn.MaxUnpool3d(2)(values, places).sum().item()
    1.0
    """

    _rank = 3
