"""Element types under MindSpore's names, and their NumPy and Python counterparts."""

from __future__ import annotations

from typing import Any

from .._core import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .._core import dtype as DType

__all__ = [
    "DType",
    "bfloat16",
    "bool_",
    "complex128",
    "complex64",
    "double",
    "dtype_to_nptype",
    "dtype_to_pytype",
    "float16",
    "float32",
    "float64",
    "float_",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "int_",
    "pytype_to_dtype",
    "single",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]

half, single, double = float16, float32, float64
float_, int_, uint = float32, int64, uint64


def dtype_to_nptype(dtype: Any) -> Any:
    """The NumPy scalar type of a dtype; bfloat16 needs ml_dtypes.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.dtype_to_nptype(ms.float32)
    <class 'numpy.float32'>
    """
    import numpy as np

    name = DType(dtype).name
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(name).type


def dtype_to_pytype(dtype: Any) -> type:
    """bool, int, float or complex.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.dtype_to_pytype(ms.float32)
    <class 'float'>
    """
    d = DType(dtype)
    if d.is_complex:
        return complex
    return float if d.is_floating_point else bool if d is bool_ else int


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype for a Python or NumPy type.

    >>> from diptych import ops
    >>> ops.pytype_to_dtype(float)
    Float32
    """
    return DType(obj)
