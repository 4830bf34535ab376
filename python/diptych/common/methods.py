"""The methods of Tensor: most are ops of the table under their own names, hung on the C type."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import tensor as _here
from .grad import stop_gradient

# ---- more than an op


def _sizes(args: tuple[Any, ...]) -> Any:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same."""
    return args[0] if len(args) == 1 else args


def value(self: Tensor) -> Tensor:
    """The Tensor itself; of a Parameter its present value."""
    return self


def reshape(self: Tensor, *shape: Any) -> Tensor:
    """The same elements with other sizes; one may be -1."""
    return op_table["reshape"](self, _sizes(shape))


def transpose(self: Tensor, *axes: Any) -> Tensor:
    """Axes in another order; without arguments reversed. ``x.transpose(0, 2, 1)``."""
    order = _sizes(axes) if axes else None
    return op_table["transpose"](self, order)


def broadcast_to(self: Tensor, *shape: Any) -> Tensor:
    """Repeated along axes of size 1 up to ``shape``."""
    return op_table["broadcast_to"](self, _sizes(shape))


def tile(self: Tensor, *reps: Any) -> Tensor:
    """Repeated along each axis."""
    return op_table["tile"](self, _sizes(reps))


def astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """Converted to ``dtype``."""
    if not copy and self.dtype is _core.dtype(dtype):
        return self
    return op_table["cast"](self, dtype)


def to(self: Tensor, *args: Any, dtype: Any = None) -> Tensor:
    """Converted to a dtype; the device is always the CPU."""
    for a in args:
        if isinstance(a, str) and a.split(":")[0] in ("cpu", "CPU"):
            continue
        if isinstance(a, Tensor):
            dtype = a.dtype
            continue
        dtype = a
    return self if dtype is None else op_table["cast"](self, dtype)


def view(self: Tensor, *shape: Any) -> Tensor:
    """The same as reshape."""
    return op_table["reshape"](self, _sizes(shape))


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Reshaped to the sizes of other."""
    return op_table["reshape"](self, other.shape)


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Broadcast to the sizes of other."""
    return op_table["broadcast_to"](self, other.shape)


def copy(self: Tensor) -> Tensor:
    """The same value under a new handle; gradients flow through."""
    return +self


def detach(self: Tensor) -> Tensor:
    """The same value as a constant for gradients."""
    return stop_gradient(self)


def size_of(self: Tensor) -> Any:
    """numel()."""
    return self.size


def dim(self: Tensor) -> int:
    """Number of axes."""
    return self.ndim


def _extreme(values: str, places: str) -> Any:
    def method(
        self: Tensor, axis: Any = None, keepdims: bool = False, *, return_indices: bool = False
    ) -> Any:
        best = op_table[values](self, axis, keepdims)
        return (best, op_table[places](self, axis, keepdims)) if return_indices else best

    method.__name__ = values[1:]
    method.__doc__ = f"The {values[1:]} along axis (None: of all); return_indices: also where."
    return method


def _spread(name: str) -> Any:
    def method(self: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
        return op_table[name](self, axis, keepdims, ddof)

    method.__name__ = name
    method.__doc__ = f"{name} along axis (None: of all), over n - ddof."
    return method


def where(self: Tensor, condition: Any, y: Any) -> Tensor:
    """The tensor where condition holds, else y."""
    return op_table["where"](condition, self, y)


def repeat(self: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element (or slice along axis) repeated, as NumPy's repeat."""
    return op_table["repeat_interleave"](self, repeats, axis)


def type_of(self: Tensor, dtype: Any = None) -> Any:
    """Converted to dtype; without one, the dtype."""
    return self.dtype if dtype is None else op_table["cast"](self, dtype)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Converted to the dtype of other."""
    return op_table["cast"](self, other.dtype)


def ravel(self: Tensor) -> Tensor:
    """The elements in one axis."""
    return op_table["reshape"](self, (-1,))


def flatten(
    self: Tensor, order: Any = "C", start_dim: int | None = None, end_dim: int = -1
) -> Tensor:
    """The axes start_dim to end_dim joined into one; without arguments all. order "F": all axes,
    the first one running fastest. ``x.flatten(1)`` means start_dim=1."""
    if isinstance(order, int):
        start_dim, order = order, "C"
    if order not in ("C", "F"):
        raise ValueError(f"flatten: order is {order!r}; it must be 'C' or 'F'")
    if order == "F":
        return op_table["reshape"](op_table["transpose"](self), (-1,))
    return op_table["flatten"](self, 0 if start_dim is None else start_dim, end_dim)


def resize(self: Tensor, *new_shape: Any) -> Tensor:
    """The elements in memory order in other sizes: cut off, or filled up with 0."""
    sizes = _sizes(new_shape)
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    count = math.prod(sizes)
    flat = op_table["reshape"](self, (-1,))[:count]
    return op_table["pad"](flat, (0, count - flat.size)).reshape(sizes)


def choose(self: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """numpy.choose: at each place the element of the choice that the tensor names."""
    from .. import numpy

    return numpy.choose(self, choices, mode)


def searchsorted(self: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """numpy.searchsorted: where each v would be put into the tensor, a sorted vector."""
    from .. import numpy

    return numpy.searchsorted(self, v, side, sorter)


def is_contiguous(self: Tensor) -> bool:
    """Whether the elements lie row-major without holes."""
    expected = self.itemsize
    for n, step in zip(reversed(self.shape), reversed(self.strides), strict=True):
        if n != 1 and step != expected:
            return self.size == 0
        expected *= n
    return True


def t(self: Tensor) -> Tensor:
    """The matrix with its axes swapped; vectors and numbers as they are."""
    if self.ndim > 2:
        raise ValueError(f"t: the tensor has shape {self.shape}; it must have at most 2 axes")
    return op_table["transpose"](self)


def all_(self: Tensor, axis: Any = None, keep_dims: bool = False, out: None = None) -> Tensor:
    """Whether all elements along the axes are true. ``np.all(x)`` passes ``out=None``."""
    _no_out("all", out)
    return op_table["all"](self, axis, keep_dims)


def any_(self: Tensor, axis: Any = None, keep_dims: bool = False, out: None = None) -> Tensor:
    """Whether an element along the axes is true. ``np.any(x)`` passes ``out=None``."""
    _no_out("any", out)
    return op_table["any"](self, axis, keep_dims)


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise TypeError(f"{name}: results are new tensors; out must be None, got {out!r}")


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Summed over the axes along which ``size`` has 1 or nothing: undoes broadcast_to."""
    sizes = tuple(_sizes(size))
    extra = self.ndim - len(sizes)
    pairs = list(zip(self.shape[max(extra, 0) :], sizes, strict=False))
    if extra < 0 or any(a != b and b != 1 for a, b in pairs):
        raise ValueError(f"sum_to_size: {self.shape} does not sum to {sizes}")
    axes = [i for i in range(self.ndim) if i < extra or sizes[i - extra] != self.shape[i]]
    made = op_table["sum"](self, axes, True) if axes else self
    return op_table["reshape"](made.astype(self.dtype, copy=False), sizes)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """Steps between neighbours along each axis, in elements."""
    steps = tuple(s // self.itemsize for s in self.strides)
    return steps if dim is None else steps[dim]


def new_zeros(self: Tensor, size: Any, dtype: Any = None) -> Tensor:
    """Zeros of the tensor's dtype."""
    return op_table["zeros"](size, self.dtype if dtype is None else dtype)


def new_ones(self: Tensor, size: Any, dtype: Any = None) -> Tensor:
    """Ones of the tensor's dtype."""
    return op_table["ones"](size, self.dtype if dtype is None else dtype)


def new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One number repeated, of the tensor's dtype."""
    return op_table["full"](size, float(fill_value), self.dtype if dtype is None else dtype)


def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """The tensor with src added at the places that index names along dim."""
    return op_table["tensor_scatter_elements"](self, index, src, dim, "add")


def format_of(self: Tensor, spec: str) -> str:
    """``f"{x:.3f}"`` of one number as Python formats it; without a format, ``str(x)``."""
    if not spec:
        return str(self)
    if self.ndim:
        raise TypeError(
            f"the format {spec!r} is for one number; the tensor has shape {tuple(self.shape)}"
        )
    return format(self.item(), spec)


def set_data(self: Tensor, data: Any) -> Tensor:
    """The handle shows another value from now on."""
    return _core.repoint(self, data if isinstance(data, Tensor) else Tensor(data))


def _unchanged(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor itself: memory is always initialised, in host memory and dense when needed."""
    return self


def _converted(name: str) -> Any:
    def convert(self: Tensor) -> Tensor:
        return op_table["cast"](self, name)

    convert.__name__ = name
    convert.__doc__ = f"Converted to {name}."
    return convert


def _in_place(name: str) -> Any:
    from .. import ops

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        made = getattr(ops, name)(self, *args, **kwargs)
        if made.shape != self.shape:
            raise ValueError(f"{name}_: the result has shape {made.shape}, the tensor {self.shape}")
        return _core.repoint(self, made.astype(self.dtype, copy=False))

    method.__name__ = f"{name}_"
    method.__doc__ = f"{name} in place: the handle shows the result from now on."
    return method


def fill_(self: Tensor, value: Any) -> Tensor:
    """All elements become value."""
    return _core.repoint(self, op_table["full_like"](stop_gradient(self), value))


def zero_(self: Tensor) -> Tensor:
    """All elements become 0."""
    return _core.repoint(self, op_table["zeros_like"](stop_gradient(self)))


def copy_(self: Tensor, other: Any) -> Tensor:
    """The elements of other, converted and broadcast, become the value."""
    self[...] = other
    return self


_HERE = {
    "value": value,
    "asnumpy": _here.asnumpy,
    "numpy": _here.asnumpy,
    "__array__": _here.array_protocol,
    "__reduce__": _here.reduce,
    "__deepcopy__": _here.deepcopy,
    "__format__": format_of,
    "reshape": reshape,
    "view": view,
    "view_as": view_as,
    "expand_as": expand_as,
    "transpose": transpose,
    "permute": transpose,
    "broadcast_to": broadcast_to,
    "expand": broadcast_to,
    "tile": tile,
    "repeat": repeat,
    "max": _extreme("amax", "argmax"),
    "min": _extreme("amin", "argmin"),
    "std": _spread("std"),
    "var": _spread("var"),
    "where": where,
    "type": type_of,
    "type_as": type_as,
    "ravel": ravel,
    "is_contiguous": is_contiguous,
    "stride": stride,
    "t": t,
    "flatten": flatten,
    "resize": resize,
    "choose": choose,
    "searchsorted": searchsorted,
    "all": all_,
    "any": any_,
    "sum_to_size": sum_to_size,
    "reshape_as": view_as,
    "ndimension": dim,
    "byte": _converted("uint8"),
    "new_zeros": new_zeros,
    "new_ones": new_ones,
    "new_full": new_full,
    "scatter_add": scatter_add,
    "astype": astype,
    "to": to,
    "copy": copy,
    "__copy__": copy,
    "clone": copy,
    "detach": detach,
    "numel": size_of,
    "dim": dim,
    "set_data": set_data,
    "assign_value": set_data,
    "init_data": _unchanged,
    "cpu": _unchanged,
    "float": _converted("float32"),
    "half": _converted("float16"),
    "double": _converted("float64"),
    "int": _converted("int32"),
    "long": _converted("int64"),
    "short": _converted("int16"),
    "bool": _converted("bool"),
    "bfloat16": _converted("bfloat16"),
    "fill_": fill_,
    "zero_": zero_,
    "copy_": copy_,
}

# Ops that are methods under their own name, and methods that are ops under another one.
_SAME = """
abs acos acosh add addcdiv addcmul all amax amin any argmax argmin argsort asin asinh atan atan2
atanh bernoulli bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or
bitwise_right_shift bitwise_xor bmm ceil chunk clamp clip contiguous cos cosh count_nonzero
cross cummax cummin cumprod cumsum diag diagonal digamma div dot equal erf erfc erfinv exp
expand_dims expm1 flip floor floor_div fmod gather_elements gather_nd greater
greater_equal hypot index_add index_fill index_select inner isfinite isinf isnan less less_equal
lerp lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logsumexp
masked_fill masked_select matmul max maximum mean median min minimum mm moveaxis mul multinomial
nan_to_num narrow neg nonzero norm not_equal outer pow prod reciprocal relu remainder
repeat_interleave roll round rsqrt scatter scatter_add select sigmoid sign sin sinh softmax
log_softmax sort split sqrt square squeeze std sub sum swapaxes tan tanh topk trace tril triu
trunc trunc_div unbind unfold unique unsqueeze unstack var where xlogy isclose allclose take
masked_scatter tensor_split diff logaddexp cov kron addbmm addmm addmv addr aminmax argwhere baddbmm
approximate_equal inv real imag conj
bucketize corrcoef deg2rad diag_embed diagflat dsplit fliplr flipud float_power fmax fmin frac ger
heaviside histc hsplit inner logaddexp2 logcumsumexp logit movedim msort nansum negative positive
rad2deg rot90 sinc unique_consecutive vsplit
""".split()
_OTHER = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "floor_divide": "floor_div",
    "negative": "neg",
    "absolute": "abs",
    "swapdims": "swapaxes",
    "gather": "gather",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arctan2": "atan2",
    "arccosh": "acosh",
    "arcsinh": "asinh",
    "arctanh": "atanh",
    "floor_mod": "remainder",
    "invert": "bitwise_not",
    "logical_and_": "logical_and",
}
_IN_PLACE = """
add sub mul div floor_div remainder pow neg abs exp log sqrt sigmoid tanh relu clamp clip round
floor ceil trunc masked_fill index_add scatter_add
""".split()


def install() -> None:
    """Hangs the methods on the type; called once, when ``diptych.ops`` is complete."""
    from .. import ops

    for name, function in _HERE.items():
        setattr(Tensor, name, function)
    pairs = [(n, n) for n in _SAME if n not in _HERE] + list(_OTHER.items())
    for name, op in pairs:
        function = getattr(ops, op, None)
        if function is not None:
            setattr(Tensor, name, function)
    for name in _IN_PLACE:
        if hasattr(ops, name):
            setattr(Tensor, f"{name}_", _in_place(name))
    Tensor.mT = property(lambda self: op_table["swapaxes"](self, -1, -2))
    Tensor.is_leaf = property(lambda self: not self.requires_grad)
    Tensor.device = property(lambda self: "CPU")
