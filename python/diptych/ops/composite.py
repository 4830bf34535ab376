"""Functions made of a few table ops, under MindSpore's signatures: products, selection, clipping,
old-style losses, and the helpers of functional programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..common.grad import GradOperation

__all__ = [
    "GradOperation",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addn",
    "arange",
    "baddbmm",
    "bias_add",
    "clip_by_global_norm",
    "clip_by_norm",
    "constexpr",
    "cosine_similarity",
    "dot",
    "einsum",
    "eq",
    "fill",
    "full",
    "gather_d",
    "gather_elements",
    "ge",
    "gt",
    "index_fill",
    "index_select",
    "inner",
    "interpolate",
    "l2_normalize",
    "le",
    "lt",
    "meshgrid",
    "mod",
    "ne",
    "nonzero",
    "outer",
    "partial",
    "repeat_elements",
    "reverse",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "tensor_dot",
    "tensordot",
    "unique",
]

_table = op_table

eq, ne = _table["equal"], _table["not_equal"]
gt, ge = _table["greater"], _table["greater_equal"]
lt, le = _table["less"], _table["less_equal"]
mod = _table["remainder"]
reverse = _table["flip"]
repeat_elements = _table["repeat_interleave"]
partial = functools.partial


# ---- creation


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """start, start + step, ... before end; ``arange(n)`` starts at 0. Whole numbers give int64. A
    step that leads away from end is refused (``diptych.numpy.arange`` then gives no elements).

    >>> from diptych import ops
    >>> print(ops.arange(1, 7, 2))
    [1 3 5]
    """
    if end is None:
        start, end = 0, start
    known = all(isinstance(v, int | float) for v in (start, end, step))
    if known and (end - start) * step < 0:
        raise ValueError(f"arange: steps of {step} lead away from {end}, starting at {start}")
    return _table["arange"](start, end, step, dtype)


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One number repeated; dtype None: int64, float32 or bool, as the number is.

    >>> from diptych import ops
    >>> print(ops.full((2, 2), 7))
    [[7 7]
     [7 7]]
    """
    if dtype is None:
        dtype = _core.copy_object(fill_value).dtype
    return _table["full"](size, float(fill_value), dtype)


def fill(type: Any, shape: Any, value: Any) -> Tensor:
    """full with the dtype first.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.fill(ms.int32, (2, 2), 7))
    [[7 7]
     [7 7]]
    """
    return _table["full"](shape, float(value), type)


def meshgrid(*inputs: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid, one Tensor an input; "xy" swaps the first two axes, "ij" does not.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.meshgrid(ms.Tensor([1, 2]), ms.Tensor([3, 4, 5])), sep="\\n")
    [[1 2]
     [1 2]
     [1 2]]
    [[3 3]
     [4 4]
     [5 5]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}; it must be 'xy' or 'ij'")
    axes = list(inputs[0] if len(inputs) == 1 and isinstance(inputs[0], tuple | list) else inputs)
    n = len(axes)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    sizes = [0] * n
    for i, x in enumerate(axes):
        sizes[order[i]] = x.size
    out = []
    for i, x in enumerate(axes):
        shape = [1] * n
        shape[order[i]] = x.size
        out.append(_table["broadcast_to"](x.reshape(shape), sizes))
    return tuple(out)


# ---- products and sums


def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of several tensors.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.addn([ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]), ms.Tensor([5.0, 6.0])]))
    [ 9. 12.]
    """
    if not isinstance(x, tuple | list) or not x:
        raise ValueError("addn: a list or tuple of at least one Tensor is needed")
    total = x[0]
    for t in x[1:]:
        total = _table["add"](total, t)
    return total


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.addcmul(ms.Tensor([1.0]), ms.Tensor([6.0]), ms.Tensor([3.0]), 0.5))
    [10.]
    """
    return input + tensor1 * tensor2 * value


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.addcdiv(ms.Tensor([1.0]), ms.Tensor([6.0]), ms.Tensor([3.0]), 0.5))
    [2.]
    """
    return input + tensor1 / tensor2 * value


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    >>> from diptych import ops
    >>> print(ops.addmm(ops.ones((2, 2)), ops.ones((2, 3)), ops.ones((3, 2)), beta=2))
    [[5. 5.]
     [5. 5.]]
    """
    return input * beta + (mat1 @ mat2) * alpha


def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    >>> from diptych import ops
    >>> print(ops.addmv(ops.ones((2,)), ops.ones((2, 3)), ops.ones((3,))))
    [4. 4.]
    """
    return input * beta + (mat @ vec) * alpha


def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    >>> from diptych import ops
    >>> ops.baddbmm(ops.ones((5, 2, 3)), ops.ones((5, 2, 4)), ops.ones((5, 4, 3))).shape
    (5, 2, 3)
    """
    return input * beta + (batch1 @ batch2) * alpha


def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """beta * input + alpha * sum over the batch of (batch1 @ batch2).

    >>> from diptych import ops
    >>> print(ops.addbmm(ops.zeros((2, 2)), ops.ones((3, 2, 4)), ops.ones((3, 4, 2))))
    [[12. 12.]
     [12. 12.]]
    """
    return input * beta + (batch1 @ batch2).sum(0) * alpha


def dot(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last axis of input and the last but one (1-d: the last) of other.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.dot(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0], [4.0]])))
    [[11.]]
    """
    if other.ndim <= 2:
        return _table["matmul"](input, other)
    return tensordot(input, other, ((input.ndim - 1,), (other.ndim - 2,)))


def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last axes.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.inner(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
    11.0
    """
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    return tensordot(input, other, ((input.ndim - 1,), (other.ndim - 1,)))


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Products of all pairs of two vectors.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.outer(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
    [[3. 4.]
     [6. 8.]]
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise ValueError(f"outer: inputs have shapes {input.shape}, {vec2.shape}; both must be 1-d")
    return _table["expand_dims"](input, 1) * vec2


def tensordot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    """Sum of products over the axes of x1 and x2 that ``axes`` names: how many of the last of x1
    and the first of x2, or a pair of lists.

    >>> from diptych import ops
    >>> print(ops.tensor_dot(ops.ones((2, 3)), ops.ones((3, 2)), 1))
    [[3. 3.]
     [3. 3.]]
    """
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"tensordot: axes is {axes}; it must be 0 or more")
        pair = [tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))]
    else:
        pair = [(a,) if isinstance(a, int) else a for a in axes]
    if len(pair) != 2 or not all(isinstance(side, list | tuple) for side in pair):
        raise ValueError(f"tensordot: axes is {axes}; it must be an int or a pair of lists")
    for x, side in zip((x1, x2), pair, strict=True):
        if any(not -x.ndim <= a < x.ndim for a in side):
            raise ValueError(f"tensordot: axes {axes} do not all lie in {x1.shape} and {x2.shape}")
    first = [a % x1.ndim for a in pair[0]]
    second = [a % x2.ndim for a in pair[1]]
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(f"tensordot: axes {axes} of {x1.shape} and {x2.shape} differ in size")
    keep1 = [a for a in range(x1.ndim) if a not in first]
    keep2 = [a for a in range(x2.ndim) if a not in second]
    n = 1
    for a in first:
        n *= x1.shape[a]
    left = x1.transpose((*keep1, *first)).reshape((-1 if n else 0, n))
    right = x2.transpose((*second, *keep2)).reshape((n, -1 if n else 0))
    shape = [x1.shape[a] for a in keep1] + [x2.shape[a] for a in keep2]
    return (left @ right).reshape(shape)


tensor_dot = tensordot


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by Einstein's convention, ``einsum("ij,jk->ik", a, b)``.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.einsum("ij,j->i", ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([1.0, 10.0])))
    [21. 43.]
    """
    if len(operands) == 1 and isinstance(operands[0], tuple | list):
        operands = tuple(operands[0])
    return _table["einsum"](operands, equation)


def bias_add(input_x: Tensor, bias: Tensor, data_format: str = "NCHW") -> Tensor:
    """input (N, C, ...) plus bias (C); data_format "NHWC": input (N, ..., C).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.bias_add(ops.zeros((2, 3)), ms.Tensor([1.0, 2.0, 3.0])))
    [[1. 2. 3.]
     [1. 2. 3.]]
    """
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise ValueError(
            f"bias_add: data_format is {data_format!r}; it must be 'NCHW', 'NHWC' or 'NCDHW'"
        )
    axis = -1 if data_format == "NHWC" else 1
    if bias.ndim != 1 or input_x.ndim < 2 or input_x.shape[axis] != bias.shape[0]:
        raise ValueError(
            f"bias_add: input has shape {input_x.shape} and bias {bias.shape}; the bias must have "
            f"one number a channel (axis {axis})"
        )
    return input_x + (bias if axis == -1 else bias.reshape((-1, *(1,) * (input_x.ndim - 2))))


# ---- picking and placing


def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The element that index names along dim, at each place of index.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.gather_elements(ms.Tensor([[1, 2], [3, 4]]), 1, ms.Tensor([[1, 0], [0, 0]])))
    [[2 1]
     [3 3]]
    """
    return _table["gather_elements"](input, index, dim)


def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """gather_elements under its older name.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.gather_d(ms.Tensor([[1, 2], [3, 4]]), 1, ms.Tensor([[1, 0], [0, 0]])))
    [[2 1]
     [3 3]]
    """
    return _table["gather_elements"](x, index, dim)


def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices along axis that index names.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.index_select(ms.Tensor([[1, 2], [3, 4]]), 1, ms.Tensor([1])))
    [[2]
     [4]]
    """
    return _table["index_select"](input, index, axis)


def index_fill(x: Tensor, axis: int, index: Any, value: Any) -> Tensor:
    """x with value in the slices along axis that index names.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.index_fill(ms.Tensor([[1, 2], [3, 4]]), 1, ms.Tensor([0]), 9))
    [[9 2]
     [9 4]]
    """
    return _table["index_fill"](x, index, value, axis)


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Indices of the elements that are not 0, one row each; as_tuple: one Tensor an axis.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.nonzero(ms.Tensor([0, 5, 0, 7])))
    [[1]
     [3]]
    """
    places = _table["nonzero"](input)
    return tuple(places[:, i] for i in range(places.shape[1])) if as_tuple else places


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """The different values as they first appear, and where in them each element of input stands.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.unique(ms.Tensor([2, 5, 2])))
    [2 5] [0 1 0]
    """
    values, places, _ = _table["unique"](input, sorted=False)
    return values, places.reshape(input.shape)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """input (N, C, spatial) resampled to ``size``, or to its sizes times ``scale_factor``.

    mode: nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.interpolate(ms.Tensor([[[1.0, 3.0]]]), size=4, mode="linear"))
    [[[1.  1.5 2.5 3. ]]]
    """
    n = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: give either size or scale_factor")
    if size is not None:
        sizes = (size,) * n if isinstance(size, int) else size
        return _table["interpolate"](input, sizes, mode, bool(align_corners))
    one = isinstance(scale_factor, int | float)
    factors = (scale_factor,) * n if one else tuple(scale_factor)
    if len(factors) != n or not all(abs(f) < 1e9 for f in factors):
        raise ValueError(
            f"interpolate: scale_factor is {scale_factor}; input has shape {input.shape} and "
            f"takes {max(n, 0)} factors below 1e9"
        )
    sizes = tuple(int(s * f) for s, f in zip(input.shape[2:], factors, strict=True))
    scales = [0.0] * 3
    if not recompute_scale_factor:
        scales[3 - n :] = [float(f) for f in factors]
    return _table["interpolate"](input, sizes, mode, bool(align_corners), *scales)


# ---- norms and losses


def l2_normalize(input_x: Tensor, axis: Any = 0, epsilon: float = 1e-4) -> Tensor:
    """input over the root of its sum of squares along axis, which is kept above epsilon.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.l2_normalize(ms.Tensor([[3.0, 4.0]]), 1))
    [[0.6 0.8]]
    """
    squares = _table["sum"](input_x * input_x, axis, True)
    return input_x * _table["rsqrt"](_table["maximum"](squares, epsilon))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between the vectors along dim.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.cosine_similarity(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[3.0, 4.0]])))
    [0.6]
    """
    product = (x1 * x2).sum(dim)
    lengths = _table["norm"](x1, dim) * _table["norm"](x2, dim)
    return product / _table["maximum"](lengths, eps)


def _joint_norm(many: Sequence[Tensor], norm_type: float = 2.0) -> Tensor:
    """The norm over all elements of several tensors, in 32 bits or more, without overflow."""
    wide = [t if t.dtype.itemsize >= 4 else t.astype("float32") for t in many]
    norms = [_table["norm"](t, None, False, norm_type) for t in wide]
    return _table["norm"](_table["stack"](norms), None, False, norm_type)


def _check_clip(name: str, argument: str, many: Sequence[Any], limit: float) -> None:
    if not many:
        raise ValueError(f"{name}: no tensors are given")
    for t in many:
        if not isinstance(t, Tensor):
            raise TypeError(f"{name}: x holds a {type(t).__name__}; it must hold Tensors")
    if not limit > 0:
        raise ValueError(f"{name}: {argument} is {limit}; it must be positive")


def clip_by_norm(
    x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """x (a Tensor, or several) shrunk so that its norm over all is at most max_norm.

    The factor is min(max_norm / (norm + 1e-6), 1); ``error_if_nonfinite``: a norm that is NaN or
    infinite raises RuntimeError.

    >>> import diptych as ms
    >>> [round(v, 4) for v in ms.ops.clip_by_norm(ms.Tensor([3.0, 4.0]), 1.0).tolist()]
    [0.6, 0.8]
    """
    many = [x] if isinstance(x, Tensor) else list(x)
    _check_clip("clip_by_norm", "max_norm", many, max_norm)
    total = _joint_norm(many, norm_type)
    if error_if_nonfinite and not _table["isfinite"](total).item():
        raise RuntimeError(f"clip_by_norm: the norm is {total.item()}")
    factor = _table["minimum"](max_norm / (total + 1e-6), 1.0)
    made = [(t * factor).astype(t.dtype) for t in many]
    return made[0] if isinstance(x, Tensor) else type(x)(made)


def clip_by_global_norm(x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """Several tensors shrunk together so that their common norm is at most clip_norm: each times
    clip_norm / max(norm, clip_norm).

    >>> import diptych as ms
    >>> clipped = ms.ops.clip_by_global_norm([ms.Tensor([3.0]), ms.Tensor([4.0])], 1.0)
    >>> [round(t.item(), 4) for t in clipped]
    [0.6, 0.8]
    """
    if use_norm is not None:
        raise ValueError("clip_by_global_norm: use_norm must be None, the norm is computed")
    _check_clip("clip_by_global_norm", "clip_norm", x, clip_norm)
    factor = clip_norm / _table["maximum"](_joint_norm(x), clip_norm)
    return tuple((t * factor).astype(t.dtype) for t in x)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """Softmax cross-entropy of each row of logits (N, C) with probabilities like logits.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> logits, labels = ops.zeros((1, 2)), ms.Tensor([[1.0, 0.0]])
    >>> print(ops.softmax_cross_entropy_with_logits(logits, labels))
    [0.6931472]
    """
    return _table["cross_entropy"](logits, labels, reduction="none")


def sparse_softmax_cross_entropy_with_logits(
    logits: Tensor, labels: Tensor, is_grad: bool = False
) -> Tensor:
    """Mean softmax cross-entropy with class numbers; is_grad: its gradient instead.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.sparse_softmax_cross_entropy_with_logits(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1])))
    0.6931472
    """
    if not is_grad:
        return _table["cross_entropy"](logits, labels)
    from ..common.grad import grad

    return grad(lambda x: _table["cross_entropy"](x, labels))(logits)


def sigmoid_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of sigmoid(logits), element by element.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.sigmoid_cross_entropy_with_logits(ms.Tensor([0.0]), ms.Tensor([1.0])))
    [0.6931472]
    """
    return _table["binary_cross_entropy_with_logits"](logits, labels, reduction="none")


# ---- functional programs


def constexpr(fn: Callable | None = None, **options: Any) -> Callable:
    """Marks a function of constants; every function is one in eager mode.

    >>> from diptych import ops
    >>> double = ops.constexpr(lambda n: 2 * n)
    >>> double(3)
    6
    """
    return (lambda f: f) if fn is None else fn
