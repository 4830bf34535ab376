"""Initial values of parameters, in MindSpore's names and with its defaults.

``initializer("normal", (3, 4))`` or ``initializer(HeUniform(), (3, 4))`` gives a Tensor.
Fans follow the usual rule: for a weight of shape (out, in, k...), fan_in = in * prod(k) and
fan_out = out * prod(k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import ops
from .._core import Tensor

if TYPE_CHECKING:
    from .._core import dtype as DType

__all__ = [
    "Constant",
    "HeNormal",
    "HeUniform",
    "Initializer",
    "Normal",
    "One",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "Zero",
    "initializer",
]


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    """(fan_in, fan_out) of a weight; vectors count as (1, n)."""
    if len(shape) < 2:
        n = shape[0] if shape else 1
        return n, n
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _gain(nonlinearity: str, slope: float) -> float:
    """The factor that keeps the variance through an activation (He et al. 2015)."""
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3.0,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1.0 + slope * slope)),
    }
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity is '{nonlinearity}'; legal: {', '.join(gains)}")
    return gains[nonlinearity]


class Initializer:
    """Base: a subclass gives ``make(shape, dtype) -> Tensor``."""

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define make(shape, dtype)")


class Constant(Initializer):
    """Every element is ``value``."""

    def __init__(self, value: float) -> None:
        self.value = value

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return ops.full(shape, self.value, dtype=dtype)


class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)


class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)


class Uniform(Initializer):
    """Uniform in [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = scale

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return ops.rand(shape, dtype=dtype) * (2 * self.scale) - self.scale


class Normal(Initializer):
    """Normal with standard deviation ``sigma`` around ``mean``."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma, self.mean = sigma, mean

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return ops.randn(shape, dtype=dtype) * self.sigma + self.mean


class TruncatedNormal(Initializer):
    """Normal, drawn again outside ``[mean + a * sigma, mean + b * sigma]``."""

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        if a >= b:
            raise ValueError(f"TruncatedNormal: a must be below b, got a={a}, b={b}")
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        # Inverse of the distribution function: exact for any a and b, one draw an element.
        low, high = (math.erf(v / math.sqrt(2.0)) for v in (self.a, self.b))
        u = ops.rand(shape, dtype=dtype) * (high - low) + low
        z = ops.erfinv(u) * math.sqrt(2.0)
        return ops.clamp(z, self.a, self.b) * self.sigma + self.mean


class XavierUniform(Initializer):
    """Uniform with bound gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return Uniform(self.gain * math.sqrt(6.0 / sum(_fans(shape)))).make(shape, dtype)


class XavierNormal(Initializer):
    """Normal with sigma gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return Normal(self.gain * math.sqrt(2.0 / sum(_fans(shape)))).make(shape, dtype)


class _He(Initializer):
    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ValueError(f"mode is '{mode}'; legal: fan_in, fan_out")
        self.mode, self.gain = mode, _gain(nonlinearity, negative_slope)

    def _sigma(self, shape: tuple[int, ...]) -> float:
        fan = _fans(shape)[self.mode == "fan_out"]
        return self.gain / math.sqrt(fan) if fan else 0.0


class HeUniform(_He):
    """Uniform with bound gain * sqrt(3 / fan) (He et al. 2015)."""

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return Uniform(math.sqrt(3.0) * self._sigma(shape)).make(shape, dtype)


class HeNormal(_He):
    """Normal with sigma gain / sqrt(fan) (He et al. 2015)."""

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        return Normal(self._sigma(shape)).make(shape, dtype)


_BY_NAME: dict[str, type[Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "uniform": Uniform,
    "normal": Normal,
    "truncatednormal": TruncatedNormal,
    "xavier_uniform": XavierUniform,
    "xavieruniform": XavierUniform,
    "xavier_normal": XavierNormal,
    "xaviernormal": XavierNormal,
    "he_uniform": HeUniform,
    "heuniform": HeUniform,
    "he_normal": HeNormal,
    "henormal": HeNormal,
}


def initializer(init: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """A Tensor of ``shape`` from a name, a number, an Initializer, or a Tensor of that shape.

    Raises ValueError for an unknown name or a Tensor of another shape.
    """
    from .. import float32

    dtype = float32 if dtype is None else dtype
    if isinstance(init, Tensor):
        if shape is not None and tuple(init.shape) != tuple(shape):
            raise ValueError(
                f"the initial Tensor has shape {init.shape}, it must be {tuple(shape)}"
            )
        return init.astype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(init, str):
        if init.lower() not in _BY_NAME:
            raise ValueError(f"no initialiser is called '{init}'; known: {', '.join(_BY_NAME)}")
        init = _BY_NAME[init.lower()]()
    elif isinstance(init, int | float):
        init = Constant(init)
    if not isinstance(init, Initializer):
        raise TypeError(
            f"init must be a name, a number, an Initializer or a Tensor, got {type(init).__name__}"
        )
    return init.make(shape, dtype)
