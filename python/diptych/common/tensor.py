"""Tensor in Python: exchange with NumPy and others, copying, and what the C type calls back."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from . import indexing, printing, windows
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


def array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
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


def reduce(self: Tensor) -> Any:
    if _core.is_placeholder(self):
        return _core.placeholder, (self.dtype.name, self.shape)
    return rebuild, (_core.tensor_bytes(self), self.dtype.name, self.shape)


def deepcopy(self: Tensor, memo: dict) -> Tensor:
    made = self if _core.is_placeholder(self) else stop_gradient(self)
    memo[id(self)] = made
    return made


# ---- what the C type calls back


def filled_tensor(shape: Any, dtype: Any, init: Any) -> Tensor:
    """Tensor(shape=..., dtype=..., init=...)."""
    if shape is None:
        if init is None and dtype is not None:
            return _core.placeholder(dtype, (...,))
        if init is not None:
            raise ValueError("Tensor: give input_data, or shape with dtype")
        return op_table["zeros"]((0,))
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(n is None for n in sizes):
        if init is not None:
            raise ValueError(
                "The inputs shape can not be None in graph mode: a Tensor with values needs every "
                f"size, got shape={shape} with init"
            )
        return _core.placeholder(_core.float32 if dtype is None else dtype, sizes)
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


CALLBACKS = {
    "tensor_str": printing.tensor_str,
    "tensor_repr": printing.tensor_repr,
    "filled_tensor": filled_tensor,
    "from_array_like": from_array_like,
    "from_mixed_list": from_mixed_list,
    "index_get": indexing.index_get,
    "index_set": indexing.index_set,
    "window_get": windows.window_get,
    "window_set": windows.window_set,
    "warn_part": warn_part,
    "hook_handle": HookHandle,
}
