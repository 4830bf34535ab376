"""Functions of NumPy arrays as ops: called in each run, also from compiled functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import Tensor
from .grad import present, record_custom

__all__ = ["TensorSpec", "host_callback"]


@dataclass(frozen=True)
class TensorSpec:
    """A shape and a dtype without values: ``TensorSpec((2, 3), ms.float32)``."""

    shape: tuple[int, ...]
    dtype: Any

    def __post_init__(self) -> None:
        sizes = tuple(self.shape) if isinstance(self.shape, tuple | list) else (self.shape,)
        if not all(type(n) is int and n >= 0 for n in sizes):
            raise ValueError(f"TensorSpec: shape is {self.shape!r}; it must hold ints from 0 on")
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "dtype", _core.dtype(self.dtype))

    @classmethod
    def of(cls, tensor: Tensor) -> TensorSpec:
        """That of a tensor."""
        return cls(tensor.shape, tensor.dtype)


def _specs(out: Any) -> tuple[TensorSpec, ...]:
    specs = tuple(out) if isinstance(out, tuple | list) else (out,)
    for spec in specs:
        if not isinstance(spec, TensorSpec):
            raise TypeError(
                f"host_callback: out holds a {type(spec).__name__}; it must be a TensorSpec or a "
                "tuple of them"
            )
    return specs


def _tensor(name: str, value: Any, spec: TensorSpec) -> Tensor:
    """A result as promised."""
    import numpy as np

    array = np.asarray(value.asnumpy() if isinstance(value, Tensor) else value)
    made = Tensor(array)
    if made.shape != spec.shape:
        raise ValueError(f"{name}: gave an array of shape {made.shape}; out says {spec.shape}")
    if made.dtype.is_floating_point and not spec.dtype.is_floating_point:
        raise TypeError(f"{name}: gave an array of {made.dtype.name}; out says {spec.dtype.name}")
    return made.astype(spec.dtype)


def _host(fn: Callable, name: str, args: Sequence[Any], specs: Sequence[TensorSpec]) -> Any:
    """``fn`` of the arguments, Tensors as arrays, in each run: a tuple of Tensors."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = list(args)
        for i, t in zip(places, tensors, strict=True):
            given[i] = t.asnumpy()
        made = fn(*given)
        made = tuple(made) if len(specs) != 1 and isinstance(made, tuple | list) else (made,)
        if len(made) != len(specs):
            raise ValueError(f"{name}: gave {len(made)} arrays; out promises {len(specs)}")
        return tuple(_tensor(name, v, s) for v, s in zip(made, specs, strict=True))

    tensors = [args[i] for i in places]
    return _core.call_host(run, tensors, [(s.dtype, s.shape) for s in specs])


def host_callback(out: Any, vjp: Callable | None = None) -> Callable[[Callable], Callable]:
    """Makes a function of NumPy arrays one of Tensors, which Graph mode calls in each run.

    Calls stand in the graph in the order of the program, beside prints and random numbers. Tensors
    among the arguments become arrays, also numbers that are known at run time only; other arguments
    are passed on as they are.

    Args:
        out: a TensorSpec, or a tuple of them: what the function gives, an array or a number each.
        vjp: ``vjp(*args, *grads)`` gives an array of the gradient for each Tensor argument, from
            the arrays of the arguments and of the gradients of the results. Without it a gradient
            through the call is an error.

    Raises:
        TypeError: out holds something else; when called: a float where out promises integers.
        ValueError: when called: another number or shape of arrays than promised.
        NotImplementedError: a gradient is taken and there is no vjp.

    >>> import numpy as np
    >>> import diptych as ms
    >>> @ms.host_callback(out=ms.TensorSpec((), ms.float32), vjp=lambda x, g: g * np.cos(x))
    ... def sine(x):
    ...     return np.sin(x)
    >>> ms.grad(ms.jit(lambda x: 2 * sine(x)))(ms.Tensor(0.0)).item()
    2.0
    """
    specs = _specs(out)

    def decorate(fn: Callable) -> Callable:
        name = getattr(fn, "__name__", "host_callback")

        @functools.wraps(fn)
        def called(*args: Any) -> Any:
            args = tuple(map(present, args))
            made = _host(fn, name, args, specs)
            inputs = [a for a in args if isinstance(a, Tensor)]
            if any(a.requires_grad for a in inputs):

                def backward(*grads: Tensor) -> tuple[Tensor, ...]:
                    if vjp is None:
                        raise NotImplementedError(
                            f"{name}: host_callback has no vjp, so no gradient can be taken; give "
                            "one, or use stop_gradient"
                        )
                    return _host(
                        vjp, f"the vjp of {name}", (*args, *grads), [*map(TensorSpec.of, inputs)]
                    )

                made = record_custom(name, inputs, made, backward)
            return made if isinstance(out, tuple | list) else made[0]

        return called

    return decorate
