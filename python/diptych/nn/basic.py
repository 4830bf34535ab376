"""Layers without a family of their own: dense products, dropout, shapes."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from .activation import get_activation
from .cell import Cell
from .check import check_bool, check_number, check_positive, check_probability

__all__ = [
    "BiDense",
    "ClipByNorm",
    "CosineSimilarity",
    "Dense",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "Flatten",
    "Identity",
    "L1Regularizer",
    "MatMul",
    "Norm",
    "OneHot",
    "Roll",
    "Tril",
    "Triu",
    "Unflatten",
]


class Dense(Cell):
    """Linear layer: ``y = x weight^T + bias``, then ``activation``.

    Input (..., in_channels), output (..., out_channels); weight (out_channels, in_channels), bias
    (out_channels,). They start uniform in +-1 / sqrt(in_channels) unless initialisers are given.
    ``activation``: a name, Cell or function, or None.

    >>> import diptych as ms
    >>> ms.nn.Dense(3, 2)(ms.ops.ones((4, 3))).shape
    (4, 2)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_positive("Dense", in_channels=in_channels, out_channels=out_channels)
        check_bool("Dense", has_bias=has_bias)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        shape = (out_channels, in_channels)
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation)

    def construct(self, x: Tensor) -> Tensor:
        x = ops.dense(x, self.weight, self.bias)
        return x if self.activation is None else self.activation(x)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"has_bias={self.has_bias}"
        )


class BiDense(Cell):
    """Bilinear layer: y[o] = sum over i, j of x1[i] weight[o, i, j] x2[j] + bias[o].

    Inputs (..., in1_channels) and (..., in2_channels), output (..., out_channels). weight and bias
    start uniform in +-1 / sqrt(in1_channels).

    >>> import diptych as ms
    >>> ms.nn.BiDense(3, 4, 2)(ms.ops.ones((5, 3)), ms.ops.ones((5, 4))).shape
    (5, 2)
    """

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (out_channels, in1_channels, in2_channels)
        check_positive(
            "BiDense",
            in1_channels=in1_channels,
            in2_channels=in2_channels,
            out_channels=out_channels,
        )
        check_bool("BiDense", has_bias=has_bias)
        self.in1_channels, self.in2_channels = in1_channels, in2_channels
        self.out_channels, self.has_bias = out_channels, has_bias
        usual = Uniform(1 / math.sqrt(in1_channels))
        weight_init = usual if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            bias_init = usual if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        return ops.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        return (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
            f"out_channels={self.out_channels}, has_bias={self.has_bias}"
        )


class Dropout(Cell):
    """While training, zeroes each element with probability ``p`` and divides the rest by 1 - p.

    ``keep_prob`` is the old spelling of 1 - p and is used when ``p`` is None.

    >>> import diptych as ms
    >>> ms.nn.Dropout(p=0.2)(ms.Tensor([1.0, 2.0])).tolist()  # not training: no change
    [1.0, 2.0]
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = None) -> None:
        super().__init__()
        if p is None:
            check_number("Dropout", keep_prob=keep_prob)
            if not 0 < keep_prob <= 1:
                raise ValueError(
                    f"For 'Dropout', 'keep_prob' must be in (0, 1], but got {keep_prob}"
                )
            p = 1 - keep_prob
        check_number("Dropout", p=p)
        if not 0 <= p < 1:
            raise ValueError(f"For 'Dropout', 'p' must be in [0, 1), but got {p}")
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout(x, self.p, training=self.training) if self.training else x

    def extend_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Cell):
    """What Dropout1d, 2d and 3d share; a subclass sets ``_op``."""

    _op: str

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_probability(type(self).__name__, p=p)
        self.p = p
        self._function = getattr(ops, self._op)

    def construct(self, x: Tensor) -> Tensor:
        return self._function(x, self.p, self.training)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """While training, zeroes each channel of (N, C, L) or (C, L) with probability ``p`` and divides
    the others by 1 - p (Tompson et al. 2015).

    >>> import diptych as ms
    >>> ms.nn.Dropout1d(0.2)(ms.ops.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    _op = "dropout1d"


class Dropout2d(_ChannelDropout):
    """While training, zeroes each channel of (N, C, H, W) with probability ``p`` and divides the
    others by 1 - p.

    >>> import diptych as ms
    >>> ms.nn.Dropout2d(0.2)(ms.ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    _op = "dropout2d"


class Dropout3d(_ChannelDropout):
    """While training, zeroes each channel of (N, C, D, H, W) with probability ``p`` and divides the
    others by 1 - p.

    >>> import diptych as ms
    >>> ms.nn.Dropout3d(0.2)(ms.ops.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    _op = "dropout3d"


class Flatten(Cell):
    """Joins the axes ``start_dim`` to ``end_dim`` into one.

    >>> import diptych as ms
    >>> ms.nn.Flatten()(ms.ops.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, value in (("start_dim", start_dim), ("end_dim", end_dim)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"For 'Flatten', '{name}' must be an int, but got {value!r}")
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Unflatten(Cell):
    """Splits ``axis`` into axes of the sizes ``unflattened_size``, one of which may be -1.

    >>> import diptych as ms
    >>> ms.nn.Unflatten(1, (3, -1))(ms.ops.ones((2, 12, 5))).shape
    (2, 3, 4, 5)
    """

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"For 'Unflatten', 'axis' must be an int, but got {axis!r}")
        if not isinstance(unflattened_size, tuple | list):
            raise TypeError(
                "For 'Unflatten', 'unflattened_size' must be a tuple or list of ints, but got "
                f"{unflattened_size!r}"
            )
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input_x: Tensor) -> Tensor:
        if not -input_x.ndim <= self.axis < input_x.ndim:
            raise ValueError(
                f"For 'Unflatten', 'axis' is {self.axis}, but the input has shape {input_x.shape}"
            )
        axis, shape = self.axis % input_x.ndim, input_x.shape
        product = math.prod(self.unflattened_size)
        if product >= 0 and product != shape[axis]:
            raise TypeError(
                f"For 'Unflatten', the product of 'unflattened_size' {self.unflattened_size} must "
                f"be {shape[axis]}, the size of axis {axis}"
            )
        return input_x.reshape((*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class Identity(Cell):
    """Gives its input back; constructor arguments do not matter.

    >>> import diptych as ms
    >>> ms.nn.Identity()(ms.Tensor([1.0])).tolist()
    [1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


class OneHot(Cell):
    """Indices (...) as vectors of ``depth`` with ``on_value`` at the index, along a new ``axis``.

    >>> import diptych as ms
    >>> ms.nn.OneHot(depth=3)(ms.Tensor([2], ms.int32)).tolist()
    [[0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_positive("OneHot", depth=depth)
        check_number("OneHot", on_value=on_value, off_value=off_value)
        self.axis, self.depth = axis, depth
        self.on_value, self.off_value = on_value, off_value
        self.dtype = ops.float32 if dtype is None else dtype

    def construct(self, indices: Tensor) -> Tensor:
        hot = ops.one_hot(indices, self.depth).astype(self.dtype)
        hot = hot * (self.on_value - self.off_value) + self.off_value
        if self.axis == -1:
            return hot
        order = list(range(indices.ndim))
        order.insert(self.axis, indices.ndim)
        return ops.transpose(hot, order)


class Norm(Cell):
    """sqrt(sum(x^2)) over ``axis``, () being all axes.

    >>> import diptych as ms
    >>> float(ms.nn.Norm()(ms.Tensor([3.0, 4.0])))
    5.0
    """

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        check_bool("Norm", keep_dims=keep_dims)
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Tensor) -> Tensor:
        axis = tuple(range(x.ndim)) if self.axis == () else self.axis
        return ops.norm(x, dim=axis, keepdim=self.keep_dims)


class ClipByNorm(Cell):
    """x shrunk where its L2 norm over ``axis`` (None: over all) is above clip_norm.

    >>> import diptych as ms
    >>> ms.nn.ClipByNorm()(ms.Tensor([3.0, 4.0]), ms.Tensor(1.0)).tolist()
    [0.6000000238418579, 0.800000011920929]
    """

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        if axis is not None and not isinstance(axis, int | tuple):
            raise TypeError(
                f"For 'ClipByNorm', 'axis' must be None, an int or a tuple, but got {axis!r}"
            )
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Any) -> Tensor:
        norm = ops.norm(x, dim=self.axis, keepdim=True)
        return x * (clip_norm / ops.maximum(norm, clip_norm))


class CosineSimilarity(Cell):
    """Cosine of the angle between x1 and x2 along ``dim``; lengths are kept above ``eps``.

    >>> import diptych as ms
    >>> float(ms.nn.CosineSimilarity(dim=0)(ms.Tensor([1.0, 0.0]), ms.Tensor([0.0, 2.0])))
    0.0
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        return ops.cosine_similarity(x1, x2, self.dim, self.eps)


class L1Regularizer(Cell):
    """scale * sum(abs(weights)).

    >>> import diptych as ms
    >>> float(ms.nn.L1Regularizer(0.5)(ms.Tensor([1.0, -3.0])))
    2.0
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        check_number("L1Regularizer", scale=scale)
        if not 0 < scale < math.inf:
            raise ValueError(f"For 'L1Regularizer', 'scale' must be positive, but got {scale}")
        self.scale = scale

    def construct(self, weights: Tensor) -> Tensor:
        return ops.abs(weights).sum() * self.scale


class MatMul(Cell):
    """Matrix product x1 x2, either one transposed in its last two axes.

    >>> import diptych as ms
    >>> ms.nn.MatMul(transpose_x2=True)(ms.ops.ones((2, 3)), ms.ops.ones((4, 3))).shape
    (2, 4)
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        check_bool("MatMul", transpose_x1=transpose_x1, transpose_x2=transpose_x2)
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        return ops.matmul(
            x1.swapaxes(-1, -2) if self.transpose_x1 and x1.ndim > 1 else x1,
            x2.swapaxes(-1, -2) if self.transpose_x2 and x2.ndim > 1 else x2,
        )


class Roll(Cell):
    """Elements moved by ``shift`` along ``axis``, from the end back to the front.

    >>> import diptych as ms
    >>> ms.nn.Roll(1, 0)(ms.Tensor([1.0, 2.0, 3.0])).tolist()
    [3.0, 1.0, 2.0]
    """

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Tensor) -> Tensor:
        return ops.roll(input_x, self.shift, self.axis)


class Tril(Cell):
    """x with zeros above the k-th diagonal of its last two axes.

    >>> import diptych as ms
    >>> ms.nn.Tril()(ms.ops.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """x with zeros below the k-th diagonal of its last two axes.

    >>> import diptych as ms
    >>> ms.nn.Triu()(ms.ops.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return ops.triu(x, k)
