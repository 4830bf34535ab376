"""How tensors print: str as NumPy prints arrays, repr as MindSpore prints tensors."""

from __future__ import annotations

from typing import Any


def _readable(tensor: Any) -> Any:
    """The elements as an array NumPy can print."""
    if tensor.dtype.name == "bfloat16":
        return tensor.astype("float32").asnumpy()
    return tensor.asnumpy()


def tensor_str(tensor: Any) -> str:
    """``[[1. 2.]\\n [3. 4.]]``."""
    return str(_readable(tensor))


def tensor_repr(tensor: Any) -> str:
    """``Tensor(shape=[2], dtype=Int64, value= [1, 2])``."""
    import numpy as np

    array = _readable(tensor)
    text = np.array2string(
        array, separator=", ", formatter={"float_kind": lambda v: f"{v: .8e}"}, max_line_width=100
    )
    if array.ndim == 0:
        text = f"{array.item():g}" if array.dtype.kind == "f" else str(array.item())
    gap = "\n" if array.ndim > 1 else " "
    shape = ", ".join(map(str, tensor.shape))
    return f"Tensor(shape=[{shape}], dtype={tensor.dtype!r}, value={gap}{text})"
