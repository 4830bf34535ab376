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
    "Dirac",
    "HeNormal",
    "HeUniform",
    "Identity",
    "Initializer",
    "Normal",
    "One",
    "Orthogonal",
    "Sparse",
    "TruncatedNormal",
    "Uniform",
    "VarianceScaling",
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
        wide = ops.float64 if dtype == ops.float64 else ops.float32
        u = ops.rand(shape, dtype=wide) * (high - low) + low
        z = ops.erfinv(u) * math.sqrt(2.0)
        return (ops.clamp(z, self.a, self.b) * self.sigma + self.mean).astype(dtype)


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


class VarianceScaling(Initializer):
    """Spread by the fan: variance scale / n with n = fan_in, fan_out or their mean (fan_avg).

    ``distribution``: "truncated_normal" (within two sigma, sigma enlarged so that the variance is
    right), "untruncated_normal" or "uniform" in +-sqrt(3 scale / n).
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
    ) -> None:
        if scale <= 0:
            raise ValueError(f"VarianceScaling: scale is {scale}; it must be positive")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"VarianceScaling: mode is {mode!r}; legal: fan_in, fan_out, fan_avg")
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(
                f"VarianceScaling: distribution is {distribution!r}; legal: uniform, "
                "truncated_normal, untruncated_normal"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        fans = _fans(shape)
        n = {"fan_in": fans[0], "fan_out": fans[1], "fan_avg": sum(fans) / 2}[self.mode]
        sigma = math.sqrt(self.scale / max(n, 1))
        if self.distribution == "uniform":
            return Uniform(math.sqrt(3.0) * sigma).make(shape, dtype)
        if self.distribution == "untruncated_normal":
            return Normal(sigma).make(shape, dtype)
        return TruncatedNormal(sigma / _TRUNCATED_SIGMA).make(shape, dtype)


_TRUNCATED_SIGMA = 0.87962566103423978  # deviation of the standard normal cut at -2 and 2


def _check_axes(name: str, shape: tuple[int, ...], legal: tuple[int, ...]) -> None:
    if len(shape) not in legal:
        axes = " or ".join(map(str, legal))
        raise ValueError(f"{name}: the shape is {shape}; it must have {axes} axes")


class Identity(Initializer):
    """Ones on the diagonal of a matrix."""

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        _check_axes("Identity", shape, (2,))
        return ops.eye(*shape, dtype=dtype)


class Orthogonal(Initializer):
    """gain times a matrix (first size, product of the others) with orthonormal rows or columns,
    whichever are fewer: the Q of a normal matrix (Saxe et al. 2014)."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: the shape is {shape}; it must have at least 2 axes")
        rows, columns = shape[0], math.prod(shape[1:])
        import numpy as np

        tall = ops.randn(max(rows, columns), min(rows, columns)).asnumpy()
        q, r = np.linalg.qr(tall.astype(np.float64))
        q = q * np.sign(np.diagonal(r))  # makes the factor unique, hence evenly spread
        q = (q if rows >= columns else q.T) * self.gain
        return Tensor(np.ascontiguousarray(q).reshape(shape), dtype)


class Dirac(Initializer):
    """Kernels (out, in, k...) that hand input channels through, in each of ``groups`` groups: 1 at
    the middle of kernel (i, i)."""

    def __init__(self, groups: int = 1) -> None:
        if groups <= 0:
            raise ValueError(f"Dirac: groups is {groups}; it must be positive")
        self.groups = groups

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        _check_axes("Dirac", shape, (3, 4, 5))
        if shape[0] % self.groups:
            raise ValueError(f"Dirac: groups {self.groups} must divide the first size {shape[0]}")
        import numpy as np

        each = shape[0] // self.groups
        data = np.zeros(shape)
        middle = tuple(k // 2 for k in shape[2:])
        for group in range(self.groups):
            for i in range(min(each, shape[1])):
                data[(group * each + i, i, *middle)] = 1
        return Tensor(data, dtype)


class Sparse(Initializer):
    """A normal matrix with the fraction ``sparsity`` of each column set to 0 (Martens 2010)."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        if not 0 <= sparsity <= 1:
            raise ValueError(f"Sparse: sparsity is {sparsity}; it must be in [0, 1]")
        self.sparsity, self.sigma = sparsity, sigma

    def make(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        _check_axes("Sparse", shape, (2,))
        zeros = math.ceil(self.sparsity * shape[0])
        rank = ops.argsort(ops.argsort(ops.rand(shape), 0), 0)
        return ops.where(rank >= zeros, ops.randn(shape) * self.sigma, 0.0).astype(dtype)


_BY_NAME: dict[str, type[Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "dirac": Dirac,
    "identity": Identity,
    "normal": Normal,
    "orthogonal": Orthogonal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "variancescaling": VarianceScaling,
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

    Names are those of the classes, in any case; "zeros", "ones", "xavier_uniform",
    "xavier_normal", "he_uniform" and "he_normal" too.

    Raises ValueError for an unknown name or a Tensor of another shape, TypeError for others.

    >>> from diptych.common.initializer import initializer
    >>> initializer("identity", (2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
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
