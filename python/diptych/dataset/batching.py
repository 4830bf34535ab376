"""batch, padded_batch and bucket_batch_by_length."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Dataset, Row, names_list, regroup
from .config import check_int, check_list
from .draws import Run, row_number
from .workers import Pool

__all__ = ["BatchInfo"]


@dataclass(frozen=True)
class BatchInfo:
    """What per_batch_map and a batch_size function are told.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
    >>> numbered = lambda x, info: ([v + 10 * info.get_batch_num() for v in x],)
    >>> data = data.batch(2, per_batch_map=numbered)
    >>> [x.tolist() for (x,) in data]
    [[1, 2], [13]]
    """

    batch: int
    epoch: int

    def get_batch_num(self) -> int:
        """The number of the batch in its epoch, from 0."""
        return self.batch

    def get_epoch_num(self) -> int:
        """The number of the epoch, from 0."""
        return self.epoch


def stack(name: str, values: Sequence[Any], numbers: Sequence[int]) -> np.ndarray:
    """One array of all; ValueError when their shapes differ."""
    arrays = [np.asarray(value) for value in values]
    shape = arrays[0].shape
    for array, number in zip(arrays, numbers, strict=True):
        if array.shape != shape:
            raise ValueError(
                f"batch: column {name!r} has shape {list(shape)} in row {row_number(numbers[0])} "
                f"and {list(array.shape)} in row {row_number(number)}; rows of one batch must "
                "have one shape (padded_batch pads them)"
            )
    return np.array(arrays)


def check_pad_info(where: str, node: Dataset, pad_info: Any) -> dict[str, tuple[Any, Any]]:
    """{column: (shape or None, value)}."""
    checked = {}
    if not isinstance(pad_info, dict):
        raise TypeError(
            f"{where}: 'pad_info' is of type {type(pad_info).__name__}; it must be a dict"
        )
    node._find(where, "pad_info", list(pad_info))
    for name, entry in pad_info.items():
        if not isinstance(entry, tuple | list) or len(entry) != 2:
            raise TypeError(
                f"{where}: 'pad_info' is {entry!r} for {name!r}; it must be (shape, value)"
            )
        checked[name] = (None if entry[0] is None else list(entry[0]), entry[1])
    return checked


def pad_stack(
    name: str, values: Sequence[Any], shape: list[int | None] | None, fill: Any, numbers: Any
) -> np.ndarray:
    """One array of all, each padded at its end to the shape; None: the largest size."""
    arrays = [np.asarray(value) for value in values]
    rank = arrays[0].ndim
    for array, number in zip(arrays, numbers, strict=True):
        if array.ndim != rank or (shape is not None and len(shape) != rank):
            raise ValueError(
                f"padded_batch: column {name!r} has {array.ndim} dimensions in row "
                f"{row_number(number)}; it must have {len(shape) if shape else rank}"
            )
    largest = [max(array.shape[i] for array in arrays) for i in range(rank)]
    asked = shape or [None] * rank
    target = [most if size is None else size for size, most in zip(asked, largest, strict=True)]
    for array, number in zip(arrays, numbers, strict=True):
        if any(n > t for n, t in zip(array.shape, target, strict=True)):
            raise ValueError(
                f"padded_batch: column {name!r} has shape {list(array.shape)} in row "
                f"{row_number(number)}; the shape in 'pad_info' is {target}"
            )
    kind = np.result_type(*arrays)
    if kind.kind in "US" and fill == 0:
        fill = ""
    made = np.full((len(arrays), *target), fill, kind)
    for i, array in enumerate(arrays):
        made[(i, *(slice(n) for n in array.shape))] = array
    return made


class BatchMap:
    """Rows to a batch: a per_batch_map if there is one, then padding or stacking. Picklable when
    the function is; a task is (BatchInfo, [row])."""

    def __init__(
        self,
        node: Dataset,
        function: Callable[..., Any] | None,
        input_columns: str | Sequence[str] | None,
        output_columns: str | Sequence[str] | None,
        pad_info: dict[str, Any] | None,
    ) -> None:
        if function is None and (input_columns is not None or output_columns is not None):
            raise ValueError(
                "batch: 'input_columns' and 'output_columns' belong to 'per_batch_map', "
                "which is not given"
            )
        if function is not None and not callable(function):
            raise TypeError(f"batch: 'per_batch_map' is {function!r}; it must be a function")
        inputs = node._columns if input_columns is None else input_columns
        self.take = node._find("batch", "input_columns", inputs)
        names = [node._columns[i] for i in self.take]
        self.outputs = names_list("batch", "output_columns", output_columns or names)
        self.function = function
        self.columns = list(node._columns)
        if function is not None:
            self.columns = self._arranged(names)
        self.pad_info = check_pad_info("padded_batch", node, pad_info or {})

    def _arranged(self, names: list[str]) -> list[str]:
        if len(self.outputs) == len(names):
            renamed = dict(zip(names, self.outputs, strict=True))
            return [renamed.get(name, name) for name in self.columns]
        return self.outputs + [name for name in self.columns if name not in names]

    def __call__(self, task: tuple[BatchInfo, list[Row]]) -> tuple[np.ndarray, ...]:
        info, rows = task
        numbers = [number for number, _ in rows]
        columns: list[Any] = list(zip(*(row for _, row in rows), strict=True))
        if self.function is not None:
            columns = self._mapped(columns, info)
        made = []
        for name, values in zip(self.columns, columns, strict=True):
            if len(values) != len(numbers):
                numbers = list(range(len(values)))
            if name in self.pad_info:
                made.append(pad_stack(name, values, *self.pad_info[name], numbers))
            else:
                made.append(stack(name, values, numbers))
        return tuple(made)

    def _mapped(self, columns: list[Any], info: BatchInfo) -> list[Any]:
        inputs = [list(map(np.asarray, columns[i])) for i in self.take]
        try:
            given = self.function(*inputs, info)  # type: ignore[misc]
        except Exception as error:
            error.add_note(f"batch: in per_batch_map, batch {info.batch} of epoch {info.epoch}")
            raise
        given = given if isinstance(given, tuple) else (given,)
        for column in given:
            check_list("batch", "what per_batch_map gave", column)
        if len(given) != len(self.outputs):
            raise ValueError(
                f"batch: 'per_batch_map' gave {len(given)} columns; it must give "
                f"{len(self.outputs)}: {self.outputs}"
            )
        if len(self.outputs) != len(self.take):
            kept = [column for i, column in enumerate(columns) if i not in self.take]
            return [*given, *kept]
        placed = dict(zip(self.take, given, strict=True))
        return [placed.get(i, column) for i, column in enumerate(columns)]


class BatchDataset(Dataset):
    """See Dataset.batch."""

    def __init__(
        self,
        node: Dataset,
        batch_size: Any,
        drop_remainder: bool,
        num_workers: int,
        work: BatchMap,
        processes: bool,
    ) -> None:
        if not callable(batch_size):
            batch_size = check_int("batch", "batch_size", batch_size, 1)
        super().__init__([node], names_list("batch", "output_columns", work.columns))
        self._batch_size, self._drop_remainder = batch_size, bool(drop_remainder)
        self._num_workers, self._work, self._processes = num_workers, work, processes
        self._fresh = work.function is None
        self._pool: Pool | None = None

    def _sizes(self, run: Run) -> Iterator[int]:
        if not callable(self._batch_size):
            yield from itertools.repeat(self._batch_size)
        for number in itertools.count():
            size = self._batch_size(BatchInfo(number, run.epoch))
            yield check_int("batch", "batch_size", size, 1)

    def _stream(self, run: Run) -> Iterator[Row]:
        node = self._inputs[0]
        # Functions of single rows are called by one thread, as without batches.
        can = node._can_batch() if self._workers() == 1 else node._can_fetch()
        by_block = self._plain() and can
        tasks = self._block_tasks(run) if by_block else self._row_tasks(run)
        work = self._fetch_task if by_block else self._work
        num = min(self._workers(), os.cpu_count() or 1) if by_block else self._num_workers
        if num > 1 or self._processes:
            if self._pool is None:
                self._pool = Pool("batch", work, num, self._processes)
            made = self._pool.map(tasks)
        else:
            made = map(work, tasks)
        yield from enumerate(made, run.first)

    def _plain(self) -> bool:
        return self._work.function is None and not self._work.pad_info and not self._processes

    def _fetch_task(self, task: Any) -> tuple[np.ndarray, ...]:
        return self._inputs[0]._fetch(*task)

    def _block_tasks(self, run: Run) -> Iterator[Any]:
        sizes, again = itertools.tee(self._sizes(run))
        for indices, numbers in regroup(self._inputs[0]._order(run), sizes):
            if len(indices) < next(again) and self._drop_remainder:
                return
            yield indices, numbers, run

    def _row_tasks(self, run: Run) -> Iterator[Any]:
        rows = self._inputs[0]._rows(run)
        for number, size in enumerate(self._sizes(run)):
            part = list(itertools.islice(rows, size))
            if not part or (len(part) < size and self._drop_remainder):
                return
            yield BatchInfo(number, run.epoch), part

    def _count(self) -> int | None:
        count = self._inputs[0]._count()
        if count is None or callable(self._batch_size):
            return None
        return count // self._batch_size if self._drop_remainder else -(-count // self._batch_size)

    def get_batch_size(self) -> int:
        return -1 if callable(self._batch_size) else self._batch_size

    def close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        super().close_pool()


class BucketDataset(Dataset):
    """See Dataset.bucket_batch_by_length."""

    _fresh = True

    def __init__(
        self,
        node: Dataset,
        column_names: str | Sequence[str],
        buckets: tuple[Sequence[int], Sequence[int]],
        length: Callable[..., int] | None,
        pad_info: dict[str, Any] | None,
        pad_to_boundary: bool,
        drop_remainder: bool,
    ) -> None:
        where = "bucket_batch_by_length"
        super().__init__([node], node._columns)
        self._take = node._find(where, "column_names", column_names)
        if length is None and len(self._take) != 1:
            raise ValueError(
                f"{where}: 'column_names' holds {len(self._take)} names; without "
                "'element_length_function' it must hold one"
            )
        self._bounds = [
            check_int(where, "bucket_boundaries", b, 1)
            for b in check_list(where, "bucket_boundaries", buckets[0])
        ]
        self._sizes = [
            check_int(where, "bucket_batch_sizes", n, 1)
            for n in check_list(where, "bucket_batch_sizes", buckets[1])
        ]
        if not self._bounds or sorted(set(self._bounds)) != self._bounds:
            raise ValueError(
                f"{where}: 'bucket_boundaries' is {self._bounds}; it must hold increasing numbers"
            )
        if len(self._sizes) != len(self._bounds) + 1:
            raise ValueError(
                f"{where}: 'bucket_batch_sizes' holds {len(self._sizes)} numbers; it must hold "
                f"{len(self._bounds) + 1}, one more than 'bucket_boundaries'"
            )
        self._length = length or len
        self._pads = check_pad_info(
            where, node, pad_info or {name: (None, 0) for name in node._columns}
        )
        self._to_boundary, self._drop_remainder = pad_to_boundary, drop_remainder

    def _bucket(self, row: tuple[Any, ...], number: int) -> int:
        try:
            length = int(self._length(*(row[i] for i in self._take)))
        except Exception as error:
            error.add_note(
                f"bucket_batch_by_length: the length of row {row_number(number)} was asked for"
            )
            raise
        bucket = sum(length >= bound for bound in self._bounds)
        if self._to_boundary and bucket == len(self._bounds):
            raise ValueError(
                f"bucket_batch_by_length: row {row_number(number)} has length {length}; with "
                f"'pad_to_bucket_boundary' it must be below {self._bounds[-1]}"
            )
        return bucket

    def _made(self, bucket: int, rows: list[Row]) -> tuple[np.ndarray, ...]:
        numbers = [number for number, _ in rows]
        made = []
        for name, values in zip(
            self._columns, zip(*(r for _, r in rows), strict=True), strict=True
        ):
            if name not in self._pads:
                made.append(stack(name, values, numbers))
                continue
            shape, fill = self._pads[name]
            if self._to_boundary:
                open_shape = shape or [None] * np.asarray(values[0]).ndim
                edge = self._bounds[bucket] - 1
                shape = [edge if size is None else size for size in open_shape]
            made.append(pad_stack(name, values, shape, fill, numbers))
        return tuple(made)

    def _stream(self, run: Run) -> Iterator[Row]:
        held: list[list[Row]] = [[] for _ in self._sizes]
        count = itertools.count(run.first)
        for number, row in self._inputs[0]._rows(run):
            bucket = self._bucket(row, number)
            held[bucket].append((number, row))
            if len(held[bucket]) == self._sizes[bucket]:
                yield next(count), self._made(bucket, held[bucket])
                held[bucket] = []
        for bucket, rows in enumerate(held):
            if rows and not self._drop_remainder:
                yield next(count), self._made(bucket, rows)

    def _count(self) -> int | None:
        return None
