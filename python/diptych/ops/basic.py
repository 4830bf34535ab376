"""Functions whose arguments differ from their row of the table: MindSpore's signatures over it."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..common.grad import GradOperation, grad, jvp, stop_gradient, value_and_grad, vjp

__all__ = [
    "GradOperation",
    "Print",
    "argmax",
    "argmin",
    "bmm",
    "clamp",
    "clip",
    "clip_by_value",
    "concat",
    "cat",
    "control_depend",
    "depend",
    "div",
    "gelu",
    "grad",
    "identity",
    "is_tensor",
    "jvp",
    "max",
    "min",
    "mm",
    "norm",
    "numel",
    "permute",
    "print_",
    "promote_types",
    "rank",
    "select",
    "shape",
    "size",
    "softmax",
    "stop_gradient",
    "tensor_split",
    "true_divide",
    "unbind",
    "unsqueeze",
    "value_and_grad",
    "vjp",
    "where",
]

_table = op_table


concat = _table["concat"]
cat = concat
permute = _table["transpose"]
unsqueeze = _table["expand_dims"]
unbind = _table["unstack"]
mm = _table["matmul"]
select = _table["where"]
true_divide = _table["div"]


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.is_tensor(ms.Tensor([1.0])), ops.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def shape(input_x: Tensor) -> tuple[int, ...]:
    """Sizes, a tuple of ints.

    >>> from diptych import ops
    >>> ops.shape(ops.ones((2, 3)))
    (2, 3)
    """
    return input_x.shape


def size(input_x: Tensor) -> int:
    """Number of elements.

    >>> from diptych import ops
    >>> ops.size(ops.ones((2, 3)))
    6
    """
    return input_x.size


def numel(input: Tensor) -> int:
    """Number of elements.

    >>> from diptych import ops
    >>> ops.numel(ops.ones((2, 3)))
    6
    """
    return input.size


def rank(input_x: Tensor) -> int:
    """Number of axes.

    >>> from diptych import ops
    >>> print(ops.rank(ops.ones((2, 3))))
    2
    """
    return input_x.ndim


def identity(input_x: Tensor) -> Tensor:
    """The same value; gradients flow through.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.identity(ms.Tensor([1, 2])))
    [1 2]
    """
    return +input_x


def depend(value: Any, expr: Any) -> Any:
    """``value``; calls run in program order, so that ``expr`` was computed before.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.depend(ms.Tensor([1.0]), ms.Tensor([2.0])))
    [1.]
    """
    return value


def control_depend(src: Any, dst: Any) -> None:
    """States that ``dst`` comes after ``src``. Calls run in program order in both modes, so there
    is nothing to do but to check it: the code must have computed ``src`` first.

    Raises:
        ValueError: ``dst`` was computed before ``src``.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.control_depend(ms.Tensor([1.0]), ms.Tensor([2.0]))
    """
    first, second = _core.symbol(src), _core.symbol(dst)
    if first and second and second < first:
        raise ValueError(
            "control_depend: 'dst' was computed before 'src' and cannot wait for it; "
            "write the call that gives 'dst' after the one that gives 'src'"
        )


def print_(*inputs: Any) -> Any:
    """Prints the inputs, each on a line; returns the first tensor among them. In a compiled
    function it prints at each call of that function.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.print_("loss", ms.Tensor([1.0])) is not None
    loss
    [1.]
    True
    """
    tensors = [item for item in inputs if isinstance(item, Tensor)]

    def show(*values: Tensor) -> None:
        rest = iter(values)
        for item in inputs:
            print(next(rest) if isinstance(item, Tensor) else item)

    _core.call_later(show, tensors)
    return tensors[0] if tensors else None


class Print:
    """``Print()(x, "text")`` prints its inputs and returns the first tensor among them.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> x = ops.Print()(ms.Tensor([1.0]), "is x")
    [1.]
    is x
    """

    def __call__(self, *inputs: Any) -> Any:
        return print_(*inputs)


# ---- elementwise


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where condition holds, else other; with the condition alone, the indices of its
    non-zero elements, one Tensor an axis.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.where(ms.Tensor([True, False]), ms.Tensor([1, 2]), ms.Tensor([3, 4])))
    [1 4]
    """
    if input is None and other is None:
        places = _table["nonzero"](condition)
        return tuple(places[:, i] for i in range(places.shape[1]))
    return _table["where"](condition, input, other)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """input limited to [min, max]; None leaves a side open. A tuple or list goes item by item.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.clamp(ms.Tensor([-1.0, 0.5, 2.0]), 0.0, 1.0))
    [0.  0.5 1. ]
    """
    if isinstance(input, tuple | list):
        return type(input)(clamp(x, min, max) for x in input)
    if min is None and max is None:
        raise ValueError("clamp: min and max are both None")
    if min is None:
        return _table["minimum"](input, max)
    if max is None:
        return _table["maximum"](input, min)
    return _table["clamp"](input, min, max)


clip = clamp


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """clamp under its older name.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.clip_by_value(ms.Tensor([-1.0, 0.5, 2.0]), 0.0, 1.0))
    [0.  0.5 1. ]
    """
    return clamp(x, clip_value_min, clip_value_max)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """True quotient; rounding_mode "floor" or "trunc" rounds it.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.div(ms.Tensor([7.0, -7.0]), 2, rounding_mode="floor"))
    [ 3. -4.]
    """
    if rounding_mode is None:
        return _table["div"](input, other)
    if rounding_mode == "floor":
        return _table["floor_div"](input, other)
    if rounding_mode == "trunc":
        return _table["trunc_div"](input, other)
    raise ValueError(f"div: rounding_mode {rounding_mode!r}; legal: None, 'floor', 'trunc'")


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Gaussian error linear unit: approximate "none" by erf, "tanh" by the tanh formula.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.gelu(ms.Tensor([-1.0, 0.0, 1.0])))
    [-0.15865526  0.          0.8413447 ]
    """
    if approximate == "none":
        return _table["gelu_erf"](input)
    if approximate == "tanh":
        return _table["gelu_tanh"](input)
    raise ValueError(f"gelu: approximate is {approximate!r}; it must be 'none' or 'tanh'")


# ---- reductions that also tell where


def max(input: Tensor, axis: int | None = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements along axis (None: of all) and their indices.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.max(ms.Tensor([[1.0, 3.0], [5.0, 4.0]]), 1))
    [3. 5.] [1 0]
    """
    return _table["max_with_index"](input, axis, keepdims)


def min(input: Tensor, axis: int | None = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest elements along axis (None: of all) and their indices.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(*ops.min(ms.Tensor([[1.0, 3.0], [5.0, 4.0]]), 1))
    [1. 4.] [0 1]
    """
    return _table["min_with_index"](input, axis, keepdims)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the largest element along dim; None: of the flattened tensor.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.argmax(ms.Tensor([[1.0, 3.0], [5.0, 4.0]]), 1))
    [1 0]
    """
    return _table["argmax"](input, dim, keepdim)


def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the smallest element along axis; None: of the flattened tensor.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.argmin(ms.Tensor([[1.0, 3.0], [5.0, 4.0]]), 1))
    [0 1]
    """
    return _table["argmin"](input, axis, keepdims)


def softmax(input: Tensor, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along axis; dtype: input is converted to it first.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.softmax(ms.Tensor([0.0, 0.0])))
    [0.5 0.5]
    """
    return _table["softmax"](input if dtype is None else _table["cast"](input, dtype), axis)


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of vectors or matrices.

    ord None: the root of the sum of squares over dim (None: all). A number: the ord-norm of vectors
    along dim. With two axes in dim (or none and a 2-d tensor): 1, -1, inf, -inf or "fro".

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.norm(ms.Tensor([3.0, 4.0])))
    5.0
    """
    x = A if dtype is None else _table["cast"](A, dtype)
    if ord is None or ord == "fro":
        return _table["norm"](x, dim, keepdim, 2.0)
    axes = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    axes = tuple(a % x.ndim for a in axes) if x.ndim else ()
    if len(axes) != 2:
        return _table["norm"](x, dim, keepdim, float(ord))
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise NotImplementedError(f"norm: ord={ord!r} of matrices; legal: 'fro', 1, -1, inf, -inf")
    added, kept = axes if abs(ord) == 1 else axes[::-1]
    sums = _table["sum"](_table["abs"](x), added, True)
    best = _table["amax" if ord > 0 else "amin"](sums, kept, True)
    if keepdim:
        return best
    return _table["squeeze"](best, axes)


# ---- products


def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
    """Matrix products of two batches.

    >>> from diptych import ops
    >>> ops.bmm(ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    if input_x.ndim < 3 or mat2.ndim < 3:
        raise ValueError(
            f"bmm: inputs of shapes {input_x.shape} and {mat2.shape}; both need batch axes"
        )
    return _table["matmul"](input_x, mat2)


# ---- pieces


def tensor_split(input: Tensor, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along axis: this many nearly equal ones, or cut before each of the given indices.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> [part.tolist() for part in ops.tensor_split(ms.Tensor([1, 2, 3, 4, 5]), 2)]
    [[1, 2, 3], [4, 5]]
    """
    n = input.shape[axis]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            raise ValueError(f"tensor_split: {count} pieces; there must be at least one")
        sizes = [n // count + (i < n % count) for i in range(count)]
    else:
        cuts = [0, *(c + n if c < 0 else c for c in indices_or_sections), n]
        bounded = [0 if c < 0 else n if c > n else c for c in cuts]
        sizes = [b - a if b > a else 0 for a, b in zip(bounded, bounded[1:], strict=False)]
    start, pieces = 0, []
    for s in sizes:
        pieces.append(_table["narrow"](input, axis, start, s))
        start += s
    return tuple(pieces)


def promote_types(dtype1: Any, dtype2: Any) -> Any:
    """The dtype two tensors meet in.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.promote_types(ms.int8, ms.float16)
    Float16
    """
    return _core.promote(dtype1, dtype2)
