"""Jacobian products of a network as Cells, over ms.jvp and ms.vjp."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ..common.grad import jvp, vjp
from .cell import Cell
from .check import check_tensor

__all__ = ["Jvp", "Vjp"]


def _matching(cls: str, what: str, vectors: Any, like: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The vectors as a tuple: a Tensor for one value, a tuple of as many for several."""
    if len(like) == 1:
        check_tensor(cls, v=vectors)
        vectors = (vectors,)
    if not isinstance(vectors, tuple | list) or len(vectors) != len(like):
        raise TypeError(f"For '{cls}', 'v' must be {len(like)} Tensors, one for each {what}")
    for vector, x in zip(vectors, like, strict=True):
        check_tensor(cls, v=vector)
        if vector.shape != x.shape or vector.dtype != x.dtype:
            raise TypeError(
                f"For '{cls}', 'v' must be like the {what}, {x.dtype.name}{x.shape}, but got "
                f"{vector.dtype.name}{vector.shape}"
            )
    return tuple(vectors)


class _JacobianProduct(Cell):
    def __init__(self, fn: Any) -> None:
        super().__init__()
        if not callable(fn):
            raise TypeError(f"For '{type(self).__name__}', 'fn' must be a Cell or function")
        self.fn = fn

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], Any]:
        """(inputs, the vectors that came last)."""
        *inputs, v = args
        for x in inputs:
            check_tensor(type(self).__name__, input=x)
        return tuple(inputs), v


class Jvp(_JacobianProduct):
    """``Jvp(fn)(*inputs, v)`` gives (fn(*inputs), the Jacobian times v); v is like the inputs, a
    tuple where there are several.

    >>> import diptych as ms
    >>> value, slope = ms.nn.Jvp(lambda x: x * x)(ms.Tensor([3.0]), ms.Tensor([1.0]))
    >>> value.tolist(), slope.tolist()
    ([9.0], [6.0])
    """

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = self._split(args)
        return jvp(self.fn, inputs, _matching("Jvp", "input", v, inputs))


class Vjp(_JacobianProduct):
    """``Vjp(fn)(*inputs, v)`` gives (fn(*inputs), v times the Jacobian); v is like the outputs, a
    tuple where there are several.

    >>> import diptych as ms
    >>> value, slope = ms.nn.Vjp(lambda x: x * x)(ms.Tensor([3.0]), ms.Tensor([2.0]))
    >>> value.tolist(), slope.tolist()
    ([9.0], [12.0])
    """

    def construct(self, *args: Any) -> tuple[Any, Any]:
        inputs, v = self._split(args)
        out, pull = vjp(self.fn, *inputs)
        outputs = out if isinstance(out, tuple | list) else (out,)
        return out, pull(*_matching("Vjp", "output", v, tuple(outputs)))
