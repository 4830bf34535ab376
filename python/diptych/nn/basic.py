"""Layers without a family of their own: Dense, Embedding, Dropout, Flatten, Identity."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from .activation import get_activation
from .cell import Cell

__all__ = ["Dense", "Dropout", "Embedding", "Flatten", "Identity"]


def check_positive(cls: str, **values: int) -> None:
    """Raises ValueError naming the first argument that is not a positive int."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise ValueError(f"For '{cls}', '{name}' must be a positive int, but got {value!r}")


class Dense(Cell):
    """Linear layer: ``y = x weight^T + bias``, then ``activation``.

    Input (..., in_channels), output (..., out_channels); weight (out_channels, in_channels).

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


class Embedding(Cell):
    """Rows of a table: indices (...) to vectors (..., embedding_size).

    ``padding_idx`` names a row that starts as zeros.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: Any = None,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        check_positive("Embedding", vocab_size=vocab_size, embedding_size=embedding_size)
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.use_one_hot, self.padding_idx = use_one_hot, padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if not -vocab_size <= padding_idx < vocab_size:
                raise ValueError(
                    f"For 'Embedding', 'padding_idx' must be in [{-vocab_size}, {vocab_size - 1}], "
                    f"but got {padding_idx}"
                )
            table[padding_idx] = 0
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids: Tensor) -> Tensor:
        if self.use_one_hot:
            hot = ops.one_hot(ids, self.vocab_size).astype(self.embedding_table.dtype)
            return ops.matmul(hot, self.embedding_table)
        return ops.embedding(ids, self.embedding_table)

    def extend_repr(self) -> str:
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}"


class Dropout(Cell):
    """While training, zeroes each element with probability ``p`` and divides the rest by 1 - p.

    ``keep_prob`` is the old spelling of 1 - p and is used when ``p`` is None.
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = None) -> None:
        super().__init__()
        if p is None:
            if not 0 < keep_prob <= 1:
                raise ValueError(f"For 'Dropout', 'keep_prob' must be in (0, 1], got {keep_prob}")
            p = 1 - keep_prob
        elif not 0 <= p < 1:
            raise ValueError(f"For 'Dropout', 'p' must be in [0, 1), but got {p}")
        self.p = p

    def construct(self, x: Tensor) -> Tensor:
        return ops.dropout(x, self.p, training=self.training) if self.training else x

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Flatten(Cell):
    """Joins the axes ``start_dim`` to ``end_dim`` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """Gives its input back."""

    def construct(self, x: Tensor) -> Tensor:
        return x
