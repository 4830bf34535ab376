"""What PyTorch calls the ops of the table: a function of (inputs, attributes) for each.

Attributes come as the texts of tests/cases.def; `A` reads them. An op that is missing here has no
counterpart and is not compared.
"""

import ast
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16,
    "i32": torch.int32, "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
    "f32": torch.float32, "f64": torch.float64,
}  # fmt: skip


class A:
    """Attributes by name, with defaults."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def __call__(self, name: str, preset: Any = None) -> Any:
        text = self.texts.get(name)
        if text is None:
            return preset
        if text in DTYPES:
            return DTYPES[text]
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


for _name, _torch in SAME.items():
    if hasattr(torch, _torch):
        TABLE[_name] = _apply(getattr(torch, _torch))
for _name, _torch in ACTIVATIONS.items():
    TABLE[_name] = _apply(getattr(F, _torch))

TABLE |= {
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


def _prod(x: list[Any], a: A) -> Callable[[], Any]:
    dim = a.axes()
    if dim is None:
        return lambda: torch.prod(x[0])
    dim = dim if isinstance(dim, int) else dim[0]
    return lambda: torch.prod(x[0], dim, bool(a("keep_dims", False)))


def _truth(f: Callable[..., Any]) -> Make:
    def make(x: list[Any], a: A) -> Callable[[], Any]:
        dim = a.axes()
        return (lambda: f(x[0])) if dim is None else (lambda: f(x[0], dim))

    return make


def _arg(f: Callable[..., Any]) -> Make:
    return lambda x, a: lambda: f(x[0], a("axis", a("dim")), bool(a("keepdim", False)))


TABLE |= {
    "sum": _reduce(torch.sum),
    "mean": _reduce(torch.mean),
    "amax": _reduce(torch.amax),
    "amin": _reduce(torch.amin),
    "logsumexp": _reduce(torch.logsumexp),
    "var": _reduce(torch.var, correction=0),
    "std": _reduce(torch.std, correction=0),
    "norm": lambda x, a: (
        lambda: torch.linalg.vector_norm(x[0], a("p", 2.0), a.axes(), bool(a("keep_dims", False)))
    ),
    "prod": _prod,
    "all": _truth(torch.all),
    "any": _truth(torch.any),
    "count_nonzero": _truth(torch.count_nonzero),
    "argmax": _arg(torch.argmax),
    "argmin": _arg(torch.argmin),
    "max_with_index": lambda x, a: lambda: torch.max(x[0], a("axis", 0)),
    "min_with_index": lambda x, a: lambda: torch.min(x[0], a("axis", 0)),
    "cumsum": lambda x, a: lambda: torch.cumsum(x[0], a("axis", 0)),
    "cumprod": lambda x, a: lambda: torch.cumprod(x[0], a("axis", a("dim", 0))),
    "sort": lambda x, a: (
        lambda: torch.sort(x[0], a("axis", -1), bool(a("descending", False)), stable=True)
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
    "tile": lambda x, a: lambda: torch.tile(x[0], _sizes(a("reps", a("multiples")))),
    "roll": lambda x, a: lambda: torch.roll(x[0], a("shifts"), a("dims")),
    "tril": lambda x, a: lambda: torch.tril(x[0], a("diagonal", 0)),
    "triu": lambda x, a: lambda: torch.triu(x[0], a("diagonal", 0)),
    "diag": lambda x, a: lambda: torch.diag(x[0]),
    "pixel_shuffle": lambda x, a: lambda: F.pixel_shuffle(x[0], a("upscale_factor")),
    "pixel_unshuffle": lambda x, a: lambda: F.pixel_unshuffle(x[0], a("downscale_factor")),
    "repeat_interleave": lambda x, a: (
        lambda: torch.repeat_interleave(x[0], a("repeats"), a("axis", a("dim")))
    ),
}

# ---- indexing

TABLE |= {
    "gather": lambda x, a: lambda: torch.index_select(x[0], a("axis", 0), x[1].reshape(-1)),
    "index_select": lambda x, a: lambda: torch.index_select(x[0], a("axis", 0), x[1]),
    "take": lambda x, a: lambda: torch.take(x[0], x[1]),
    "embedding": lambda x, a: lambda: F.embedding(x[0], x[1]),
    "gather_elements": lambda x, a: lambda: torch.gather(x[0], a("dim"), x[1]),
    "one_hot": lambda x, a: lambda: F.one_hot(x[0], a("depth", a("num_classes"))),
    "index_add": lambda x, a: lambda: torch.index_add(x[0], a("axis", 0), x[1], x[2]),
    "nonzero": lambda x, a: lambda: torch.nonzero(x[0]),
    "masked_fill": lambda x, a: lambda: torch.masked_fill(*x),
    "tensor_scatter_elements": lambda x, a: lambda: torch.scatter(x[0], a("axis", 0), x[1], x[2]),
    "searchsorted": lambda x, a: lambda: torch.searchsorted(*x),
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


def _cross_entropy(x: list[Any], a: A) -> Callable[[], Any]:
    target = x[1].long() if not x[1].is_floating_point() else x[1]
    weight = x[2] if len(x) > 2 else None
    return lambda: F.cross_entropy(
        x[0], target, weight, ignore_index=a("ignore_index", -100),
        reduction=a("reduction", "mean"), label_smoothing=a("label_smoothing", 0.0),
    )  # fmt: skip


def _layer_norm(x: list[Any], a: A) -> Callable[[], Any]:
    n = len(_sizes(a("normalized_shape")))
    return lambda: F.layer_norm(x[0], x[0].shape[-n:], *x[1:])


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


TABLE |= {
    "matmul": _matmul,
    "conv": _conv,
    "softmax": lambda x, a: lambda: torch.softmax(x[0], a("axis", -1)),
    "log_softmax": lambda x, a: lambda: torch.log_softmax(x[0], a("axis", -1)),
    "layer_norm": _layer_norm,
    "group_norm": lambda x, a: lambda: F.group_norm(x[0], a("num_groups"), *x[1:]),
    "instance_norm": lambda x, a: lambda: F.instance_norm(x[0], None, None, *x[1:]),
    "batch_norm_infer": lambda x, a: lambda: F.batch_norm(x[0], x[3], x[4], x[1], x[2]),
    "cross_entropy": _cross_entropy,
    "mse_loss": _loss(F.mse_loss),
    "l1_loss": _loss(F.l1_loss),
    "smooth_l1_loss": _loss(F.smooth_l1_loss, "none", beta="beta"),
    "huber_loss": _loss(F.huber_loss, delta="delta"),
    "kl_div": _loss(F.kl_div),
    "binary_cross_entropy": _loss(F.binary_cross_entropy),
    "binary_cross_entropy_with_logits": _loss(F.binary_cross_entropy_with_logits),
    "dropout": lambda x, a: lambda: F.dropout(x[0], a("p", 0.5)),
    "flash_attention": lambda x, a: lambda: F.scaled_dot_product_attention(*x[:3]),
    "einsum": lambda x, a: lambda: torch.einsum(a("equation"), *x),
}

# ---- one job


def _tensor(i: dict[str, Any], dims: list[int]) -> torch.Tensor:
    dtype = DTYPES[i["dtype"]]
    n = math.prod(dims)
    lo = -2.0 if i["lo"] is None else i["lo"]
    hi = 2.0 if i["hi"] is None else i["hi"]
    if i["is_distinct"]:
        flat = torch.randperm(n).to(torch.float64) * 0.25
    else:
        flat = torch.rand(n, dtype=torch.float64) * (hi - lo) + lo
    if not dtype.is_floating_point:
        flat = flat.floor().clamp(min=0 if dtype in (torch.uint8, torch.bool) else None, max=None)
    shape = list(reversed(dims)) if i["is_reversed"] else dims
    t = flat.to(dtype).reshape(shape)
    return t.permute(*reversed(range(len(dims)))) if i["is_reversed"] else t


def call_of(job: dict[str, Any]) -> Callable[[], Any] | None:
    """The call to time; None when there is no counterpart."""
    make = TABLE.get(job["op"])
    if make is None:
        return None
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    inputs: list[Any] = []
    for i, dims in zip(job["inputs"], job["dims"], strict=True):
        if i["is_absent"] or i["number"] is not None:
            inputs.append(i["number"])
        else:
            inputs.append(_tensor(i, dims))
    return make(inputs, A(job["attrs"]))
