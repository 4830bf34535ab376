"""Boxes of detectors, sampled classes, windows; and primitive classes over several axes: pooling,
convolution and dropout that shows its mask."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import layers
from .primitive import wrapped
from .random import dropout, rand

__all__ = [
    "blackman_window",
    "bounding_box_decode",
    "bounding_box_encode",
    "check_valid",
    "log_uniform_candidate_sampler",
    "uniform_candidate_sampler",
]

_table = op_table


# ---- boxes (n, 4): x0, y0, x1, y1, the last row and column belonging to the box


def _check_boxes(op: str, anchor: Tensor, other: Tensor) -> None:
    if anchor.ndim != 2 or anchor.shape[1] != 4 or other.shape != anchor.shape:
        raise ValueError(
            f"{op}: boxes have shapes {anchor.shape} and {other.shape}; both must be (n, 4)"
        )


def _centres(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Centres (n, 2) and sizes (n, 2)."""
    low, high = boxes[:, :2], boxes[:, 2:]
    return (low + high) * 0.5, high - low + 1


def _four(op: str, name: str, values: Any, like: Tensor) -> Tensor:
    if not isinstance(values, tuple | list) or len(values) != 4:
        raise TypeError(f"{op}: {name} is {values!r}; it must be four numbers")
    return Tensor([float(v) for v in values]).astype(like.dtype)


def bounding_box_encode(
    anchor_box: Tensor,
    groundtruth_box: Tensor,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """Where boxes lie as seen from anchors: ((centre difference) / size, log(size ratio)) of both
    axes, minus means and over stds (Girshick et al. 2014).

    >>> import diptych as ms
    >>> box = ms.Tensor([[0.0, 0.0, 3.0, 3.0]])
    >>> ms.ops.bounding_box_encode(box, box + 2).tolist()
    [[0.5, 0.5, 0.0, 0.0]]
    """
    _check_boxes("bounding_box_encode", anchor_box, groundtruth_box)
    at, size = _centres(anchor_box)
    to, wanted = _centres(groundtruth_box)
    deltas = _table["concat"]([(to - at) / size, _table["log"](wanted / size)], 1)
    shift = _four("bounding_box_encode", "means", means, deltas)
    return (deltas - shift) / _four("bounding_box_encode", "stds", stds, deltas)


def bounding_box_decode(
    anchor_box: Tensor,
    deltas: Tensor,
    max_shape: Any,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """The boxes that bounding_box_encode saw, kept inside an image (height, width) ``max_shape``;
    sizes change by at most the factor 1 / wh_ratio_clip.

    >>> import diptych as ms
    >>> box, moved = ms.Tensor([[0.0, 0.0, 3.0, 3.0]]), ms.Tensor([[0.5, 0.5, 0.0, 0.0]])
    >>> ms.ops.bounding_box_decode(box, moved, (100, 100)).tolist()
    [[2.0, 2.0, 5.0, 5.0]]
    """
    op = "bounding_box_decode"
    _check_boxes(op, anchor_box, deltas)
    height, width = max_shape[:2]
    moved = deltas * _four(op, "stds", stds, deltas) + _four(op, "means", means, deltas)
    limit = abs(math.log(wh_ratio_clip))
    at, size = _centres(anchor_box)
    size_now = size * _table["exp"](_table["clamp"](moved[:, 2:], -limit, limit))
    centre = at + size * moved[:, :2]
    low, high = centre - (size_now - 1) * 0.5, centre + (size_now - 1) * 0.5
    most = Tensor([float(width - 1), float(height - 1)] * 2).astype(deltas.dtype)
    both = _table["concat"]([low, high], 1)
    return _table["minimum"](_table["relu"](both), most)


def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """Whether boxes (n, 4) lie within an image of img_metas (height, width, ratio): bool (n,).

    >>> import diptych as ms
    >>> boxes = ms.Tensor([[0.0, 0.0, 3.0, 3.0], [0.0, 0.0, 3.0, 9.0]])
    >>> ms.ops.check_valid(boxes, ms.Tensor([4.0, 4.0, 2.0])).tolist()
    [True, False]
    """
    if bboxes.ndim != 2 or bboxes.shape[1] != 4 or img_metas.shape != (3,):
        raise ValueError(
            f"check_valid: bboxes and img_metas have shapes {bboxes.shape} and {img_metas.shape}; "
            "they must be (n, 4) and (3,)"
        )
    most = img_metas[:2] * img_metas[2] - 1
    limit = _table["stack"]([most[1], most[0]])
    inside = _table["logical_and"](bboxes[:, :2] >= 0, bboxes[:, 2:] <= limit)
    return _table["all"](inside, 1)


# ---- classes, distances, windows


def _check_sampler(
    op: str, true_classes: Tensor, num_true: int, num_sampled: int, unique: bool, range_max: int
) -> None:
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ValueError(
            f"{op}: true_classes has shape {true_classes.shape}; it must be (n, {num_true})"
        )
    if num_sampled <= 0 or range_max <= 0 or (unique and num_sampled > range_max):
        raise ValueError(
            f"{op}: num_sampled is {num_sampled} and range_max {range_max}; both must be positive, "
            "and range_max the larger one where classes are unique"
        )


def uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """``num_sampled`` of the classes 0 ... range_max - 1, each as likely, and how often each true
    class (n, num_true) and each sampled one is expected among them.

    Args:
        unique: no class is drawn twice.
        seed: 0 draws from the common state, else from one of its own.
        remove_accidental_hits: true classes are not drawn.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> [part.shape for part in ops.uniform_candidate_sampler(ms.Tensor([[1]]), 1, 3, True, 10)]
    [(3,), (1, 1), (3,)]
    """
    _check_sampler("uniform_candidate_sampler", true_classes, num_true, num_sampled, unique,
                   range_max)  # fmt: skip
    hits = _table["zeros"]((range_max,))
    if remove_accidental_hits:
        hot = _table["one_hot"](true_classes.reshape(-1), range_max).astype(_core.float32)
        hits = hot.amax(0)
    start = seed or None
    order = _table["argsort"](rand(range_max, seed=start) + hits)
    if not unique:
        left = range_max - hits.sum()
        again = None if start is None else start + 1
        places = _table["floor"](rand(num_sampled, seed=again) * left)
        order = _table["take"](order, places.astype(_core.int64))
    drawn = order[:num_sampled].astype(true_classes.dtype)
    expected = num_sampled / range_max
    return (
        drawn,
        _table["full"](true_classes.shape, expected),
        _table["full"]((num_sampled,), expected),
    )


def log_uniform_candidate_sampler(
    true_classes: Tensor,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """uniform_candidate_sampler for classes sorted by frequency: class k has the probability
    p = log((k + 2) / (k + 1)) / log(range_max + 1).

    A class is expected num_sampled * p times, or with ``unique`` 1 - (1 - p)^tries times, where
    ``tries`` draws with repetition were needed for that many different classes.

    >>> import diptych as ms
    >>> drawn, _, _ = ms.ops.log_uniform_candidate_sampler(ms.Tensor([[0, 3]]), 2, 5, True, 5)
    >>> sorted(drawn.tolist())
    [0, 1, 2, 3, 4]
    """
    _check_sampler("log_uniform_candidate_sampler", true_classes, num_true, num_sampled, unique,
                   range_max)  # fmt: skip
    log, scale, start = _table["log"], 1 / math.log(range_max + 1), seed or None

    def chance(classes: Tensor) -> Tensor:
        k = classes.astype(_core.float64)
        return (log(k + 2) - log(k + 1)) * scale

    again = None if start is None else start + 1
    if unique:
        # Exponential clocks of rates p ring in the order of draws without repetition.
        every = chance(_table["arange"](0, range_max, 1, _core.int64))
        rings = -log(1 - rand(range_max, seed=start, dtype=_core.float64)) / every
        drawn = _table["argsort"](rings)[:num_sampled]
        # Draws between two new classes fail with the probability of those drawn already.
        fails = _table["cumsum"](chance(drawn), 0)[: num_sampled - 1]
        waits = log(1 - rand(num_sampled - 1, seed=again, dtype=_core.float64)) / log(fails)
        tries = num_sampled + _table["floor"](waits).sum()
        counts = [1 - _table["pow"](1 - chance(c), tries) for c in (true_classes, drawn)]
    else:
        u = rand(num_sampled, seed=start, dtype=_core.float64)
        places = _table["floor"](_table["exp"](u / scale)) - 1
        drawn = _table["clamp"](places, 0, range_max - 1).astype(_core.int64)
        counts = [chance(c) * num_sampled for c in (true_classes, drawn)]
    of_true, of_drawn = (c.astype(_core.float32) for c in counts)
    return drawn.astype(true_classes.dtype), of_true, of_drawn


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N) with N = window_length, or one less if not
    ``periodic``.

    >>> import diptych as ms
    >>> [round(v, 2) for v in ms.ops.blackman_window(4).tolist()]
    [-0.0, 0.34, 1.0, 0.34]
    """
    n = int(window_length)
    if n < 0:
        raise ValueError(f"blackman_window: window_length is {n}; it must be 0 or more")
    kind = _core.float32 if dtype is None else dtype
    if n == 1:
        return _table["ones"]((1,), kind)
    turns = _table["arange"](0, n, 1, _core.float32) * (2 * math.pi / max(n - (not periodic), 1))
    window = _table["cos"](turns) * -0.5 + _table["cos"](turns * 2) * 0.08 + 0.42
    return window.astype(kind)


# ---- what exists as primitives only


def _channel_dropout(spatial: int) -> Any:
    def run(x: Tensor, keep_prob: float = 0.5) -> tuple[Tensor, Tensor]:
        if not 0 <= keep_prob <= 1:
            raise ValueError(f"keep_prob is {keep_prob}; it must be in [0, 1]")
        lead = x.shape[: x.ndim - spatial]
        drawn = dropout(_table["ones"]((*lead, *(1,) * spatial)), 1 - keep_prob)
        mask = _table["broadcast_to"](drawn != 0, x.shape)
        return (x * drawn).astype(x.dtype, copy=False), mask

    run.__name__ = f"dropout{spatial}d"
    return run


def _dim_map(x: Tensor, src_format: str = "NHWC", dst_format: str = "NCHW") -> Tensor:
    """Where src_format has the axes that stand at the places x (-4 to 3) of dst_format."""
    for name in (src_format, dst_format):
        if name not in ("NHWC", "NCHW"):
            raise ValueError(f"DataFormatDimMap: format {name!r}; legal: 'NHWC', 'NCHW'")
    places = Tensor([src_format.index(c) for c in dst_format], x.dtype)
    return _table["take"](places, _table["remainder"](x, 4))


def _pool3d(
    x: Tensor, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", pad: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int = 0,
) -> Tensor:  # fmt: skip
    return layers.avg_pool3d(
        x, kernel_size, strides, pad, ceil_mode, count_include_pad, divisor_override or None,
        pad_mode=pad_mode.lower(),
    )  # fmt: skip


def _conv3d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, out_channel: int = 0,
    kernel_size: Any = 0, mode: int = 1, pad_mode: str = "valid", pad: Any = 0, stride: Any = 1,
    dilation: Any = 1, group: int = 1,
) -> Tensor:  # fmt: skip
    if mode != 1 or (out_channel and weight.shape[0] != out_channel):
        raise ValueError(
            f"Conv3D: mode is {mode} (legal: 1) and out_channel {out_channel}; the weight has "
            f"{weight.shape[0]}"
        )
    return layers.conv3d(x, weight, bias, stride, pad_mode, pad, dilation, group)


def _conv3d_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, in_channel: int = 0,
    out_channel: int = 0, kernel_size: Any = 0, mode: int = 1, pad_mode: str = "valid",
    pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: int = 1, output_padding: Any = 0,
) -> Tensor:  # fmt: skip
    if mode != 1 or pad_mode not in ("valid", "pad"):
        raise ValueError(
            f"Conv3DTranspose: mode is {mode} and pad_mode {pad_mode!r}; legal: 1, and 'valid' or "
            "'pad'"
        )
    cut = pad if pad_mode == "pad" else 0
    return layers.conv3d_transpose(x, weight, bias, stride, cut, output_padding, group, dilation)


_POOL3D = (
    "kernel_size", "strides", "pad_mode", "pad", "ceil_mode", "count_include_pad",
    "divisor_override",
)  # fmt: skip
_CONV3D = ("kernel_size", "mode", "pad_mode", "pad", "stride", "dilation", "group")
_SAMPLER = ("num_true", "num_sampled", "unique", "range_max", "seed", "remove_accidental_hits")

_CLASSES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "AvgPool3D": (_pool3d, _POOL3D),
    "BoundingBoxDecode": (bounding_box_decode, ("max_shape", "means", "stds", "wh_ratio_clip")),
    "BoundingBoxEncode": (bounding_box_encode, ("means", "stds")),
    "CheckValid": (check_valid, ()),
    "Conv3D": (_conv3d, ("out_channel", *_CONV3D)),
    "Conv3DTranspose": (
        _conv3d_transpose, ("in_channel", "out_channel", *_CONV3D, "output_padding"),
    ),
    "DataFormatDimMap": (_dim_map, ("src_format", "dst_format")),
    "Dropout2D": (_channel_dropout(2), ("keep_prob",)),
    "Dropout3D": (_channel_dropout(3), ("keep_prob",)),
    "Invert": (_table["bitwise_not"], ()),
    "LogUniformCandidateSampler": (log_uniform_candidate_sampler, _SAMPLER[:5]),
    "UniformCandidateSampler": (uniform_candidate_sampler, _SAMPLER),
}  # fmt: skip
for _name, (_target, _start) in _CLASSES.items():
    globals()[_name] = wrapped(_name, _target, *_start)
__all__ += list(_CLASSES)
