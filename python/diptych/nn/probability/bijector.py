"""Bijections y = g(x) of the line, with the logarithms of their slopes."""

from __future__ import annotations

from typing import Any

from ... import _core, ops
from ..._core import Tensor
from ..cell import Cell

__all__ = [
    "Bijector",
    "Exp",
    "GumbelCDF",
    "Invert",
    "PowerTransform",
    "ScalarAffine",
    "Softplus",
]

_FUNCTIONS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")


class Bijector(Cell):
    """Base of bijections. A subclass defines ``_forward``, ``_inverse``, ``_forward_log_jacobian``
    and ``_inverse_log_jacobian``; either of the last two follows from the other.

    ``bijector(distribution)`` is the TransformedDistribution; ``bijector("forward", x)`` calls a
    function by name.

    Args:
        is_constant_jacobian: whether the slope is the same everywhere.
        is_injective: whether different x give different y.
        name: of the bijection.
        dtype: of values, or None for any float; parameters are converted to that of the value.
        param: a dict whose "param_dict" holds the parameters by name.

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import Bijector
    >>> class Cube(Bijector):
    ...     def _forward(self, value):
    ...         return value**3
    >>> Cube(name="Cube").forward(ms.Tensor([2.0])).tolist()
    [8.0]
    """

    def __init__(
        self,
        is_constant_jacobian: bool = False,
        is_injective: bool = True,
        name: str | None = None,
        dtype: Any = None,
        param: dict | None = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        if name is not None and not isinstance(name, str):
            raise TypeError(f"For '{cls}', 'name' must be a str, but got {name!r}")
        self.name = cls if name is None else name
        self.dtype = None if dtype is None else _core.dtype(dtype)
        if self.dtype is not None and not self.dtype.is_floating_point:
            raise TypeError(f"For '{cls}', 'dtype' must be a float type, but got {self.dtype.name}")
        self.is_constant_jacobian, self.is_injective = is_constant_jacobian, is_injective
        self.parameters = dict((param or {}).get("param_dict", {}))

    def _add_parameter(self, value: Any, name: str) -> Tensor:
        """A parameter as a float Tensor."""
        if isinstance(value, str) or value is None:
            raise TypeError(
                f"For '{type(self).__name__}', '{name}' must be a number, array or Tensor, but got "
                f"{value!r}"
            )
        tensor = value if isinstance(value, Tensor) else Tensor(value)
        if self.dtype is not None:
            return tensor.astype(self.dtype)
        return tensor if tensor.dtype.is_floating_point else tensor.astype(ops.float32)

    def _check_value_dtype(self, value: Any) -> Tensor:
        """The value, if it is a float Tensor of the right dtype."""
        cls = type(self).__name__
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{cls}', the value must be a Tensor, but got {value!r}")
        legal = "a float type" if self.dtype is None else self.dtype.name
        if not value.dtype.is_floating_point or self.dtype not in (None, value.dtype):
            raise TypeError(f"For '{cls}', the value must be {legal}, but got {value.dtype.name}")
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """A parameter in the dtype of the value."""
        return para.astype(value.dtype, copy=False)

    def _call_hook(self, name: str, value: Any) -> Tensor:
        hook = getattr(self, f"_{name}", None)
        if hook is None:
            raise NotImplementedError(f"{type(self).__name__} does not define {name}")
        return hook(self._check_value_dtype(value))

    def forward(self, value: Tensor) -> Tensor:
        """y = g(x)."""
        return self._call_hook("forward", value)

    def inverse(self, value: Tensor) -> Tensor:
        """The x for which g(x) = y."""
        return self._call_hook("inverse", value)

    def forward_log_jacobian(self, value: Tensor) -> Tensor:
        """log(abs(g'(x)))."""
        if not hasattr(self, "_forward_log_jacobian") and hasattr(self, "_inverse_log_jacobian"):
            return -self._call_hook("inverse_log_jacobian", self.forward(value))
        return self._call_hook("forward_log_jacobian", value)

    def inverse_log_jacobian(self, value: Tensor) -> Tensor:
        """log of the absolute slope of the inverse, at y."""
        if not hasattr(self, "_inverse_log_jacobian") and hasattr(self, "_forward_log_jacobian"):
            return -self._call_hook("forward_log_jacobian", self.inverse(value))
        return self._call_hook("inverse_log_jacobian", value)

    def construct(self, name: Any, *args: Any) -> Any:
        """The function called ``name``, or the distribution that this makes of one."""
        if not isinstance(name, str):
            from .distribution import TransformedDistribution

            return TransformedDistribution(self, name, *args)
        if name not in _FUNCTIONS:
            raise ValueError(
                f"For '{type(self).__name__}', no function is called {name!r}; there are: "
                f"{', '.join(_FUNCTIONS)}"
            )
        return getattr(self, name)(*args)

    def extend_repr(self) -> str:
        return f"name={self.name!r}"


class PowerTransform(Bijector):
    """y = (1 + c x)^(1 / c) with c = ``power`` of 0 or more; power 0: exp(x).

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import PowerTransform
    >>> PowerTransform(1.0).forward(ms.Tensor([2.0])).tolist()
    [3.0]
    """

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform") -> None:
        super().__init__(name=name, param={"param_dict": {"power": power}})
        self.power = self._add_parameter(power, "power")
        if not bool((self.power >= 0).all()):
            raise ValueError(f"For '{type(self).__name__}', 'power' must be 0 or more")
        self._is_exp = not bool((self.power != 0).any())

    def _forward(self, x: Tensor) -> Tensor:
        if self._is_exp:
            return ops.exp(x)
        c = self.cast_param_by_value(x, self.power)
        safe = ops.where(c == 0, 1.0, c)
        return ops.where(c == 0, ops.exp(x), ops.exp(ops.log1p(x * safe) / safe))

    def _inverse(self, y: Tensor) -> Tensor:
        if self._is_exp:
            return ops.log(y)
        c = self.cast_param_by_value(y, self.power)
        safe = ops.where(c == 0, 1.0, c)
        return ops.where(c == 0, ops.log(y), ops.expm1(ops.log(y) * safe) / safe)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        if self._is_exp:
            return +x
        c = self.cast_param_by_value(x, self.power)
        safe = ops.where(c == 0, 1.0, c)
        return ops.where(c == 0, x, (1 / safe - 1) * ops.log1p(x * safe))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return (self.cast_param_by_value(y, self.power) - 1) * ops.log(y)


class Exp(PowerTransform):
    """y = exp(x).

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import Exp
    >>> Exp().inverse(ms.Tensor([1.0])).tolist()
    [0.0]
    """

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(0.0, name)


class ScalarAffine(Bijector):
    """y = scale x + shift; scale is not 0.

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import ScalarAffine
    >>> ScalarAffine(2.0, 1.0).forward(ms.Tensor([3.0])).tolist()
    [7.0]
    """

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(True, name=name, param={"param_dict": {"scale": scale, "shift": shift}})
        self.scale = self._add_parameter(scale, "scale")
        self.shift = self._add_parameter(shift, "shift")
        if bool((self.scale == 0).any()):
            raise ValueError("For 'ScalarAffine', 'scale' must not be 0")

    def _both(self, value: Tensor) -> tuple[Tensor, Tensor]:
        scale = self.cast_param_by_value(value, self.scale)
        return scale, self.cast_param_by_value(value, self.shift)

    def _forward(self, x: Tensor) -> Tensor:
        scale, shift = self._both(x)
        return scale * x + shift

    def _inverse(self, y: Tensor) -> Tensor:
        scale, shift = self._both(y)
        return (y - shift) / scale

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.log(ops.abs(self._both(x)[0])) + ops.zeros_like(x)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -self._forward_log_jacobian(y)


class Softplus(Bijector):
    """y = log(1 + exp(k x)) / k with k = ``sharpness``, not 0.

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import Softplus
    >>> round(float(Softplus().forward(ms.Tensor(0.0))), 4)
    0.6931
    """

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        super().__init__(name=name, param={"param_dict": {"sharpness": sharpness}})
        self.sharpness = self._add_parameter(sharpness, "sharpness")
        if bool((self.sharpness == 0).any()):
            raise ValueError("For 'Softplus', 'sharpness' must not be 0")

    def _forward(self, x: Tensor) -> Tensor:
        k = self.cast_param_by_value(x, self.sharpness)
        return ops.softplus(x * k) / k

    def _inverse(self, y: Tensor) -> Tensor:
        k = self.cast_param_by_value(y, self.sharpness)
        return y + ops.log(-ops.expm1(-(y * k))) / k

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.logsigmoid(x * self.cast_param_by_value(x, self.sharpness))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -ops.log(-ops.expm1(-(y * self.cast_param_by_value(y, self.sharpness))))


class GumbelCDF(Bijector):
    """y = exp(-exp(-(x - loc) / scale)), the cdf of a Gumbel distribution; scale is positive.

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import GumbelCDF
    >>> round(float(GumbelCDF(1.0, 2.0).forward(ms.Tensor(1.0))), 4)
    0.3679
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(name=name, param={"param_dict": {"loc": loc, "scale": scale}})
        self.loc = self._add_parameter(loc, "loc")
        self.scale = self._add_parameter(scale, "scale")
        if not bool((self.scale > 0).all()):
            raise ValueError("For 'GumbelCDF', 'scale' must be positive")

    def _both(self, value: Tensor) -> tuple[Tensor, Tensor]:
        loc = self.cast_param_by_value(value, self.loc)
        return loc, self.cast_param_by_value(value, self.scale)

    def _forward(self, x: Tensor) -> Tensor:
        loc, scale = self._both(x)
        return ops.exp(-ops.exp((loc - x) / scale))

    def _inverse(self, y: Tensor) -> Tensor:
        loc, scale = self._both(y)
        return loc - scale * ops.log(-ops.log(y))

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        loc, scale = self._both(x)
        z = (x - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return ops.log(self._both(y)[1] / (-ops.log(y) * y))


class Invert(Bijector):
    """A bijection the other way round.

    >>> import diptych as ms
    >>> from diptych.nn.probability.bijector import Exp, Invert
    >>> Invert(Exp()).forward(ms.Tensor([1.0])).tolist()
    [0.0]
    """

    def __init__(self, bijector: Bijector, name: str = "") -> None:
        if not isinstance(bijector, Bijector):
            raise TypeError(
                f"For 'Invert', 'bijector' must be a Bijector, but got {type(bijector).__name__}"
            )
        if name == "":
            name = f"Invert{bijector.name}"
        super().__init__(
            bijector.is_constant_jacobian, bijector.is_injective, name, bijector.dtype,
            {"param_dict": bijector.parameters},
        )  # fmt: skip
        self.bijector = bijector

    def _forward(self, x: Tensor) -> Tensor:
        return self.bijector.inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.bijector.forward(y)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return self.bijector.inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return self.bijector.forward_log_jacobian(y)
