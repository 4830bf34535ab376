"""Random numbers under MindSpore's signatures. All draw from one state (set_seed, get_rng_state); a
``seed`` argument draws from a state of its own instead and leaves that one alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = [
    "bernoulli",
    "dropout",
    "gamma",
    "laplace",
    "multinomial",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "shuffle",
    "standard_laplace",
    "standard_normal",
    "uniform",
]


def _drawn(seed: int | None, draw: Callable, *args: Any, **kwargs: Any) -> Tensor:
    if seed is None:
        return draw(*args, **kwargs)
    state = _core.rng_state()
    _core.seed(seed)
    try:
        return draw(*args, **kwargs)
    finally:
        _core.set_rng_state(*state)


def _sizes(size: tuple[Any, ...]) -> Any:
    """``f(2, 3)`` and ``f((2, 3))`` mean the same."""
    return size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size


def _float(dtype: Any) -> Any:
    return _core.float32 if dtype is None else dtype


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers evenly spread over [0, 1): ``rand(2, 3)`` or ``rand((2, 3))``.

    >>> from diptych import ops
    >>> ops.rand(2, 3).shape
    (2, 3)
    """
    return _drawn(seed, op_table["uniform"], _sizes(size), 0.0, 1.0, _float(dtype))


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Tensor:
    """Numbers of mean 0 and standard deviation 1.

    >>> from diptych import ops
    >>> ops.randn(2, 3).shape
    (2, 3)
    """
    return _drawn(seed, op_table["standard_normal"], _sizes(size), _float(dtype))


def rand_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """rand in the sizes of input.

    >>> from diptych import ops
    >>> ops.rand_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return rand(input.shape, dtype=input.dtype if dtype is None else dtype, seed=seed)


def randn_like(input: Tensor, seed: int | None = None, *, dtype: Any = None) -> Tensor:
    """randn in the sizes of input.

    >>> from diptych import ops
    >>> ops.randn_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return randn(input.shape, dtype=input.dtype if dtype is None else dtype, seed=seed)


def randint(
    low: int, high: int, size: Any = (), seed: int | None = None, *, dtype: Any = None
) -> Tensor:
    """Integers of [low, high), each as likely.

    >>> from diptych import ops
    >>> ops.randint(0, 10, (2, 3)).shape
    (2, 3)
    """
    dtype = _core.int64 if dtype is None else dtype
    return _drawn(seed, op_table["randint"], low, high, size, dtype)


def randint_like(
    input: Tensor, low: int, high: int, seed: int | None = None, *, dtype: Any = None
) -> Tensor:
    """randint in the sizes of input.

    >>> from diptych import ops
    >>> ops.randint_like(ops.ones((2, 3)), 0, 10).shape
    (2, 3)
    """
    dtype = input.dtype if dtype is None else dtype
    return randint(low, high, input.shape, seed, dtype=dtype)


def randperm(n: int, seed: int | None = None, offset: int = 0, dtype: Any = None) -> Tensor:
    """0 .. n - 1 in a random order.

    >>> from diptych import ops
    >>> sorted(ops.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    if offset:
        raise ValueError(f"randperm: offset is {offset}; the state has one stream, give a seed")
    return _drawn(seed, op_table["randperm"], n, _core.int64 if dtype is None else dtype)


def standard_normal(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers of mean 0 and standard deviation 1.

    >>> from diptych import ops
    >>> ops.standard_normal((2, 3)).shape
    (2, 3)
    """
    return _drawn(seed, op_table["standard_normal"], shape)


def _spread(shape: Any, *parameters: Any) -> Any:
    """The sizes of a draw whose parameters broadcast to the last axes."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    like = [p.shape for p in parameters if isinstance(p, Tensor)]
    if not like:
        return sizes
    zero = op_table["zeros"](like[0])
    for s in like[1:]:
        zero = zero + op_table["zeros"](s)
    return sizes + zero.shape if sizes[len(sizes) - zero.ndim :] != zero.shape else sizes


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Tensor:
    """Normal numbers; mean and stddev may be tensors that broadcast to the result.

    >>> from diptych import ops
    >>> ops.normal((2, 3), 0.0, 1.0).shape
    (2, 3)
    """
    if isinstance(mean, int | float) and isinstance(stddev, int | float):
        return _drawn(seed, op_table["normal"], shape, mean, stddev)
    return _drawn(seed, op_table["standard_normal"], _spread(shape, mean, stddev)) * stddev + mean


def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, seed: int | None = None, dtype: Any = None
) -> Tensor:
    """Numbers evenly spread over [minval, maxval); an integer dtype gives integers.

    >>> from diptych import ops
    >>> ops.uniform((2, 3), 0.0, 1.0).shape
    (2, 3)
    """
    dtype = _core.dtype(_float(dtype))
    if not dtype.is_floating_point:
        return randint(int(minval), int(maxval), shape, seed, dtype=dtype)
    if isinstance(minval, int | float) and isinstance(maxval, int | float):
        return _drawn(seed, op_table["uniform"], shape, minval, maxval, dtype)
    unit = _drawn(seed, op_table["uniform"], _spread(shape, minval, maxval), 0.0, 1.0, dtype)
    return unit * (maxval - minval) + minval


def gamma(shape: Any, alpha: Any, beta: Any = 1.0, seed: int | None = None) -> Tensor:
    """Gamma numbers of shape alpha and rate beta.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.gamma((3,), ms.Tensor([2.0]), ms.Tensor([1.0])).shape
    (3, 1)
    """
    return _drawn(seed, op_table["random_gamma"], alpha, shape) / beta


def standard_laplace(shape: Any, seed: int | None = None) -> Tensor:
    """Numbers of density exp(-|x|) / 2.

    >>> from diptych import ops
    >>> ops.standard_laplace((2, 3)).shape
    (2, 3)
    """

    def draw() -> Tensor:
        size = op_table["exponential"](shape, 1.0)
        heads = op_table["uniform"](shape, 0.0, 1.0) < 0.5
        return op_table["where"](heads, size, -size)

    return _drawn(seed, draw)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Tensor:
    """standard_laplace times lambda_param plus mean; both may be tensors that broadcast.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ops.laplace((3,), ms.Tensor([0.0]), ms.Tensor([1.0])).shape
    (3, 1)
    """
    sizes = _spread(shape, mean, lambda_param)
    return standard_laplace(sizes, seed) * lambda_param + mean


def shuffle(x: Tensor, seed: int | None = None) -> Tensor:
    """The slices of axis 0 in a random order.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> sorted(ops.shuffle(ms.Tensor([1, 2, 3])).tolist())
    [1, 2, 3]
    """
    if x.ndim == 0:
        raise ValueError("shuffle: x is 0-d; it needs an axis")
    return op_table["gather"](x, randperm(x.shape[0], seed), 0)


def bernoulli(input: Tensor, p: Any = 0.5, seed: int | None = None) -> Tensor:
    """1 with probability p, else 0, in the sizes of input.

    >>> from diptych import ops
    >>> sorted(set(ops.bernoulli(ops.full((100,), 0.5)).tolist()))
    [0.0, 1.0]
    """
    return _drawn(seed, op_table["bernoulli"], input, p)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = True, seed: int | None = None
) -> Tensor:
    """Indices drawn with the weights that each row of input gives.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> print(ops.multinomial(ms.Tensor([0.0, 1.0]), 3, replacement=True))
    [1 1 1]
    """
    return _drawn(seed, op_table["multinomial"], input, num_samples, replacement)


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, seed: int | None = None
) -> Tensor:
    """While training: each element 0 with probability p, else input / (1 - p).

    >>> import diptych as ms
    >>> from diptych import ops
    >>> ms.set_seed(1)
    >>> sorted(set(ops.dropout(ops.ones((100,)), p=0.5).tolist()))
    [0.0, 2.0]
    """
    if not training:
        return +input
    return _drawn(seed, op_table["dropout"], input, p)
