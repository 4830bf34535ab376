"""Activations as Cells, made from one table: class name, function, its settings."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import initializer
from ..common.parameter import Parameter
from .cell import Cell
from .check import check_number, check_positive

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
    "Softmin": ("softmin", {"axis": -1}),
    "GLU": ("glu", {"axis": -1}),
    "Softplus": ("softplus", {}),
}

__all__ = [
    *_TABLE,
    "FastGelu",
    "GELU",
    "LRN",
    "PReLU",
    "RReLU",
    "Softmax2d",
    "Threshold",
    "get_activation",
]


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
        check_number(type(self).__name__, **self.settings)
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Tensor:
        return self._function(x, **self.settings)

    def extend_repr(self) -> str:
        return ", ".join(f"{k}={v}" for k, v in self.settings.items())


def _settings(defaults: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in defaults.items()) or "no settings"


def _first_line(op: str) -> str:
    function = getattr(ops, op)
    return getattr(function, "summary", None) or function.__doc__.split("\n\n")[0]


for _name, (_op, _defaults) in _TABLE.items():
    globals()[_name] = type(
        _name,
        (_Activation,),
        {
            "__module__": __name__,
            "__doc__": f"""``ops.{_op}`` as a Cell; the constructor takes {_settings(_defaults)}.

{_first_line(_op)}

>>> import diptych as ms
>>> ms.nn.{_name}()(ms.ops.ones((2, 4))).shape
{(2, 2) if _name == "GLU" else (2, 4)}
""",
            "_op": _op,
            "_defaults": _defaults,
        },
    )


class GELU(Cell):
    """Gaussian error linear unit (Hendrycks and Gimpel 2016); ``approximate`` takes the tanh
    formula, else the exact erf.

    >>> import diptych as ms
    >>> ms.nn.GELU()(ms.Tensor([0.0])).tolist()
    [0.0]
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x: Tensor) -> Tensor:
        return ops.gelu(x, approximate=self.approximate)

    def extend_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class FastGelu(Cell):
    """x * sigmoid(1.702 x).

    >>> import diptych as ms
    >>> ms.nn.FastGelu()(ms.Tensor([0.0])).tolist()
    [0.0]
    """

    def construct(self, x: Tensor) -> Tensor:
        return x * ops.sigmoid(x * 1.702)


class PReLU(Cell):
    """x above 0, w x below, with a learnt w for all (``channel=1``) or for each of axis 1
    (He et al. 2015).

    ``w``: the initial value, a number, or a Tensor or list of ``channel`` numbers. The parameter
    is called "a".

    >>> import diptych as ms
    >>> ms.nn.PReLU()(ms.Tensor([2.0, -2.0])).tolist()
    [2.0, -0.5]
    """

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        check_positive("PReLU", channel=channel)
        if isinstance(w, list | tuple):
            w = Tensor(list(w))
        self.channel = channel
        self.w = Parameter(initializer(w, (channel,)), name="a")

    def construct(self, x: Tensor) -> Tensor:
        if self.channel == 1:
            return ops.prelu(x, self.w)
        if x.ndim < 2 or x.shape[1] != self.channel:
            raise ValueError(
                f"For 'PReLU', the input must have {self.channel} channels (axis 1), but its shape "
                f"is {x.shape}"
            )
        return ops.prelu(x, self.w.reshape((-1, *(1,) * (x.ndim - 2))))

    def extend_repr(self) -> str:
        return f"channel={self.channel}"


class RReLU(_Activation):
    """x where it is 0 or more, else x times a slope drawn from [lower, upper) for each element
    (Xu et al. 2015).

    >>> import diptych as ms
    >>> ms.nn.RReLU()(ms.Tensor([2.0])).tolist()
    [2.0]
    """

    _op, _defaults = "rrelu", {"lower": 1 / 8, "upper": 1 / 3}

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__(lower, upper)
        if lower > upper:
            raise ValueError(
                f"For 'RReLU', 'lower' must not be above 'upper', but got {lower} and {upper}"
            )


class Softmax2d(Cell):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    >>> import diptych as ms
    >>> ms.nn.Softmax2d()(ms.ops.zeros((1, 2, 1, 1))).reshape(-1).tolist()
    [0.5, 0.5]
    """

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(
                f"For 'Softmax2d', the input must have 3 or 4 axes, but its shape is {x.shape}"
            )
        return ops.softmax(x, -3)


class Threshold(Cell):
    """x above ``threshold``, ``value`` elsewhere.

    >>> import diptych as ms
    >>> ms.nn.Threshold(0.5, -1.0)(ms.Tensor([0.25, 2.0])).tolist()
    [-1.0, 2.0]
    """

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        check_number("Threshold", threshold=threshold, value=value)
        self.threshold, self.value = threshold, value

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.threshold(input_x, self.threshold, self.value)

    def extend_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}"


class LRN(Cell):
    """x / (bias + alpha s)^beta for x (N, C, H, W), s being the sum of squares over the channels
    at most ``depth_radius`` away (Krizhevsky et al. 2012).

    >>> import diptych as ms
    >>> ms.nn.LRN(depth_radius=1)(ms.ops.zeros((1, 4, 2, 2))).shape
    (1, 4, 2, 2)
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        check_number("LRN", depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
        self.settings = (depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.lrn(input_x, *self.settings)


# Names of get_activation that are not a class's name in lower case.
_ALIASES = {"fast_gelu": "FastGelu", "leaky_relu": "LeakyReLU", "log_softmax": "LogSoftmax"}


def get_activation(name: Any, prim_name: str | None = None) -> Any:
    """The activation called ``name``: a class's name in any case ("relu", "LeakyReLU") or
    "fast_gelu". None gives None; a Cell or function is given back.

    >>> import diptych as ms
    >>> type(ms.nn.get_activation("relu")).__name__
    'ReLU'
    """
    if name is None or callable(name):
        return name
    where = f"For '{prim_name}', the" if prim_name else "The"
    if not isinstance(name, str):
        raise TypeError(
            f"{where} activation must be a name, a Cell or a function, but got {name!r}"
        )
    classes = [*_TABLE, "FastGelu", "GELU", "PReLU", "RReLU", "Softmax2d"]
    by_name = {c.lower(): c for c in classes} | _ALIASES
    if name.lower() not in by_name:
        raise ValueError(f"{where} activation is {name!r}; names: {', '.join(sorted(by_name))}")
    return globals()[by_name[name.lower()]]()
