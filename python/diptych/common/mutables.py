"""Which arguments of a compiled function are inputs and which constants: ``mutable`` numbers, and
tensors with ``const_arg``."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["mutable"]


def is_constant(value: Any, records: bool) -> bool:
    """Whether a compiled function takes an argument as a constant: a Tensor with const_arg that
    needs no gradient."""
    is_asked = isinstance(value, Tensor) and value.const_arg and not _core.is_symbolic(value)
    return is_asked and not (records and value.requires_grad)


class MutableInt(int):
    """An int that compiled functions take as an input."""


class MutableFloat(float):
    """A float that compiled functions take as an input."""


class MutableBool(int):
    """A bool that compiled functions take as an input."""

    def __repr__(self) -> str:
        return repr(bool(self))


_KINDS = {MutableInt: int, MutableFloat: float, MutableBool: bool}
_WRAPPERS = {kind: wrapper for wrapper, kind in _KINDS.items()}


def plain_type(value: Any) -> type | None:
    """int, float or bool for a mutable number; None for everything else."""
    return _KINDS.get(type(value))


def plain(value: Any) -> Any:
    """A mutable number as the plain one, everything else as it is."""
    kind = _KINDS.get(type(value))
    return value if kind is None else kind(value)


def mutable(input_data: Any, variable_len: bool = False) -> Any:
    """The same data with numbers that are inputs of a compiled function, so that another value
    runs the same graph; also those inside lists, tuples and dicts. Tensors are inputs anyway.

    Where the function needs a number while it is compiled (as the size of a new Tensor), it is
    compiled once for each value, as for plain numbers. Inside a compiled function the data come
    back as they are.

    Args:
        input_data: a Tensor, number, bool, or list, tuple or dict of these.
        variable_len: True asks for one graph for lists or tuples of all lengths; there is one for
            each length, which a warning says.

    Raises:
        TypeError: input_data holds something else, or variable_len is True without a list or tuple.

    >>> import diptych as ms
    >>> @ms.jit
    ... def scaled(x, n):
    ...     return x * n
    >>> [scaled(ms.Tensor([1.0]), ms.mutable(n)).tolist() for n in (2, 3)]
    [[2.0], [3.0]]
    >>> scaled.cache_info()["compiles"]
    1
    """
    if variable_len:
        if not isinstance(input_data, list | tuple):
            raise TypeError(
                "mutable: when the variable_len is True, the first input should be a list or "
                f"tuple, but got {type(input_data).__name__}"
            )
        warnings.warn(
            "mutable: variable_len=True changes nothing: a compiled function has one graph for "
            "each length of a list or tuple",
            UserWarning,
            stacklevel=2,
        )
    return input_data if _core.is_capturing() else _marked(input_data)


def _marked(data: Any) -> Any:
    wrapper = _WRAPPERS.get(type(data))
    if wrapper is not None:
        return wrapper(data)
    if isinstance(data, Tensor) or type(data) in _KINDS:
        return data
    if type(data) in (list, tuple):
        return type(data)(_marked(item) for item in data)
    if type(data) is dict:
        return {key: _marked(item) for key, item in data.items()}
    raise TypeError(
        f"mutable: {data!r} is of type {type(data).__name__}; it must be a Tensor, int, float, "
        "bool, or a list, tuple or dict of these"
    )
