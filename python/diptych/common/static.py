"""Words for Graph mode: what is to be known while a function is staged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core

__all__ = ["jit_class", "static", "static_range"]


def jit_class(cls: type) -> type:
    """The class itself: Graph mode takes instances of all classes that have a Python source.

    Raises:
        TypeError: cls is no class, or a Cell, which is compiled as it is.

    >>> import diptych as ms
    >>> @ms.jit_class
    ... class Scale:
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...     def __call__(self, x):
    ...         return x * self.factor
    >>> ms.jit(lambda x: Scale(3)(x))(ms.Tensor(2)).item()
    6
    """
    if not isinstance(cls, type):
        raise TypeError(f"jit_class: cls is of type {type(cls).__name__}; it must be a class")
    if issubclass(cls, _core.Cell):
        raise TypeError(f"jit_class: {cls.__name__} is a Cell, which needs no jit_class")
    return cls


def static(value: Any) -> Any:
    """The value, which Graph mode may compute once, while it stages the function.

    What is read while staging stays the same in every run. So the time, random numbers of Python
    and NumPy, and files are refused in compiled functions; inside of ``static(...)`` they may be
    read. Eager mode computes it in each call.

    >>> import random
    >>> import diptych as ms
    >>> @ms.jit
    ... def noisy(x):
    ...     return x + ms.static(random.random())
    >>> x = ms.Tensor(0.0)
    >>> noisy(x).item() == noisy(x).item()
    True
    """
    return value


def static_range(*bounds: int) -> Sequence[int]:
    """``range(...)`` whose turns Graph mode always stages one by one, so that each knows its index.

    Raises:
        TypeError: a bound is not an int; in Graph mode also a number known at run time only.

    >>> import diptych as ms
    >>> list(ms.static_range(1, 4))
    [1, 2, 3]
    """
    turns = range(*bounds)
    return tuple(turns) if _core.is_capturing() else turns
