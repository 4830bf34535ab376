"""Convolution, pooling and norms under MindSpore's signatures, over the rank-free table ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv1d_transpose",
    "conv2d_transpose",
    "conv3d_transpose",
    "group_norm",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]

_conv, _conv_transpose = op_table["conv"], op_table["conv_transpose"]
_max_pool, _avg_pool = op_table["max_pool"], op_table["avg_pool"]
_lerp = op_table["lerp"]


def _each(value: Any, n: int) -> tuple[int, ...]:
    """One number an axis."""
    if isinstance(value, int):
        return (value,) * n
    values = tuple(value)
    return values * n if len(values) == 1 else values


def _same(
    sizes: Sequence[int], kernel: tuple[int, ...], stride: tuple[int, ...], dilation: Any
) -> tuple[int, ...]:
    """Begin and end of each axis so that the result has ceil(size / stride) places."""
    out = []
    for n, k, s, d in zip(sizes, kernel, stride, _each(dilation, len(kernel)), strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        out += [total // 2, total - total // 2]
    return tuple(out)


def _check_rank(op: str, x: Any, n: int) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: argument 'input' is of type {type(x).__name__}, not Tensor")
    if x.ndim != n + 2:
        raise ValueError(
            f"{op}: input has shape {x.shape}; it must have {n + 2} axes: batch, channels, "
            f"{n} spatial"
        )


def _padding(op: str, pad_mode: str, padding: Any, same: Any) -> Any:
    """The padding list for a pad mode; ``same()`` gives that of "same"."""
    mode = pad_mode.lower() if isinstance(pad_mode, str) else pad_mode
    if mode == "pad":
        return padding
    if mode not in ("valid", "same"):
        raise ValueError(
            f"{op}: argument 'pad_mode' is {pad_mode!r}; it must be 'pad', 'same' or 'valid'"
        )
    if padding != 0 and any(_each(padding, 1)):
        raise ValueError(
            f"{op}: argument 'padding' is {padding!r}; it must be 0 when pad_mode is {mode!r}"
        )
    return 0 if mode == "valid" else same()


def padding_of(
    op: str, pad_mode: str, padding: Any, sizes: Any, kernel: Any, stride: Any, dilation: Any
) -> Any:
    """The padding of a convolution over spatial ``sizes``."""

    def same() -> tuple[int, ...]:
        return _same(sizes, kernel, _each(stride, len(sizes)), dilation)

    return padding if pad_mode == "pad" else _padding(op, pad_mode, padding, same)


def _convolve(
    op: str, n: int, x: Any, weight: Any, bias: Any, stride: Any, pad_mode: str, padding: Any,
    dilation: Any, groups: int,
) -> Tensor:
    _check_rank(op, x, n)
    pads = padding_of(op, pad_mode, padding, x.shape[2:], weight.shape[2:], stride, dilation)
    return _conv(x, weight, bias, stride, pads, dilation, groups)


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:
    """1-D convolution: (N, C, L) with weight (out, C / groups, k).

    pad_mode: "valid" (no padding), "same" (size / stride places), "pad" (``padding`` zeros: one
    number, one an axis, or begin and end of each axis).

    >>> from diptych import ops
    >>> ops.conv1d(ops.ones((1, 2, 8)), ops.ones((4, 2, 3))).shape
    (1, 4, 6)
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, pad_mode, padding, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:
    """2-D convolution: (N, C, H, W) with weight (out, C / groups, kh, kw).

    Args:
        input: Tensor of a float dtype; integers become float32.
        weight, bias: Tensor (out, C / groups, kh, kw); Tensor (out,) or None.
        stride, dilation: int, or (h, w).
        pad_mode: "valid" (no padding), "same" (size / stride places), "pad" (``padding`` zeros).
        padding: with "pad": int, (h, w), or (top, bottom, left, right).
        groups: divides both numbers of channels.

    Raises:
        TypeError, ValueError: a bad rank, shape or setting; the message names it.

    >>> import diptych as ms
    >>> ms.ops.conv2d(ms.ops.ones((1, 3, 8, 8)), ms.ops.ones((4, 3, 3, 3)), pad_mode="same").shape
    (1, 4, 8, 8)
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, pad_mode, padding, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
    pad_mode: str = "valid", padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:
    """3-D convolution: (N, C, D, H, W) with weight (out, C / groups, kd, kh, kw).

    >>> from diptych import ops
    >>> ops.conv3d(ops.ones((1, 2, 8, 8, 8)), ops.ones((4, 2, 3, 3, 3))).shape
    (1, 4, 6, 6, 6)
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, pad_mode, padding, dilation, groups)


def _documented(text: str, call: str, result: Any) -> str:
    """A docstring with an example."""
    return f"{text}\n\n    >>> from diptych import ops\n    >>> {call}\n    {result}"


def _transposed(name: str, n: int) -> Any:
    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:
        _check_rank(name, input, n)
        return _conv_transpose(
            input, weight, bias, stride=stride, padding=padding, output_padding=output_padding,
            groups=groups, dilation=dilation,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documented(
        f"Transposed {n}-D convolution with weight (C, out / groups, ...).",
        f"ops.{name}(ops.ones((1, 2{', 4' * n})), ops.ones((2, 3{', 3' * n}))).shape",
        (1, 3, *[6] * n),
    )
    return function


conv1d_transpose = _transposed("conv1d_transpose", 1)
conv2d_transpose = _transposed("conv2d_transpose", 2)
conv3d_transpose = _transposed("conv3d_transpose", 3)


def _window(op: str, n: int, x: Any, kernel_size: Any, stride: Any, pad_mode: str, padding: Any,
            dilation: Any) -> Any:
    """(padding) for a pool, checked."""
    _check_rank(op, x, n)

    def same() -> tuple[int, ...]:
        kernel = _each(kernel_size, n)
        step = kernel if stride is None else _each(stride, n)
        return _same(x.shape[2:], kernel, step, dilation)

    return padding if pad_mode == "pad" else _padding(op, pad_mode, padding, same)


def _max_pooling(name: str, n: int) -> Any:
    def function(
        x: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False, *, pad_mode: str = "pad",
    ) -> Any:
        pads = _window(name, n, x, kernel_size, stride, pad_mode, padding, dilation)
        values, indices = _max_pool(x, kernel_size, stride, pads, dilation, ceil_mode)
        return (values, indices) if return_indices else values

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documented(
        f"Largest value of each window over {n} spatial axes; stride None: the windows touch.\n\n"
        "return_indices: also the positions of the largest values, in the plane of each channel.",
        f"ops.{name}(ops.ones((1, 2{', 8' * n})), 2).shape",
        (1, 2, *[4] * n),
    )
    return function


max_pool1d = _max_pooling("max_pool1d", 1)
max_pool2d = _max_pooling("max_pool2d", 2)
max_pool3d = _max_pooling("max_pool3d", 3)


def _avg_pooling(name: str, n: int) -> Any:
    def function(
        input_x: Tensor, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None, *, pad_mode: str = "pad",
    ) -> Tensor:
        pads = _window(name, n, input_x, kernel_size, stride, pad_mode, padding, 1)
        counted = count_include_pad and pad_mode != "same"
        return _avg_pool(input_x, kernel_size, stride, pads, ceil_mode, counted, divisor_override)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documented(
        f"Mean of each window over {n} spatial axes.",
        f"ops.{name}(ops.ones((1, 2{', 8' * n})), 2, 2).shape",
        (1, 2, *[4] * n),
    )
    return function


avg_pool1d = _avg_pooling("avg_pool1d", 1)
avg_pool2d = _avg_pooling("avg_pool2d", 2)
avg_pool3d = _avg_pooling("avg_pool3d", 3)


def _adaptive_sizes(op: str, x: Any, output_size: Any, n: int) -> tuple[int, ...]:
    _check_rank(op, x, n)
    sizes = (output_size,) * n if isinstance(output_size, int | None) else tuple(output_size)
    if len(sizes) != n:
        raise ValueError(f"{op}: output_size is {output_size!r}; it must be one number or {n}")
    return tuple(x.shape[2 + i] if s is None else s for i, s in enumerate(sizes))


def _adaptive(name: str, n: int) -> Any:
    if name.startswith("adaptive_avg"):

        def function(input: Tensor, output_size: Any) -> Any:
            sizes = _adaptive_sizes(name, input, output_size, n)
            return op_table["adaptive_avg_pool"](input, sizes)

    else:

        def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
            sizes = _adaptive_sizes(name, input, output_size, n)
            both = op_table["adaptive_max_pool"](input, sizes)
            return both if return_indices else both[0]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documented(
        f"Pools {n} spatial axes to output_size places; None keeps a size.",
        f"ops.{name}(ops.ones((1, 2{', 8' * n})), 3).shape",
        (1, 2, *[3] * n),
    )
    return function


adaptive_avg_pool1d = _adaptive("adaptive_avg_pool1d", 1)
adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2)
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3)
adaptive_max_pool1d = _adaptive("adaptive_max_pool1d", 1)
adaptive_max_pool2d = _adaptive("adaptive_max_pool2d", 2)
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d", 3)


def move_statistics(
    x: Tensor, running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor,
    momentum: float,
) -> None:
    """running = (1 - momentum) * running + momentum * batch; the variance without bias."""
    n = x.size // max(x.shape[1], 1)
    was = _core.set_grad_enabled(False)
    try:
        unbiased = var * (n / (n - 1)) if n > 1 else var
        for running, batch in ((running_mean, mean), (running_var, unbiased)):
            moved = _lerp(running, _core.copy_object(batch), momentum)
            _core.repoint(running, moved.astype(running.dtype, copy=False))
    finally:
        _core.set_grad_enabled(was)


def batch_norm(
    input_x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalisation of (N, C, ...) over all axes but the channels.

    training: by the batch's own statistics, which also move the running ones (in place, by
    ``momentum``; the variance without bias). Otherwise by the running ones.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> x, one, zero = ms.Tensor([[1.0, 2.0], [3.0, 6.0]]), ops.ones((2,)), ops.zeros((2,))
    >>> print(ops.batch_norm(x, zero, one, one, zero, eps=0.0))
    [[1. 2.]
     [3. 6.]]
    """
    if not training:
        return op_table["batch_norm_infer"](input_x, running_mean, running_var, weight, bias, eps)
    out, mean, var = op_table["batch_norm_train"](input_x, weight, bias, eps)
    move_statistics(input_x, running_mean, running_var, mean, var, momentum)
    return out


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes
    normalized_shape names.

    >>> from diptych import ops
    >>> ops.layer_norm(ops.ones((2, 4)), (4,)).shape
    (2, 4)
    """
    return op_table["layer_norm"](input, weight, bias, normalized_shape, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """input (N, C, ...) normalised over each of num_groups groups of channels.

    >>> from diptych import ops
    >>> ops.group_norm(ops.ones((2, 4, 3)), 2).shape
    (2, 4, 3)
    """
    return op_table["group_norm"](input, weight, bias, num_groups, eps)
