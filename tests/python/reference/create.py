"""Tensors made from numbers, in NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def full(size: Sequence[int], fill_value: float, dtype: Any = np.float32) -> Array:
    return np.full(tuple(size), fill_value, dtype)


def zeros(size: Sequence[int], dtype: Any = np.float32) -> Array:
    return np.zeros(tuple(size), dtype)


def ones(size: Sequence[int], dtype: Any = np.float32) -> Array:
    return np.ones(tuple(size), dtype)


def full_like(x: Array, fill_value: float, dtype: Any = None) -> Array:
    return np.full_like(x, fill_value, dtype)


def zeros_like(x: Array, dtype: Any = None) -> Array:
    return np.zeros_like(x, dtype)


def ones_like(x: Array, dtype: Any = None) -> Array:
    return np.ones_like(x, dtype)


def arange(start: float = 0, end: float = 0, step: float = 1, dtype: Any = None) -> Array:
    return np.arange(start, end, step, np.float64)


def linspace(start: float, end: float, steps: int, dtype: Any = np.float32) -> Array:
    return np.linspace(start, end, steps)


def logspace(start: float, end: float, steps: int, base: float = 10,
             dtype: Any = np.float32) -> Array:
    return np.logspace(start, end, steps, base=base)


def eye(n: int, m: int | None = None, dtype: Any = np.float32) -> Array:
    return np.eye(n, m, dtype=dtype)


def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = np.float32) -> Array:
    return np.tri(n, m, k, dtype)
