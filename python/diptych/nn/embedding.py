"""Tables of vectors, read by index."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import initializer
from ..common.parameter import Parameter
from .cell import Cell
from .check import check_bool, check_choice, check_positive, check_tensor

__all__ = ["Embedding", "EmbeddingLookup", "MultiFieldEmbeddingLookup"]


class Embedding(Cell):
    """Rows of a table: indices (...) to vectors (..., embedding_size).

    The table ``embedding_table`` (vocab_size, embedding_size) starts normal with sigma 0.01;
    ``padding_idx`` names a row that starts as zeros. ``use_one_hot``: by a product with one-hot
    vectors instead of reading rows.

    >>> import diptych as ms
    >>> ms.nn.Embedding(10, 4)(ms.Tensor([[1, 3], [9, 0]], ms.int32)).shape
    (2, 2, 4)
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
        check_bool("Embedding", use_one_hot=use_one_hot)
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


class EmbeddingLookup(Cell):
    """Rows of ``embedding_table`` (vocab_size, embedding_size); indices past its end give zeros.

    Args:
        param_init: initial values of the table.
        max_norm: rows are shrunk to this L2 norm on the way out, or None.
        target, slice_mode, manual_shapes, sparse, vocab_cache_size: how MindSpore spreads the
            table over devices; checked, without effect on one device.

    >>> import diptych as ms
    >>> net = ms.nn.EmbeddingLookup(4, 2, param_init="ones")
    >>> net(ms.Tensor([0, 9], ms.int32)).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    _slice_modes = ("batch_slice", "field_slice", "table_row_slice", "table_column_slice")

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: tuple | None = None,
        max_norm: float | None = None,
        sparse: bool = True,
        vocab_cache_size: int = 0,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, vocab_size=vocab_size, embedding_size=embedding_size)
        check_choice(cls, "target", target, ("CPU", "DEVICE"))
        check_choice(cls, "slice_mode", slice_mode, self._slice_modes)
        check_bool(cls, sparse=sparse)
        if target == "CPU" and not sparse:
            raise ValueError(f"For '{cls}', 'sparse' must be True when 'target' is 'CPU'")
        if slice_mode == "field_slice" and manual_shapes is None:
            raise ValueError(f"For '{cls}', 'slice_mode' 'field_slice' needs 'manual_shapes'")
        if vocab_cache_size < 0:
            raise ValueError(
                f"For '{cls}', 'vocab_cache_size' must be 0 or more, but got {vocab_cache_size}"
            )
        if max_norm is not None and max_norm <= 0:
            raise ValueError(f"For '{cls}', 'max_norm' must be positive, but got {max_norm}")
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.max_norm = max_norm
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, indices: Tensor) -> Tensor:
        return self._rows(indices)

    def _rows(self, indices: Tensor) -> Tensor:
        inside = indices < self.vocab_size
        rows = ops.embedding(ops.minimum(indices, self.vocab_size - 1), self.embedding_table)
        rows = rows * ops.expand_dims(inside, -1).astype(rows.dtype)
        if self.max_norm is None:
            return rows
        norm = ops.norm(rows, dim=-1, keepdim=True)
        return rows * (self.max_norm / ops.maximum(norm, self.max_norm))

    def extend_repr(self) -> str:
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}"


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Rows of a table, weighted and joined field by field: (batch, field_size, embedding_size).

    ``construct(input_indices, input_values, field_ids)``, each (batch, length): row
    ``input_indices`` times ``input_values`` goes to the field of its ``field_ids``, where
    ``operator`` joins what comes together: "SUM", "MEAN" (the sum over the sum of absolute values)
    or "MAX". A field whose values are all 0 gives zeros. ``feature_num_list`` belongs to
    ``slice_mode="field_slice"``; the other arguments are those of EmbeddingLookup.

    >>> import diptych as ms
    >>> net = ms.nn.MultiFieldEmbeddingLookup(10, 2, 3, param_init="ones")
    >>> ids, values = ms.Tensor([[2, 4, 6]], ms.int32), ms.Tensor([[1.0, 0.5, 2.0]])
    >>> net(ids, values, ms.Tensor([[0, 0, 2]], ms.int32)).tolist()
    [[[1.5, 1.5], [0.0, 0.0], [2.0, 2.0]]]
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: tuple | None = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm,
            sparse, dtype=dtype,
        )  # fmt: skip
        check_positive("MultiFieldEmbeddingLookup", field_size=field_size)
        check_choice("MultiFieldEmbeddingLookup", "operator", operator, ("SUM", "MEAN", "MAX"))
        self.field_size, self.operator = field_size, operator

    def construct(self, input_indices: Tensor, input_values: Tensor, field_ids: Tensor) -> Tensor:
        self._check(input_indices, input_values, field_ids)
        rows = self._rows(input_indices) * ops.expand_dims(input_values, 2)
        fields = ops.one_hot(field_ids, self.field_size).astype(rows.dtype)
        if self.operator == "MAX":
            used = (fields * ops.expand_dims(ops.abs(input_values), 2)).sum(1) != 0
            inside = ops.expand_dims(fields, 3) != 0
            best = ops.where(inside, ops.expand_dims(rows, 2), float("-inf")).amax(1)
            return ops.where(ops.expand_dims(used, 2), best, 0.0)
        fields = fields.swapaxes(1, 2)
        sums = ops.matmul(fields, rows)
        if self.operator == "SUM":
            return sums
        weight = ops.matmul(fields, ops.expand_dims(ops.abs(input_values), 2))
        return ops.where(weight != 0, sums / ops.where(weight != 0, weight, 1.0), 0.0)

    def _check(self, indices: Tensor, values: Tensor, fields: Tensor) -> None:
        cls = "MultiFieldEmbeddingLookup"
        legal = {
            "input_indices": (indices, (ops.int32, ops.int64)),
            "input_values": (values, (ops.float32,)),
            "field_ids": (fields, (ops.int32,)),
        }
        for name, (x, _) in legal.items():
            check_tensor(cls, **{name: x})
            if x.ndim != 2 or x.shape != indices.shape:
                raise ValueError(
                    f"For '{cls}', '{name}' must have the shape (batch, length) of "
                    f"'input_indices', but got {x.shape} beside {indices.shape}"
                )
        for name, (x, dtypes) in legal.items():
            if x.dtype not in dtypes:
                names = " or ".join(d.name for d in dtypes)
                raise TypeError(f"For '{cls}', '{name}' must be {names}, but got {x.dtype.name}")
