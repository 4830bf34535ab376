"""Parameter: a named Tensor that training changes; ParameterTuple: several of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Parameter", "ParameterTuple"]

_UNNAMED = "Parameter"


def _rebuild(cls: type, data: bytes, dtype: str, shape: tuple[int, ...], state: dict) -> Any:
    made = cls.__new__(cls)
    tensor = _core.tensor_from_bytes(data, dtype, shape)
    _core.Parameter.__init__(made, tensor, state["name"], state["requires_grad"])
    made.__dict__.update(state["attributes"])
    return made


class Parameter(_core.Parameter):
    """A Tensor with a name, changed by optimisers.

    Args:
        default_input: the initial value: Tensor, number, lists or array.
        name: what checkpoints call it; a Cell names it after the attribute that holds it.
        requires_grad: whether training changes it (floats only).
        layerwise_parallel, parallel_optimizer: kept for parallel training.
    """

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
    ) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"Parameter: name is of type {type(name).__name__}; it must be a str")
        super().__init__(default_input, _UNNAMED if name is None else name, requires_grad)
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    @property
    def is_unnamed(self) -> bool:
        """No name was given yet."""
        return self.name == _UNNAMED

    @property
    def data(self) -> Parameter:
        """The parameter itself (MindSpore's spelling)."""
        return self

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Takes over a value: of the same shape, or of any with ``slice_shape``.

        The dtype stays, except that no float is squeezed into an integer.
        """
        value = data if isinstance(data, Tensor) else Tensor(data)
        if slice_shape:
            return self._replace(value.astype(self.dtype))
        if value.shape != self.shape:
            raise ValueError(
                f"Parameter '{self.name}' has shape {self.shape}; the new value has "
                f"{value.shape} (slice_shape=True takes any shape)"
            )
        if value.dtype.is_floating_point and not self.dtype.is_floating_point:
            raise TypeError(
                f"Parameter '{self.name}' is {self.dtype.name}; the new value is {value.dtype.name}"
            )
        return self._assign(value)

    def assign_value(self, value: Any) -> Parameter:
        """The same as set_data."""
        return self.set_data(value)

    def set_dtype(self, dtype: Any) -> Parameter:
        """Converts the value; the gradient is dropped."""
        return self._replace(self.value().astype(dtype))

    def init_data(self, *args: Any, **kwargs: Any) -> Parameter:
        """Values exist from the start here; returns the parameter."""
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """A new parameter of the same kind; ``init``: "same", or an initializer."""
        if isinstance(init, str) and init == "same":
            value = self.value()
        else:
            from .initializer import initializer

            value = initializer(init, self.shape, self.dtype)
        made = type(self)(value, self.name, self.requires_grad)
        made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype!r}, "
            f"requires_grad={self.requires_grad})"
        )

    def __reduce__(self) -> Any:
        state = {
            "name": self.name,
            "requires_grad": self.requires_grad,
            "attributes": dict(self.__dict__),
        }
        data = _core.tensor_bytes(self)
        return _rebuild, (type(self), data, self.dtype.name, self.shape, state)

    def __deepcopy__(self, memo: dict) -> Parameter:
        made = self.clone()
        memo[id(self)] = made
        return made


class ParameterTuple(tuple):
    """An immutable sequence of Parameters."""

    def __new__(cls, iterable: Iterable[Parameter]) -> ParameterTuple:
        items = tuple(iterable)
        for i, p in enumerate(items):
            if not isinstance(p, Parameter):
                raise TypeError(
                    f"ParameterTuple holds Parameters, but item {i} is {type(p).__name__}"
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """Clones of all, named ``prefix.name``."""
        made = []
        for p in self:
            q = p.clone(init)
            q.name = f"{prefix}.{p.name}"
            made.append(q)
        return ParameterTuple(made)
