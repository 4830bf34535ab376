"""Tensor in Python: methods hung on the C type, and what its slow paths call back."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import indexing, printing
from .grad import stop_gradient

__all__ = ["Tensor", "from_dlpack", "from_numpy", "is_tensor", "tensor"]


def tensor(
    input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None
) -> Tensor:
    """The same as Tensor(...)."""
    return Tensor(input_data, dtype, shape, init)


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


# ---- NumPy and DLPack


def _view_bfloat16(array: Any) -> Tensor:
    """A bfloat16 array (ml_dtypes) as a Tensor."""
    import numpy as np

    data = np.ascontiguousarray(array).view(np.uint16).tobytes()
    return _core.tensor_from_bytes(data, "bfloat16", array.shape)


def from_array_like(obj: Any) -> Tensor:
    """Arrays whose buffer C cannot read: other byte orders, bfloat16, objects with __array__."""
    import numpy as np

    array = np.asarray(obj)
    if array.dtype.name == "bfloat16":
        return _view_bfloat16(array)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"Tensor: arrays of dtype {array.dtype} are not supported")
    return _core.copy_object(np.require(array, array.dtype.newbyteorder("="), ["C", "ALIGNED"]))


def _plain(obj: Any) -> Any:
    if isinstance(obj, Tensor):
        return obj.asnumpy()
    if isinstance(obj, list | tuple):
        return [_plain(o) for o in obj]
    return obj


def from_mixed_list(obj: Any) -> Tensor:
    """Nested lists that hold tensors or arrays beside numbers."""
    import numpy as np

    array = np.array(_plain(obj))
    floats = array.dtype == np.float64 and not _holds_float64(obj)
    return from_array_like(array.astype(np.float32) if floats else array)


def _holds_float64(obj: Any) -> bool:
    if isinstance(obj, list | tuple):
        return any(_holds_float64(o) for o in obj)
    return not isinstance(obj, float) and str(getattr(obj, "dtype", "")).lower() == "float64"


def from_numpy(array: Any) -> Tensor:
    """A Tensor over the array's own memory: no copy, later writes to the array are seen."""
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise TypeError(f"from_numpy: got {type(array).__name__}; it must be a numpy.ndarray")
    try:
        return _core.share_buffer(array)
    except BufferError:
        return from_array_like(array)


def from_dlpack(obj: Any) -> Tensor:
    """A Tensor over the memory of any object with ``__dlpack__`` (PyTorch, JAX, NumPy ...)."""
    return _core.from_dlpack(obj)


def asnumpy(self: Tensor) -> Any:
    """A NumPy array with the present value: read-only, sharing memory; later in-place operations on
    the tensor do not change it. ``np.array(x)`` gives a copy to write into."""
    import numpy as np

    if self.dtype is not _core.bfloat16:
        return np.asarray(memoryview(self)) if self.size else np.empty(self.shape, self.dtype.name)
    raw = np.frombuffer(_core.tensor_bytes(self), np.uint16).reshape(self.shape)
    try:
        import ml_dtypes
    except ImportError:
        return raw
    return raw.view(ml_dtypes.bfloat16)


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's conversion protocol."""
    import numpy as np

    array = asnumpy(self)
    if dtype is not None and np.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(
                f"a {self.dtype.name} tensor cannot be shown as {dtype} without a copy"
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def rebuild(data: bytes, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """Unpickles a Tensor."""
    return _core.tensor_from_bytes(data, dtype, shape)


def _reduce(self: Tensor) -> Any:
    return rebuild, (_core.tensor_bytes(self), self.dtype.name, self.shape)


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    made = stop_gradient(self)
    memo[id(self)] = made
    return made


# ---- what the C type calls back


def filled_tensor(shape: Any, dtype: Any, init: Any) -> Tensor:
    """Tensor(shape=..., dtype=..., init=...)."""
    if shape is None:
        if init is not None or dtype is not None:
            raise ValueError("Tensor: give input_data, or shape with dtype")
        return op_table["zeros"]((0,))
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n is None for n in sizes):
        raise ValueError(
            "The inputs shape can not be None in graph mode: a Tensor with values needs every size, "
            f"got shape={shape}"
        )
    if init is None:
        return op_table["zeros"](sizes, _core.float32 if dtype is None else dtype)
    from .initializer import initializer

    return initializer(init, sizes, _core.float32 if dtype is None else dtype)


def _writes_back() -> bool:
    """Whether the running statement is ``x[i] += y``, which stores its result into x."""
    import dis

    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").startswith("diptych."):
        frame = frame.f_back
    if frame is None:
        return False
    at = frame.f_lasti
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset <= at or instruction.opname in ("CACHE", "SWAP", "COPY"):
            continue
        return instruction.opname in ("STORE_SUBSCR", "STORE_SLICE")
    return False


def warn_part() -> None:
    """An in-place write to a handle that came from indexing or reshaping."""
    if _writes_back():
        return
    warnings.warn(
        "this writes into a value of its own, not into the tensor it was taken from: indexing and "
        "reshaping give values, not views. Write into the tensor itself, as in x[0] += 1 or "
        "x[0, 1] = 5; for a copy meant to be changed, call .copy() first",
        UserWarning,
        stacklevel=2,
    )


class HookHandle:
    """What register_hook returns: remove() takes the hook away."""

    def __init__(self, value: Tensor, number: int) -> None:
        self._value: Tensor | None = value
        self._number = number

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        if self._value is not None:
            _core.unhook(self._value, self._number)
            self._value = None


# ---- methods that are more than an op


def _sizes(args: tuple[Any, ...]) -> Any:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same."""
    return args[0] if len(args) == 1 else args


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
    "asnumpy": asnumpy,
    "numpy": asnumpy,
    "__array__": _array,
    "__reduce__": _reduce,
    "__deepcopy__": _deepcopy,
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
_SAME = """abs acos acosh add addcdiv addcmul all amax amin any argmax argmin argsort asin asinh atan atan2
atanh bernoulli bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor bmm ceil chunk clamp clip contiguous cos cosh count_nonzero cross cummax cummin cumprod cumsum
diag diagonal digamma div dot equal erf erfc erfinv exp expand_dims expm1 flatten flip floor floor_div fmod
gather_elements gather_nd greater greater_equal hypot index_add index_fill index_select inner isfinite
isinf isnan less less_equal lerp lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor
logsumexp masked_fill masked_select matmul max maximum mean median min minimum mm moveaxis mul multinomial
nan_to_num narrow neg nonzero norm not_equal outer pow prod reciprocal relu remainder repeat_interleave
roll round rsqrt scatter scatter_add select sigmoid sign sin sinh softmax log_softmax sort split sqrt square
squeeze std sub sum swapaxes tan tanh topk trace tril triu trunc trunc_div unbind unfold unique unsqueeze
unstack var where xlogy isclose allclose take masked_scatter tensor_split diff logaddexp cov kron""".split()
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
    "logical_and_": "logical_and",
}
_IN_PLACE = """add sub mul div floor_div remainder pow neg abs exp log sqrt sigmoid tanh relu clamp clip round
floor ceil trunc masked_fill index_add scatter_add""".split()


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


CALLBACKS = {
    "tensor_str": printing.tensor_str,
    "tensor_repr": printing.tensor_repr,
    "filled_tensor": filled_tensor,
    "from_array_like": from_array_like,
    "from_mixed_list": from_mixed_list,
    "index_get": indexing.index_get,
    "index_set": indexing.index_set,
    "warn_part": warn_part,
    "hook_handle": HookHandle,
}
