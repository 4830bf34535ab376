"""What PyTorch calls the ops of the table: a function of (inputs, attributes) for each.

Attributes come as the texts of tests/cases.def; `A` reads them. An op that is missing here has no
counterpart. bench/ops.py compares the results, so a row whose attributes a counterpart cannot
follow shows as differing and is not timed.
"""

import ast
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32,
    "u64": torch.uint64, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64,
}  # fmt: skip
# Ops whose results are drawn: the two sides are not compared.
DRAWS = {"dropout", "bernoulli", "multinomial", "random_poisson", "random_gamma"}


class A:
    """Attributes by name, with defaults."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def __call__(self, name: str, preset: Any = None) -> Any:
        text = self.texts.get(name)
        if text is None:
            return preset
        dtype = DTYPES.get(text) or getattr(torch, text, None)
        if isinstance(dtype, torch.dtype):
            return dtype
        if text.lstrip("-") == "inf":
            return float(text)
        try:
            return ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
        except (ValueError, SyntaxError):
            return text

    def axes(self, name: str = "axis") -> Any:
        """One axis, several, or None."""
        value = self(name)
        return tuple(value) if isinstance(value, list | tuple) else value


Make = Callable[[list[Any], A], Callable[[], Any]]
TABLE: dict[str, Make] = {}

# ---- the same arguments in the same order

SAME = {
    name: name
    for name in (
        "add sub mul div floor_divide remainder fmod pow maximum minimum neg abs sign square "
        "reciprocal floor ceil round trunc lerp clamp where xlogy hypot exp exp2 expm1 log log1p "
        "log2 log10 sqrt rsqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh "
        "erf erfc erfinv lgamma digamma relu sigmoid bitwise_and bitwise_or bitwise_xor "
        "bitwise_not bitwise_left_shift bitwise_right_shift logical_and logical_or logical_xor "
        "logical_not isnan isinf isfinite matmul masked_select"
    ).split()
} | {
    "floor_div": "floor_divide", "equal": "eq", "not_equal": "ne", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le",
}  # fmt: skip
ACTIVATIONS = {
    "relu6": "relu6", "silu": "silu", "logsigmoid": "logsigmoid", "softplus": "softplus",
    "selu": "selu", "hardsigmoid": "hardsigmoid", "hardswish": "hardswish", "mish": "mish",
    "softsign": "softsign", "tanhshrink": "tanhshrink", "prelu": "prelu",
    "threshold": "threshold", "dense": "linear",
}  # fmt: skip


def _apply(f: Callable[..., Any]) -> Make:
    return lambda x, a: lambda: f(*x)


def _apply_tensors(f: Callable[..., Any]) -> Make:
    """For functions that take no Python numbers."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        tensors = [v if torch.is_tensor(v) else torch.tensor(v, dtype=x[0].dtype) for v in x]
        return lambda: f(*tensors)

    return make


for _name, _torch in SAME.items():
    if hasattr(torch, _torch):
        TABLE[_name] = _apply(getattr(torch, _torch))
for _name, _torch in ACTIVATIONS.items():
    TABLE[_name] = _apply(getattr(F, _torch))

TABLE |= {
    "maximum": _apply_tensors(torch.maximum),
    "minimum": _apply_tensors(torch.minimum),
    "trunc_div": lambda x, a: lambda: torch.div(*x, rounding_mode="trunc"),
    "gelu_erf": lambda x, a: lambda: F.gelu(x[0]),
    "gelu_tanh": lambda x, a: lambda: F.gelu(x[0], approximate="tanh"),
}


def _with_number(f: Callable[..., Any], *names_and_presets: tuple[str, float]) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        numbers = [a(name, preset) for name, preset in names_and_presets]
        return lambda: f(x[0], *numbers)

    return make


TABLE |= {
    "elu": _with_number(F.elu, ("alpha", 1.0)),
    "celu": _with_number(F.celu, ("alpha", 1.0)),
    "leaky_relu": _with_number(F.leaky_relu, ("alpha", 0.2)),
    "hardshrink": _with_number(F.hardshrink, ("lambd", 0.5)),
    "softshrink": _with_number(F.softshrink, ("lambd", 0.5)),
    "hardtanh": _with_number(F.hardtanh, ("min_val", -1.0), ("max_val", 1.0)),
}

# ---- reductions


def _reduce(f: Callable[..., Any], **fixed: Any) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        dim = a.axes()
        dim = tuple(range(x[0].dim())) if dim is None else dim
        keep = bool(a("keep_dims", False))
        return lambda: f(x[0], dim=dim, keepdim=keep, **fixed)

    return make


def _sum(f: Callable[..., Any]) -> Make:
    """With a dtype, like ours: integers by default add up to their own type or int64."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        dim, keep = a.axes(), bool(a("keep_dims", False))
        dim = tuple(range(x[0].dim())) if dim is None else dim
        return lambda: f(x[0], dim=dim, keepdim=keep, dtype=a("dtype"))

    return make


def _prod(x: list[Any], a: A) -> Callable[[], Any]:
    dim = a.axes()
    if dim is None:
        return lambda: torch.prod(x[0])
    dim = dim if isinstance(dim, int) else dim[0]
    return lambda: torch.prod(x[0], dim, bool(a("keep_dims", False)))


def _moment(f: Callable[..., Any]) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        dim, ddof = a.axes(), int(a("ddof", 0))
        keep = bool(a("keep_dims", False))
        dim = tuple(range(x[0].dim())) if dim is None else dim
        return lambda: f(x[0], dim=dim, correction=ddof, keepdim=keep)

    return make


def _truth(f: Callable[..., Any]) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        dim, keep = a.axes(), bool(a("keep_dims", False))
        if dim is None:
            return lambda: f(x[0])
        return lambda: f(x[0], dim, keepdim=keep) if keep else f(x[0], dim)

    return make


def _arg(f: Callable[..., Any]) -> Make:
    return lambda x, a: lambda: f(x[0], a("axis"), bool(a("keep_dims", False)))


def _swapped(f: Callable[..., Any], preset: int | None = None) -> Make:
    """For functions that give (values, indices) along one axis."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        keep = bool(a("keep_dims", False))
        return lambda: f(x[0], a("axis", preset), keep)

    return make


TABLE |= {
    "sum": _sum(torch.sum),
    "mean": _reduce(torch.mean),
    "amax": _reduce(torch.amax),
    "amin": _reduce(torch.amin),
    "logsumexp": _reduce(torch.logsumexp),
    "var": _moment(torch.var),
    "std": _moment(torch.std),
    "norm": lambda x, a: (
        lambda: torch.linalg.vector_norm(x[0], a("p", 2.0), a.axes(), bool(a("keep_dims", False)))
    ),
    "prod": _prod,
    "all": _truth(torch.all),
    "any": _truth(torch.any),
    "count_nonzero": _truth(torch.count_nonzero),
    "argmax": _arg(torch.argmax),
    "argmin": _arg(torch.argmin),
    "max_with_index": _swapped(torch.max, 0),
    "min_with_index": _swapped(torch.min, 0),
    "median": _swapped(torch.median, -1),
    "cummax": lambda x, a: lambda: torch.cummax(x[0], a("axis")),
    "cummin": lambda x, a: lambda: torch.cummin(x[0], a("axis")),
    "logcumsumexp": lambda x, a: lambda: torch.logcumsumexp(x[0], a("axis")),
    "cumsum": lambda x, a: lambda: torch.cumsum(x[0], a("axis", 0), dtype=a("dtype")),
    "cumprod": lambda x, a: lambda: torch.cumprod(x[0], a("axis", a("dim", 0))),
    "sort": lambda x, a: (
        lambda: torch.sort(
            x[0], dim=a("axis", -1), descending=bool(a("descending", False)), stable=True
        )
    ),
    "argsort": lambda x, a: (
        lambda: torch.argsort(
            x[0], dim=a("axis", -1), descending=bool(a("descending", False)), stable=True
        )
    ),
    "topk": lambda x, a: (
        lambda: torch.topk(
            x[0], a("k"), a("dim", -1), bool(a("largest", True)), bool(a("sorted", True))
        )
    ),
}

# ---- shape and movement


def _sizes(value: Any) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)


def _squeeze(x: list[Any], a: A) -> Callable[[], Any]:
    axis = a.axes()
    return (lambda: x[0].squeeze()) if axis is None else (lambda: torch.squeeze(x[0], axis))


def _transpose(x: list[Any], a: A) -> Callable[[], Any]:
    order = a("input_perm") or tuple(reversed(range(x[0].dim())))
    return lambda: x[0].permute(order)


def _slice(x: list[Any], a: A) -> Callable[[], Any]:
    begin, size = _sizes(a("begin")), _sizes(a("size"))
    step = _sizes(a("step", (1,) * len(begin)))
    drop = set(_sizes(a("drop", ())))
    key = tuple(
        b if k in drop else slice(b, None if n < 0 else b + n * s, s)
        for k, (b, n, s) in enumerate(zip(begin, size, step, strict=True))
    )
    return lambda: x[0][key]


def _window(a: A) -> dict[str, Any]:
    return {name: a(name, 0 if name == "padding" else 1)
            for name in ("dilation", "padding", "stride")}  # fmt: skip


TABLE |= {
    "cast": lambda x, a: lambda: x[0].to(a("dtype"), copy=True),
    "contiguous": lambda x, a: lambda: x[0].clone(memory_format=torch.contiguous_format),
    "reshape": lambda x, a: lambda: x[0].reshape(a("shape")),
    "flatten": lambda x, a: lambda: x[0].flatten(a("start_dim", 1), a("end_dim", -1)),
    "expand_dims": lambda x, a: lambda: x[0].unsqueeze(a("axis")),
    "squeeze": _squeeze,
    "broadcast_to": lambda x, a: lambda: x[0].expand(a("shape")),
    "transpose": _transpose,
    "swapaxes": lambda x, a: lambda: x[0].transpose(a("axis0"), a("axis1")),
    "narrow": lambda x, a: lambda: x[0].narrow(a("axis"), a("start"), a("length")),
    "flip": lambda x, a: lambda: x[0].flip(_sizes(a("dims"))),
    "diagonal": lambda x, a: lambda: x[0].diagonal(a("offset", 0), a("dim1", 0), a("dim2", 1)),
    "chunk": lambda x, a: lambda: x[0].chunk(a("chunks"), a("axis", 0)),
    "unstack": lambda x, a: lambda: x[0].unbind(a("axis", 0)),
    "concat": lambda x, a: lambda: torch.cat(x, a("axis", 0)),
    "stack": lambda x, a: lambda: torch.stack(x, a("axis", 0)),
    "tile": lambda x, a: lambda: torch.tile(x[0], _sizes(a("multiples"))),
    "split": lambda x, a: lambda: torch.split(x[0], a("split_size_or_sections"), a("axis", 0)),
    "slice": _slice,
    "pad": lambda x, a: lambda: F.pad(x[0], _sizes(a("padding")), a("mode", "constant"),
                                      a("value", 0.0) if a("mode") in (None, "constant") else None),
    "diag_embed": lambda x, a: (
        lambda: torch.diag_embed(x[0], a("offset", 0), a("dim1", -2), a("dim2", -1))
    ),
    "zeros_like": lambda x, a: lambda: torch.zeros_like(x[0], dtype=a("dtype")),
    "ones_like": lambda x, a: lambda: torch.ones_like(x[0], dtype=a("dtype")),
    "full_like": lambda x, a: (
        lambda: torch.full_like(x[0], a("fill_value"), dtype=a("dtype"))
    ),
    "unfold": lambda x, a: lambda: F.unfold(x[0], a("kernel_size"), **_window(a)),
    "fold": lambda x, a: lambda: F.fold(x[0], a("output_size"), a("kernel_size"), **_window(a)),
    "roll": lambda x, a: lambda: torch.roll(x[0], a("shifts"), a("dims")),
    "tril": lambda x, a: lambda: torch.tril(x[0], a("diagonal", 0)),
    "triu": lambda x, a: lambda: torch.triu(x[0], a("diagonal", 0)),
    "diag": lambda x, a: lambda: torch.diag(x[0], a("diagonal", 0)),
    "pixel_shuffle": lambda x, a: lambda: F.pixel_shuffle(x[0], a("upscale_factor")),
    "pixel_unshuffle": lambda x, a: lambda: F.pixel_unshuffle(x[0], a("downscale_factor")),
    "repeat_interleave": lambda x, a: (
        lambda: torch.repeat_interleave(x[0], a("repeats"), a("axis", a("dim")))
    ),
}

# ---- indexing

def _gather(x: list[Any], a: A) -> Callable[[], Any]:
    axis = a("axis", 0)
    if x[1].dim() == 1:
        return lambda: torch.index_select(x[0], axis, x[1])
    key = (slice(None),) * (axis % x[0].dim()) + (x[1].long(),)
    return lambda: x[0][key]


def _embedding(x: list[Any], a: A) -> Callable[[], Any]:
    return lambda: F.embedding(x[0], x[1])


def _scatter_elements(x: list[Any], a: A) -> Callable[[], Any]:
    axis, index = a("axis", 0), x[1].long()
    index = torch.where(index < 0, index + x[0].shape[axis], index)
    if a("reduction", "none") == "add":
        return lambda: torch.scatter_add(x[0], axis, index, x[2])
    return lambda: torch.scatter(x[0], axis, index, x[2])


def _rows(f: str) -> Make:
    """tensor_scatter_*: rows named by index tuples."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        key = tuple(x[1].long().unbind(-1))
        return lambda: x[0].index_put(key, x[2], accumulate=f == "add")

    return make


def _take(x: list[Any], a: A) -> Callable[[], Any]:
    axis = a("axis")
    if axis is None:
        return lambda: torch.take(x[0], x[1])
    return lambda: torch.index_select(x[0], axis, x[1])


def _gather_nd(x: list[Any], a: A) -> Callable[[], Any]:
    key = tuple(x[1].long().unbind(-1))
    return lambda: x[0][key]


TABLE |= {
    "gather": _gather,
    "index_select": lambda x, a: lambda: torch.index_select(x[0], a("axis", 0), x[1]),
    "take": _take,
    "embedding": _embedding,
    "gather_elements": lambda x, a: lambda: torch.gather(x[0], a("dim"), x[1]),
    "gather_nd": _gather_nd,
    "one_hot": lambda x, a: lambda: F.one_hot(x[0], a("depth")),
    "index_add": lambda x, a: lambda: torch.index_add(x[0], a("axis", 0), x[1], x[2]),
    "index_fill": lambda x, a: lambda: torch.index_fill(x[0], a("axis"), x[1].long(), x[2]),
    "nonzero": lambda x, a: lambda: torch.nonzero(x[0]),
    "masked_fill": lambda x, a: lambda: torch.masked_fill(*x),
    "masked_scatter": lambda x, a: lambda: torch.masked_scatter(*x),
    "tensor_scatter_elements": _scatter_elements,
    "tensor_scatter_update": _rows("update"),
    "tensor_scatter_add": _rows("add"),
    "searchsorted": lambda x, a: (
        lambda: torch.searchsorted(x[0], x[1], right=bool(a("right", False)))
    ),
    "bincount": lambda x, a: lambda: torch.bincount(x[0]),
    "unique": lambda x, a: lambda: torch.unique(x[0], return_inverse=True),
}

# ---- algebra and networks


def _matmul(x: list[Any], a: A) -> Callable[[], Any]:
    p = x[0].mT if a("transpose_a") else x[0]
    q = x[1].mT if a("transpose_b") else x[1]
    return lambda: torch.matmul(p, q)


def _loss(f: Callable[..., Any], preset: str = "mean", **names: str) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        more = {theirs: a(ours) for ours, theirs in names.items() if a(ours) is not None}
        return lambda: f(x[0], x[1], reduction=a("reduction", preset), **more)

    return make


def _binary(f: Callable[..., Any], *weights: str) -> Make:
    """`weights`: torch's names of the inputs after the first two."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        more = dict(zip(weights, x[2:], strict=False))
        return lambda: f(x[0], x[1], reduction=a("reduction", "mean"), **more)

    return make


def _cross_entropy(x: list[Any], a: A) -> Callable[[], Any]:
    target = x[1].long() if not x[1].is_floating_point() else x[1]
    weight = x[2] if len(x) > 2 else None
    return lambda: F.cross_entropy(
        x[0], target, weight, ignore_index=a("ignore_index", -100),
        reduction=a("reduction", "mean"), label_smoothing=a("label_smoothing", 0.0),
    )  # fmt: skip


def _nll(x: list[Any], a: A) -> Callable[[], Any]:
    target, weight = x[1].long(), x[2] if len(x) > 2 else None
    return lambda: F.nll_loss(
        x[0], target, weight, ignore_index=a("ignore_index", -100),
        reduction=a("reduction", "mean"),
    )  # fmt: skip


def _layer_norm(x: list[Any], a: A) -> Callable[[], Any]:
    n = len(_sizes(a("normalized_shape")))
    return lambda: F.layer_norm(
        x[0], x[0].shape[-n:], _optional(x, 1), _optional(x, 2), a("eps", 1e-5)
    )


def _conv(x: list[Any], a: A) -> Callable[[], Any]:
    n = x[0].dim() - 2
    f = [F.conv1d, F.conv2d, F.conv3d][n - 1]
    bias = x[2] if len(x) > 2 else None
    pad = a("padding", a("pad", 0))
    pads = _sizes(pad)
    if len(pads) == 2 * n:
        pads = pads[::2]
    stride, dilation = a("stride", 1), a("dilation", 1)
    return lambda: f(x[0], x[1], bias, stride, pads, dilation, a("groups", a("group", 1)))


def _conv_transpose(x: list[Any], a: A) -> Callable[[], Any]:
    f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][x[0].dim() - 3]
    bias = x[2] if len(x) > 2 else None
    return lambda: f(
        x[0], x[1], bias, a("stride", 1), a("padding", 0), a("output_padding", 0), a("groups", 1),
        a("dilation", 1),
    )  # fmt: skip


def _optional(x: list[Any], i: int) -> Any:
    return x[i] if i < len(x) else None


def _pool(name: str, **of: Any) -> Make:
    """`of`: torch's names of the attributes that this pool has, and their defaults."""

    def make(x: list[Any], a: A) -> Callable[[], Any]:
        f = getattr(F, f"{name}{x[0].dim() - 2}d")
        more = {key: a(key, preset) for key, preset in of.items()}
        return lambda: f(x[0], a("kernel_size"), a("stride"), a("padding", 0), **more)

    return make


def _adaptive(name: str, **more: Any) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        f = getattr(F, f"{name}{x[0].dim() - 2}d")
        return lambda: f(x[0], a("output_size"), **more)

    return make


def _batch_norm_train(x: list[Any], a: A) -> Callable[[], Any]:
    return lambda: F.batch_norm(
        x[0], None, None, _optional(x, 1), _optional(x, 2), True, 0.1, a("epsilon", 1e-5)
    )


def _batch_norm_infer(x: list[Any], a: A) -> Callable[[], Any]:
    weight, bias = _optional(x, 3), _optional(x, 4)
    return lambda: F.batch_norm(x[0], x[1], x[2], weight, bias, False, 0.1, a("epsilon", 1e-5))


def _attention(x: list[Any], a: A) -> Callable[[], Any]:
    scale = a("scale", 0.0) or None
    grouped = x[0].shape[1] != x[1].shape[1]
    return lambda: F.scaled_dot_product_attention(
        *x[:3], attn_mask=_optional(x, 3), is_causal=bool(a("is_causal", False)), scale=scale,
        enable_gqa=grouped,
    )  # fmt: skip


def _interpolate(x: list[Any], a: A) -> Callable[[], Any]:
    mode = a("mode", "nearest")
    align = None if mode.startswith("nearest") or mode == "area" else bool(a("align_corners"))
    return lambda: F.interpolate(x[0], a("size"), mode=mode, align_corners=align)


def _rnn(x: list[Any], a: A) -> Callable[[], Any]:
    """One layer, one direction, time first, as nn.LSTM, nn.GRU and nn.RNN run it."""
    mode = a("mode", "lstm")
    if a("reverse") or _optional(x, 7) is not None:
        raise ValueError("torch has no layer that runs backwards only or takes lengths")
    f = {"lstm": torch.lstm, "gru": torch.gru, "tanh": torch.rnn_tanh, "relu": torch.rnn_relu}[mode]
    biases = [b for b in (_optional(x, 4), _optional(x, 5)) if b is not None]
    h0 = x[1].unsqueeze(0)
    state = [h0, x[6].unsqueeze(0)] if mode == "lstm" else h0
    weights = [x[2], x[3], *biases]
    return lambda: f(x[0], state, weights, bool(biases), 1, 0.0, False, False, False)


TABLE |= {
    "conv_transpose": _conv_transpose,
    "max_pool": _pool("max_pool", dilation=1, ceil_mode=False, return_indices=True),
    "avg_pool": _pool("avg_pool", ceil_mode=False, count_include_pad=True),
    "adaptive_avg_pool": _adaptive("adaptive_avg_pool"),
    "adaptive_max_pool": _adaptive("adaptive_max_pool", return_indices=True),
    "batch_norm_train": _batch_norm_train,
    "rms_norm": lambda x, a: (
        lambda: F.rms_norm(x[0], x[0].shape[-1:], _optional(x, 1), a("eps", 1e-6))
    ),
    "interpolate": _interpolate,
    "grid_sample": lambda x, a: lambda: F.grid_sample(
        x[0], x[1], a("mode", "bilinear"), a("padding_mode", "zeros"), bool(a("align_corners"))
    ),
    "rnn_layer": _rnn,
    "nll_loss": _nll,
    "bernoulli": lambda x, a: lambda: torch.bernoulli(x[0], 0.5),
    "multinomial": lambda x, a: (
        lambda: torch.multinomial(x[0], a("num_samples"), bool(a("replacement", True)))
    ),
    "random_poisson": lambda x, a: (
        lambda: torch.poisson(x[0].expand(*_sizes(a("shape", ())), *x[0].shape))
    ),
    "random_gamma": lambda x, a: (
        lambda: torch._standard_gamma(x[0].expand(*_sizes(a("shape", ())), *x[0].shape))
    ),
    "matmul": _matmul,
    "conv": _conv,
    "softmax": lambda x, a: lambda: torch.softmax(x[0], a("axis", -1)),
    "log_softmax": lambda x, a: lambda: torch.log_softmax(x[0], a("axis", -1)),
    "layer_norm": _layer_norm,
    "group_norm": lambda x, a: lambda: F.group_norm(
        x[0], a("num_groups"), _optional(x, 1), _optional(x, 2), a("eps", 1e-5)
    ),
    "instance_norm": lambda x, a: lambda: F.instance_norm(
        x[0], None, None, _optional(x, 1), _optional(x, 2), eps=a("eps", 1e-5)
    ),
    "batch_norm_infer": _batch_norm_infer,
    "cross_entropy": _cross_entropy,
    "mse_loss": _loss(F.mse_loss),
    "l1_loss": _loss(F.l1_loss),
    "smooth_l1_loss": _loss(F.smooth_l1_loss, "none", beta="beta"),
    "huber_loss": _loss(F.huber_loss, delta="delta"),
    "kl_div": _loss(F.kl_div, log_target="log_target"),
    "binary_cross_entropy": _binary(F.binary_cross_entropy, "weight"),
    "binary_cross_entropy_with_logits": _binary(
        F.binary_cross_entropy_with_logits, "weight", "pos_weight"
    ),
    "dropout": lambda x, a: lambda: F.dropout(x[0], a("p", 0.5)),
    "flash_attention": _attention,
    "einsum": lambda x, a: lambda: torch.einsum(a("equation"), *x),
}

# ---- one call


def to_array(t: torch.Tensor) -> Any:
    return (t.double() if t.is_floating_point() else t).numpy()


def _tensor(values: Any, dtype: str, is_reversed: bool) -> torch.Tensor:
    """A tensor of these values; stored with its axes reversed if asked."""
    t = torch.from_numpy(values).to(DTYPES[dtype])
    if not is_reversed:
        return t.clone()
    return t.permute(*reversed(range(t.dim()))).contiguous().permute(*reversed(range(t.dim())))


def call_of(case: Any, values: list[Any]) -> Callable[[], Any] | None:
    """The call to time; None when there is no counterpart. `values`: None for Python numbers."""
    make = TABLE.get(case.op)
    if make is None:
        return None
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    inputs = [
        i.number if v is None else _tensor(v, i.dtype, i.is_reversed)
        for i, v in zip(case.inputs, values, strict=True)
    ]
    return make(inputs, A(case.attrs))
