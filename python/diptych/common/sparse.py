"""Sparse matrices in compressed rows."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor, op_table

__all__ = ["CSRTensor"]


class CSRTensor:
    """A matrix of which only some elements are stored, row by row.

    Row i has the elements ``indptr[i]`` to ``indptr[i + 1] - 1`` of ``values``, in the columns that
    ``indices`` names. It is not changed: what changes gives another one. Its parts are Tensors, so
    compiled functions take and return it, and gradients reach ``values``.

    Args:
        indptr: int32 or int64, one more than the matrix has rows.
        indices: of the same dtype, the column of each stored element.
        values: the stored elements, as many as indices.
        shape: rows and columns.

    Raises:
        TypeError: a part is no Tensor, or indices are not integers.
        ValueError: shapes that do not fit together.

    >>> import diptych as ms
    >>> parts = ms.Tensor([0, 1, 3]), ms.Tensor([1, 0, 2]), ms.Tensor([5.0, 6.0, 7.0])
    >>> m = ms.CSRTensor(*parts, shape=(2, 3))
    >>> m.to_dense().tolist()
    [[0.0, 5.0, 0.0], [6.0, 0.0, 7.0]]
    >>> m.mv(ms.Tensor([1.0, 2.0, 3.0])).tolist()
    [10.0, 27.0]
    """

    def __init__(
        self, indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> None:
        for name, part in (("indptr", indptr), ("indices", indices), ("values", values)):
            if not isinstance(part, Tensor):
                raise TypeError(f"CSRTensor: {name} is of type {type(part).__name__}, not Tensor")
            if part.ndim != 1:
                raise ValueError(f"CSRTensor: {name} has shape {part.shape}; it must be 1-d")
        for name, part in (("indptr", indptr), ("indices", indices)):
            if part.dtype.name not in ("int32", "int64"):
                raise TypeError(
                    f"CSRTensor: {name} is of {part.dtype.name}; it must be int32 or int64"
                )
        sizes = tuple(shape)
        if len(sizes) != 2 or not all(type(n) is int and n >= 0 for n in sizes):
            raise ValueError(f"CSRTensor: shape is {shape!r}; it must be two ints from 0 on")
        if indptr.shape[0] != sizes[0] + 1:
            raise ValueError(
                f"CSRTensor: indptr has {indptr.shape[0]} elements; {sizes[0]} rows need "
                f"{sizes[0] + 1}"
            )
        if indices.shape != values.shape:
            raise ValueError(
                f"CSRTensor: indices has shape {indices.shape}, values {values.shape}; they must "
                "be alike"
            )
        self.indptr, self.indices, self.values, self.shape = indptr, indices, values, sizes

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def size(self) -> int:
        """How many elements are stored."""
        return self.values.shape[0]

    def _with(self, values: Tensor) -> CSRTensor:
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def _rows(self) -> Tensor:
        """The row of each stored element."""
        places = op_table["arange"](0, self.size, 1, self.indptr.dtype)
        return op_table["searchsorted"](self.indptr, places, right=True) - 1

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, tuple[int, int]]:
        """``indptr, indices, values, shape``."""
        return self.indptr, self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """All elements, as a Tensor; of an element stored twice the sum."""
        rows, columns = self.shape
        place = self._rows() * columns + self.indices
        empty = op_table["zeros"]((rows * columns,), self.dtype)
        filled = op_table["tensor_scatter_elements"](empty, place, self.values, 0, "add")
        return filled.reshape(self.shape)

    def astype(self, dtype: Any) -> CSRTensor:
        """With the values in another dtype."""
        return self._with(op_table["cast"](self.values, _core.dtype(dtype)))

    def abs(self) -> CSRTensor:
        """With the absolute values."""
        return self._with(op_table["abs"](self.values))

    def mv(self, vector: Tensor) -> Tensor:
        """The product with a vector of as many elements as there are columns, or with a column."""
        if vector.shape not in ((self.shape[1],), (self.shape[1], 1)):
            raise ValueError(
                f"CSRTensor.mv: vector has shape {vector.shape}; it must be ({self.shape[1]},) or "
                f"({self.shape[1]}, 1)"
            )
        if vector.ndim == 2:
            return self.mm(vector)
        return self.mm(vector.reshape((-1, 1))).reshape((-1,))

    def mm(self, matrix: Tensor) -> Tensor:
        """The product with a matrix that has as many rows as this one columns."""
        if matrix.ndim != 2 or matrix.shape[0] != self.shape[1]:
            raise ValueError(
                f"CSRTensor.mm: matrix has shape {matrix.shape}; it must be 2-d with "
                f"{self.shape[1]} rows"
            )
        terms = op_table["gather"](matrix, self.indices, 0) * self.values.reshape((-1, 1))
        empty = op_table["zeros"]((self.shape[0], matrix.shape[1]), terms.dtype)
        return op_table["index_add"](empty, self._rows(), terms, 0)

    def sum(self, axis: int) -> Tensor:
        """The sums of rows (axis 1: one column) or of columns (axis 0: one row)."""
        if axis not in (0, 1):
            raise ValueError(f"CSRTensor.sum: axis is {axis!r}; it must be 0 or 1")
        at, n = (self._rows(), self.shape[0]) if axis else (self.indices, self.shape[1])
        empty = op_table["zeros"]((n,), self.dtype)
        sums = op_table["index_add"](empty, at, self.values, 0)
        return sums.reshape((-1, 1) if axis else (1, -1))

    def __neg__(self) -> CSRTensor:
        return self._with(-self.values)

    def _scaled(self, other: Any, op: str) -> CSRTensor:
        if isinstance(other, Tensor) and other.size > 1:
            wide = op_table["broadcast_to"](other, self.shape).reshape((-1,))
            place = self._rows() * self.shape[1] + self.indices
            other = op_table["gather"](wide, place, 0)
        elif isinstance(other, Tensor):
            other = other.reshape(())
        return self._with(op_table[op](self.values, other))

    def __mul__(self, other: Any) -> CSRTensor:
        """The stored elements times a number, or those of a Tensor that broadcasts to the shape."""
        return self._scaled(other, "mul")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> CSRTensor:
        """The stored elements divided likewise."""
        return self._scaled(other, "div")

    def __repr__(self) -> str:
        parts = (f"{n}={getattr(self, n)!r}" for n in ("shape", "indptr", "indices", "values"))
        return f"CSRTensor({', '.join(parts)})"
