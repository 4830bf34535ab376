"""Layers that rearrange or resample the places of images."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell
from .check import check_choice, check_positive

__all__ = [
    "CentralCrop",
    "ChannelShuffle",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "ResizeBilinear",
    "Unfold",
    "Upsample",
]


class PixelShuffle(Cell):
    """(..., C r r, H, W) to (..., C, H r, W r) with r = ``upscale_factor`` (Shi et al. 2016).

    >>> import diptych as ms
    >>> ms.nn.PixelShuffle(2)(ms.ops.ones((1, 8, 3, 3))).shape
    (1, 2, 6, 6)
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        check_positive("PixelShuffle", upscale_factor=upscale_factor)
        self.upscale_factor = upscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)

    def extend_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Cell):
    """(..., C, H r, W r) to (..., C r r, H, W) with r = ``downscale_factor``: undoes PixelShuffle.

    >>> import diptych as ms
    >>> ms.nn.PixelUnshuffle(2)(ms.ops.ones((1, 2, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        check_positive("PixelUnshuffle", downscale_factor=downscale_factor)
        self.downscale_factor = downscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)

    def extend_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Cell):
    """The channels of (..., C, H, W), in ``groups`` groups, dealt out in turn (Zhang et al. 2018).

    >>> import diptych as ms
    >>> ms.nn.ChannelShuffle(2)(ms.ops.ones((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        check_positive("ChannelShuffle", groups=groups)
        self.groups = groups

    def construct(self, x: Tensor) -> Tensor:
        return ops.channel_shuffle(x, self.groups)

    def extend_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Cell):
    """(N, C, spatial) resampled to ``size`` or by ``scale_factor``, as ops.interpolate does.

    Args:
        size, scale_factor: an int (a number), or one an axis; exactly one of them.
        mode: nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area.
        align_corners: whether the corner elements keep their places.
        recompute_scale_factor: coordinates by the quotient of the sizes, not by scale_factor.

    >>> import diptych as ms
    >>> ms.nn.Upsample(scale_factor=2.0, mode="bilinear")(ms.ops.ones((1, 2, 3, 4))).shape
    (1, 2, 6, 8)
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def construct(self, x: Tensor) -> Tensor:
        return ops.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extend_repr(self) -> str:
        return f"size={self.size}, scale_factor={self.scale_factor}, mode={self.mode!r}"


class ResizeBilinear(Cell):
    """(N, C, H, W) resampled to ``size`` or by the int ``scale_factor``, both given at the call.

    ``half_pixel_centers``: pixels are squares around their places, else points at them.

    >>> import diptych as ms
    >>> ms.nn.ResizeBilinear()(ms.ops.ones((1, 2, 3, 4)), size=(6, 5)).shape
    (1, 2, 6, 5)
    """

    def __init__(self, half_pixel_centers: bool = False) -> None:
        super().__init__()
        self.half_pixel_centers = half_pixel_centers

    def construct(
        self,
        x: Tensor,
        size: Any = None,
        scale_factor: int | None = None,
        align_corners: bool = False,
    ) -> Tensor:
        if (size is None) == (scale_factor is None):
            raise ValueError("For 'ResizeBilinear', give either 'size' or 'scale_factor'")
        if x.ndim != 4:
            raise ValueError(
                f"For 'ResizeBilinear', the input must have 4 axes, but its shape is {x.shape}"
            )
        if scale_factor is not None:
            check_positive("ResizeBilinear", scale_factor=scale_factor)
            size = (x.shape[2] * scale_factor, x.shape[3] * scale_factor)
        if align_corners or self.half_pixel_centers:
            return ops.interpolate(x, size, mode="bilinear", align_corners=align_corners)
        return _resize_points(_resize_points(x, 2, size[0]), 3, size[1])


def _resize_points(x: Tensor, axis: int, size: int) -> Tensor:
    """Linear resampling of one axis with element i at i * old / new."""
    n = x.shape[axis]
    places = ops.arange(size, dtype=ops.float32) * (n / size)
    low = ops.floor(places).astype(ops.int64)
    high = ops.minimum(low + 1, n - 1)
    part = (places - low).astype(x.dtype).reshape((-1, *(1,) * (x.ndim - 1 - axis)))
    a, b = ops.index_select(x, axis, low), ops.index_select(x, axis, high)
    return a + (b - a) * part


def _window(cls: str, name: str, value: Any) -> tuple[int, int]:
    """The two middle numbers of [1, rows, columns, 1]."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"For '{cls}', '{name}' must be a tuple or list, but got {value!r}")
    if len(value) != 4 or value[0] != 1 or value[3] != 1:
        raise ValueError(f"For '{cls}', '{name}' must be [1, rows, columns, 1], but got {value!r}")
    check_positive(cls, **{name: value[1]})
    check_positive(cls, **{name: value[2]})
    return value[1], value[2]


class Unfold(Cell):
    """The windows of (N, C, H, W) as channels: (N, kh kw C, rows, columns), places of the window
    outermost.

    ``ksizes``, ``strides``, ``rates`` (dilations) are written [1, rows, columns, 1]; ``padding``
    "valid" takes whole windows only, "same" pads with zeros so that ceil(size / stride) fit.

    >>> import diptych as ms
    >>> net = ms.nn.Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1])
    >>> net(ms.ops.ones((1, 3, 4, 4))).shape
    (1, 12, 2, 2)
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        self.ksizes = _window("Unfold", "ksizes", ksizes)
        self.strides = _window("Unfold", "strides", strides)
        self.rates = _window("Unfold", "rates", rates)
        self.padding = padding.lower() if isinstance(padding, str) else padding
        check_choice("Unfold", "padding", self.padding, ("valid", "same"))

    def construct(self, input_x: Tensor) -> Tensor:
        if input_x.ndim != 4:
            raise ValueError(
                f"For 'Unfold', the input must have 4 axes, but its shape is {input_x.shape}"
            )
        spans = [(k - 1) * r + 1 for k, r in zip(self.ksizes, self.rates, strict=True)]
        if self.padding == "same":
            counts: list[int] = []
            for size, span, step in zip(
                reversed(input_x.shape[2:]), reversed(spans), reversed(self.strides), strict=True
            ):
                total = max((-(-size // step) - 1) * step + span - size, 0)
                counts += [total // 2, total - total // 2]
            input_x = ops.pad(input_x, counts)
        n, c, h, w = input_x.shape
        columns = ops.unfold(input_x, self.ksizes, self.rates, 0, self.strides)
        rows = (h - spans[0]) // self.strides[0] + 1
        kernel = self.ksizes[0] * self.ksizes[1]
        columns = columns.reshape((n, c, kernel, -1))
        return ops.swapaxes(columns, 1, 2).reshape((n, c * kernel, rows, -1))


class Fold(Cell):
    """Columns (N, C kh kw, windows) added up in their windows of (N, C, H, W).

    >>> import diptych as ms
    >>> ms.nn.Fold((4, 4), 2, stride=2)(ms.ops.ones((1, 12, 4))).shape
    (1, 3, 4, 4)
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
        stride: Any = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.settings = (output_size, kernel_size, dilation, padding, stride)

    def construct(self, input: Tensor) -> Tensor:
        return ops.fold(input, *self.settings)


class CentralCrop(Cell):
    """The middle of (C, H, W) or (N, C, H, W), ``central_fraction`` of each size.

    >>> import diptych as ms
    >>> ms.nn.CentralCrop(0.5)(ms.ops.ones((3, 4, 4))).shape
    (3, 2, 2)
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not isinstance(central_fraction, float):
            raise TypeError(
                f"For 'CentralCrop', 'central_fraction' must be a float, but got "
                f"{central_fraction!r}"
            )
        if not 0 < central_fraction <= 1:
            raise ValueError(
                f"For 'CentralCrop', 'central_fraction' must be in (0, 1], but got "
                f"{central_fraction}"
            )
        self.central_fraction = central_fraction

    def construct(self, image: Tensor) -> Tensor:
        if image.ndim not in (3, 4):
            raise ValueError(
                f"For 'CentralCrop', the input must have 3 or 4 axes, but its shape is "
                f"{image.shape}"
            )
        h, w = image.shape[-2:]
        top = math.floor((h - h * self.central_fraction) / 2)
        left = math.floor((w - w * self.central_fraction) / 2)
        return image[..., top : h - top, left : w - left]

    def extend_repr(self) -> str:
        return f"central_fraction={self.central_fraction}"
