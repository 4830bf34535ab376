"""Activations as Cells, made from one table: class name, function, its settings."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import initializer
from ..common.parameter import Parameter
from .cell import Cell

# class name -> (op, {argument: default}); a Cell of that name calls op(x, **settings).
_TABLE: dict[str, tuple[str, dict[str, Any]]] = {
    "ReLU": ("relu", {}),
    "ReLU6": ("relu6", {}),
    "Sigmoid": ("sigmoid", {}),
    "Tanh": ("tanh", {}),
    "SiLU": ("silu", {}),
    "Mish": ("mish", {}),
    "HSigmoid": ("hardsigmoid", {}),
    "HSwish": ("hardswish", {}),
    "LogSigmoid": ("logsigmoid", {}),
    "SeLU": ("selu", {}),
    "Softsign": ("softsign", {}),
    "Tanhshrink": ("tanhshrink", {}),
    "ELU": ("elu", {"alpha": 1.0}),
    "CELU": ("celu", {"alpha": 1.0}),
    "LeakyReLU": ("leaky_relu", {"alpha": 0.2}),
    "HShrink": ("hardshrink", {"lambd": 0.5}),
    "SoftShrink": ("softshrink", {"lambd": 0.5}),
    "Hardtanh": ("hardtanh", {"min_val": -1.0, "max_val": 1.0}),
    "Softmax": ("softmax", {"axis": -1}),
    "LogSoftmax": ("log_softmax", {"axis": -1}),
}

__all__ = [*_TABLE, "GELU", "FastGelu", "PReLU", "Softplus", "get_activation"]


class _Activation(Cell):
    """An op with fixed settings."""

    _op: str
    _defaults: dict[str, Any]

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__()
        names = list(self._defaults)
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} takes {len(names)} ({', '.join(names) or 'none'}), "
                f"but got {len(args)}"
            )
        given = dict(zip(names, args, strict=False))
        for name in settings:
            if name not in self._defaults or name in given:
                raise TypeError(
                    f"{type(self).__name__} has no further setting '{name}'; "
                    f"it has: {', '.join(names) or 'none'}"
                )
        self.settings = {**self._defaults, **given, **settings}
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Tensor:
        return self._function(x, **self.settings)

    def extend_repr(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.settings.items())


for _name, (_op, _defaults) in _TABLE.items():
    globals()[_name] = type(
        _name,
        (_Activation,),
        {
            "__module__": __name__,
            "__doc__": f"``ops.{_op}(x)`` as a Cell.",
            "_op": _op,
            "_defaults": _defaults,
        },
    )


class GELU(Cell):
    """Gaussian error linear unit; ``approximate`` takes the tanh formula, else the exact erf."""

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return ops.gelu(x, approximate=self.approximate)

    def extend_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class FastGelu(Cell):
    """x * sigmoid(1.702 x)."""

    def construct(self, x: Tensor) -> Tensor:
        return x * ops.sigmoid(x * 1.702)


class Softplus(Cell):
    """log(1 + exp(x))."""

    def construct(self, x: Tensor) -> Tensor:
        return ops.softplus(x)


class PReLU(Cell):
    """x above 0, w x below, with a learnt w for all (``channel=1``) or for each of axis 1."""

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        if isinstance(channel, bool) or not isinstance(channel, int) or channel <= 0:
            raise ValueError(f"For 'PReLU', 'channel' must be a positive int, but got {channel!r}")
        self.w = Parameter(initializer(w, (channel,)), name="a")

    def construct(self, x: Tensor) -> Tensor:
        return ops.prelu(x, self.w)


def get_activation(activation: Any) -> Any:
    """None, a Cell, a function, or a name ("relu") to something callable (or None)."""
    if activation is None or callable(activation):
        return activation
    by_name = {name.lower(): name for name in [*_TABLE, "GELU", "Softplus"]}
    if not isinstance(activation, str) or activation.lower() not in by_name:
        raise ValueError(f"activation is {activation!r}; names: {', '.join(sorted(by_name))}")
    return globals()[by_name[activation.lower()]]()
