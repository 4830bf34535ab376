"""Pictures read between their pixels: crops of boxes, and convolution at learnt places."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import layers
from .primitive import wrapped

__all__ = ["crop_and_resize", "deformable_conv2d"]

_table = op_table
Read = tuple[Tensor, Tensor, Tensor]  # row, column, weight


def _corners(y: Tensor, x: Tensor) -> list[Read]:
    """The four pixels around the places (y, x), and what they weigh."""
    top, left = _table["floor"](y), _table["floor"](x)
    down, right = y - top, x - left
    return [
        (top, left, (1 - down) * (1 - right)),
        (top, left + 1, (1 - down) * right),
        (top + 1, left, down * (1 - right)),
        (top + 1, left + 1, down * right),
    ]


def _places(low: Tensor, high: Tensor, count: int, size: int) -> Tensor:
    """``count`` places (n, count) spread from low to high (n), parts of an axis of ``size``."""
    first, last = (_table["expand_dims"](v, 1) * (size - 1) for v in (low, high))
    if count == 1:
        return (first + last) * 0.5
    steps = _table["arange"](0, count, 1, low.dtype)
    return first + steps * ((last - first) / (count - 1))


def crop_and_resize(
    image: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Parts of pictures, all brought to one size: (n, crop height, crop width, channels), float32.

    Args:
        image: (batch, height, width, channels), any numbers.
        boxes: (n, 4), y0, x0, y1, x1 in parts of the picture: 0 is the first pixel, 1 the last. A
            box may be turned around or reach beyond the picture.
        box_indices: (n,), the picture that each box belongs to.
        crop_size: two ints.
        method: "bilinear" or "nearest".
        extrapolation_value: stands where a box reaches beyond the picture.

    >>> from diptych import Tensor, ops
    >>> picture = ops.arange(9).reshape((1, 3, 3, 1))
    >>> boxes = Tensor([[0.0, 0.0, 0.5, 1.0]])
    >>> ops.crop_and_resize(picture, boxes, Tensor([0]), (2, 2))[..., 0].tolist()
    [[[0.0, 2.0], [3.0, 5.0]]]
    """
    op = "crop_and_resize"
    if image.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(
            f"{op}: image has shape {image.shape}, boxes {boxes.shape}; they must be (batch, "
            "height, width, channels) and (n, 4)"
        )
    if box_indices.shape != boxes.shape[:1]:
        raise ValueError(f"{op}: box_indices has shape {box_indices.shape}; it must be (n,)")
    if len(crop_size) != 2 or min(crop_size) <= 0:
        raise ValueError(f"{op}: crop_size is {crop_size}; it must be two positive ints")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"{op}: method is {method!r}; it must be 'bilinear' or 'nearest'")
    _, height, width, channels = image.shape
    y0, x0, y1, x1 = _table["unstack"](boxes, 1)
    y = _places(y0, y1, crop_size[0], height).expand_dims(2)
    x = _places(x0, x1, crop_size[1], width).expand_dims(1)
    if method == "bilinear":
        reads: list[Any] = _corners(y, x)
    else:
        reads = [(_table["floor"](y + 0.5), _table["floor"](x + 0.5), None)]
    pixels = image.reshape((-1, channels)).astype(_core.float32)
    start = box_indices.astype(_core.int64).reshape((-1, 1, 1)) * (height * width)
    crop: Any = 0
    for row, column, weight in reads:
        row = _table["clamp"](row, 0, height - 1).astype(_core.int64)
        column = _table["clamp"](column, 0, width - 1).astype(_core.int64)
        part = _table["gather"](pixels, start + row * width + column, 0)
        crop = crop + (part if weight is None else part * weight.expand_dims(-1))
    inside = (y >= 0) & (y <= height - 1) & (x >= 0) & (x <= width - 1)
    return _table["where"](inside.expand_dims(-1), crop, extrapolation_value)


def _taps(size: int, kernel: int, pads: tuple[int, int], stride: int, dilation: int) -> Tensor:
    """Where a kernel reads along an axis: (kernel, results)."""
    count = (size + sum(pads) - (kernel - 1) * dilation - 1) // stride + 1
    taps = _table["arange"](0, kernel, 1, _core.float32).expand_dims(1) * dilation
    return taps + _table["arange"](0, max(count, 0), 1, _core.float32) * stride - pads[0]


def _pair(op: str, name: str, four: Any) -> tuple[int, int]:
    """The last two of (1, 1, height, width)."""
    values = tuple(four)
    if len(values) != 4 or values[:2] != (1, 1) or min(values) <= 0:
        raise ValueError(f"{op}: {name} is {four}; it must be (1, 1, height, width), all positive")
    return values[2], values[3]


def _deformable_offsets(
    x: Tensor, offsets: Tensor, strides: Any = (1, 1, 1, 1), pads: Any = (0, 0, 0, 0),
    ksize: Any = (1, 1), dilations: Any = (1, 1, 1, 1), data_format: str = "NCHW",
    deformable_groups: int = 1, modulated: bool = True,
) -> Tensor:  # fmt: skip
    """What deformable_conv2d multiplies: (n, c, result height * kernel height, ... width)."""
    op, (kh, kw), groups = "deformable_conv2d", ksize, deformable_groups
    if data_format != "NCHW" or not modulated:
        raise ValueError(
            f"{op}: data_format is {data_format!r}, modulated {modulated}; they must be 'NCHW' and "
            "True"
        )
    if x.ndim != 4 or len(pads) != 4 or groups <= 0 or x.shape[1] % groups:
        raise ValueError(
            f"{op}: x has shape {x.shape}, padding is {pads}, deformable_groups {groups}; they "
            "must be (n, c, h, w), four ints, and a divisor of c"
        )
    (n, c, h, w), stride = x.shape, _pair(op, "strides", strides)
    dilation = _pair(op, "dilations", dilations)
    y = _taps(h, kh, tuple(pads[:2]), stride[0], dilation[0])
    across = _taps(w, kw, tuple(pads[2:]), stride[1], dilation[1])
    oh, ow = y.shape[1], across.shape[1]
    want = (n, 3 * groups * kh * kw, oh, ow)
    if offsets.shape != want:
        raise ValueError(f"{op}: offsets has shape {offsets.shape}; it must be {want}")
    parts = offsets.reshape((n, 3, groups, kh, kw, oh, ow))
    right, down, mask = _table["unstack"](parts, 1)
    y = down + y.reshape((kh, 1, oh, 1))
    across = right + across.reshape((1, kw, 1, ow))
    pixels = x.reshape((n * groups, c // groups, h * w)).transpose((0, 2, 1))
    found: Any = 0
    for row, column, weight in _corners(y, across):
        inside = (row >= 0) & (row <= h - 1) & (column >= 0) & (column <= w - 1)
        place = _table["clamp"](row, 0, h - 1) * w + _table["clamp"](column, 0, w - 1)
        place = place.astype(_core.int64).reshape((n * groups, -1))
        weight = _table["where"](inside, weight * mask, 0.0).reshape((n * groups, -1, 1))
        found = found + _table["gather"](pixels, place, 1, 1) * weight
    found = found.reshape((n, groups, kh, kw, oh, ow, c // groups))
    return found.transpose((0, 1, 6, 4, 2, 5, 3)).reshape((n, c, oh * kh, ow * kw))


def deformable_conv2d(
    x: Tensor,
    weight: Tensor,
    offsets: Tensor,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    bias: Tensor | None = None,
    dilations: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """Convolution whose taps are moved by offsets and weighed by a mask (Zhu et al. 2019, version
    2): (n, out, height, width).

    Args:
        x: (n, c, h, w), read between pixels by bilinear weights; 0 outside.
        weight: (out, c / groups, kernel height, kernel width).
        offsets: (n, 3 * deformable_groups * kernel height * kernel width, height, width): first by
            how much each tap moves right, then down, then the mask, each for all deformable groups.
        kernel_size: (height, width).
        strides, dilations: (1, 1, height, width).
        padding: (top, bottom, left, right).
        bias: (out,) or None.
        deformable_groups: parts of the channels that have offsets of their own.
        modulated: whether there is a mask; only True exists.

    >>> from diptych import ops
    >>> x, weight = ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2))
    >>> offsets = ops.concat([ops.zeros((1, 8, 2, 2)), ops.ones((1, 4, 2, 2))], 1)
    >>> ops.deformable_conv2d(x, weight, offsets, (2, 2), (1, 1, 1, 1), (0, 0, 0, 0)).tolist()
    [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    kernel = tuple(kernel_size)
    if weight.ndim != 4 or weight.shape[2:] != kernel:
        raise ValueError(
            f"deformable_conv2d: weight has shape {weight.shape}, kernel_size is {kernel_size}; "
            "the last two sizes must be the kernel's"
        )
    taken = _deformable_offsets(
        x, offsets, strides, padding, kernel, dilations, "NCHW", deformable_groups, modulated
    )
    return layers.conv2d(taken, weight, bias, kernel, groups=groups)


_OFFSETS = ("strides", "pads", "ksize", "dilations", "data_format", "deformable_groups",
            "modulated")  # fmt: skip
CropAndResize = wrapped("CropAndResize", crop_and_resize, "method", "extrapolation_value")
DeformableOffsets = wrapped("DeformableOffsets", _deformable_offsets, *_OFFSETS)
__all__ += ["CropAndResize", "DeformableOffsets"]
