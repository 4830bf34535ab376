"""Datasets over arrays and over Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..common.dtype import dtype_to_nptype
from .base import Dataset, Row, names_list
from .batching import stack
from .config import check_int, check_list, get_seed, worker_number
from .draws import Run
from .samplers import DistributedSampler, RandomSampler, Sampler, SequentialSampler, SubsetSampler
from .workers import Pool, chunks

__all__ = ["ArrayDataset", "GeneratorDataset", "MappableDataset", "NumpySlicesDataset"]


class _GivenSampler(Sampler):
    """Over any object that can be iterated for row numbers."""

    def __init__(self, source: Iterable[int]) -> None:
        super().__init__()
        self._source = source

    def __iter__(self) -> Iterator[int]:
        return iter(self._source)


def make_sampler(
    where: str,
    num_samples: int | None,
    shuffle: bool | None,
    sampler: Any,
    num_shards: int | None,
    shard_id: int | None,
) -> Sampler:
    """The sampler that the usual five arguments of a dataset mean. Rows come in random order
    without any of them."""
    if sampler is not None:
        others = {"num_samples": num_samples, "shuffle": shuffle, "num_shards": num_shards}
        for name, value in others.items():
            if value is not None:
                raise ValueError(f"{where}: 'sampler' and '{name}' cannot be given together")
        if isinstance(sampler, Sampler):
            return sampler
        if isinstance(sampler, list | tuple | np.ndarray):
            return SubsetSampler(sampler)
        if not hasattr(sampler, "__iter__"):
            raise TypeError(
                f"{where}: 'sampler' is of type {type(sampler).__name__}; it must be a Sampler, "
                "a list of row numbers or an object that gives them"
            )
        return _GivenSampler(sampler)
    if (num_shards is None) != (shard_id is None):
        raise ValueError(
            f"{where}: 'num_shards' is {num_shards} and 'shard_id' is {shard_id}; "
            "they must be given together"
        )
    if num_samples is not None:
        num_samples = check_int(where, "num_samples", num_samples, 0) or None
    shuffle = True if shuffle is None else shuffle
    if num_shards is not None:
        return DistributedSampler(num_shards, shard_id, shuffle, num_samples)  # type: ignore[arg-type]
    return RandomSampler(num_samples=num_samples) if shuffle else SequentialSampler(0, num_samples)


class RowReader:
    """Gives rows by their number; picklable where workers are processes."""

    def get(self, index: int) -> tuple[Any, ...]:
        """The columns of row ``index``."""
        raise NotImplementedError

    def __call__(self, indices: list[int]) -> list[tuple[Any, ...]]:
        return [self.get(index) for index in indices]


class MappableDataset(Dataset):
    """A dataset whose rows have numbers: samplers choose among them. Subclasses give ``_length``,
    and fetch blocks or have a reader of rows."""

    _reader: RowReader
    _processes = False
    _chunk = 16  # rows in a task of a worker

    def __init__(self, columns: Sequence[str], sampler: Sampler, num_workers: int = 1) -> None:
        super().__init__([], columns)
        self._sampler, self._num_workers = sampler, num_workers
        self._pool: Pool | None = None

    def _length(self) -> int:
        raise NotImplementedError

    def _labels(self) -> np.ndarray:
        """One class a row, for PKSampler."""
        raise TypeError(f"{type(self).__name__}: a PKSampler needs a dataset with labels")

    def use_sampler(self, new_sampler: Sampler) -> None:
        """Another sampler from the next epoch on."""
        self._sampler = make_sampler("use_sampler", None, None, new_sampler, None, None)

    def add_sampler(self, new_sampler: Sampler) -> None:
        """The new sampler chooses among what the present one gives."""
        new_sampler.add_child(self._sampler)
        self._sampler = new_sampler

    def _chosen(self, run: Run) -> np.ndarray:
        if isinstance(self._sampler, DistributedSampler) and get_seed() is None:
            # Shards must agree on the order though nobody fixed a seed.
            rng = Run(0, run.epoch, run.path).rng(self._place)
        else:
            rng = run.rng(self._place)
        return self._sampler.choose(self._length(), rng, self._labels)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        chosen = self._chosen(run)
        yield chosen, np.arange(run.first, run.first + len(chosen))

    def _keys(self, run: Run) -> Iterable[Any]:
        """What the reader is asked for, one a row."""
        return self._chosen(run).tolist()

    def _stream(self, run: Run) -> Iterator[Row]:
        chosen = self._keys(run)
        if self._num_workers == 1 and not self._processes:
            rows: Iterable[Any] = map(self._reader.get, chosen)
        else:
            if self._pool is None:
                name, num = type(self).__name__, self._num_workers
                self._pool = Pool(name, self._reader, num, self._processes)
            parts = self._pool.map(chunks(chosen, self._chunk))
            rows = (row for part in parts for row in part)
        yield from enumerate(rows, run.first)

    def _count(self) -> int | None:
        return len(self._chosen(Run(0, 0)))

    def close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class ArrayDataset(MappableDataset):
    """Rows of arrays that are all in memory, one array a column. Text may stand in arrays of
    objects, which take no more room than it needs."""

    def __init__(
        self,
        columns: Sequence[str],
        arrays: Sequence[np.ndarray],
        sampler: Sampler,
        num_workers: int,
    ) -> None:
        super().__init__(columns, sampler, num_workers)
        self._arrays = list(arrays)

    def _length(self) -> int:
        return len(self._arrays[0])

    def _can_fetch(self) -> bool:
        return True

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        parts = (array[indices] for array in self._arrays)
        return tuple(part.astype(str) if part.dtype == object else part for part in parts)

    def _labels(self) -> np.ndarray:
        for name, array in zip(self._columns, self._arrays, strict=True):
            if name in ("label", "fine_label"):
                return array.reshape(len(array), -1)[:, 0]
        return super()._labels()


class NumpySlicesDataset(ArrayDataset):
    """Rows of arrays or lists: row i holds element i of each.

    Args:
        data: a list or array (one column), a tuple of them (one column each), or a dict
            {name: list or array}. All must have one length.
        column_names: names; column_0, column_1 ... or the dict's keys by default.
        num_samples: at most so many rows.
        num_parallel_workers: threads that make batches.
        shuffle: random order; True by default.
        sampler: a Sampler or row numbers, instead of num_samples, shuffle and num_shards.
        num_shards, shard_id: this process's part of the rows.

    Floats given as lists become float64, ints int64.

    >>> import numpy as np, diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset((np.eye(2), [7, 8]), ["x", "y"], shuffle=False)
    >>> [(x.tolist(), int(y)) for x, y in data]
    [([1.0, 0.0], 7), ([0.0, 1.0], 8)]
    """

    def __init__(
        self,
        data: Any,
        column_names: str | Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "NumpySlicesDataset"
        if isinstance(data, dict):
            columns, names = list(data.values()), list(data)
        else:
            columns = list(data) if isinstance(data, tuple) else [data]
            names = [f"column_{i}" for i in range(len(columns))]
        if column_names is not None:
            names = names_list(where, "column_names", column_names)
        if not columns or len(names) != len(columns):
            raise ValueError(
                f"{where}: 'column_names' holds {len(names)} names for {len(columns)} columns"
            )
        arrays = [_column(name, column) for name, column in zip(names, columns, strict=True)]
        for name, array in zip(names, arrays, strict=True):
            if len(array) != len(arrays[0]):
                raise ValueError(
                    f"{where}: column {name!r} has {len(array)} rows and {names[0]!r} has "
                    f"{len(arrays[0])}; all columns must have the same number"
                )
        chooser = make_sampler(where, num_samples, shuffle, sampler, num_shards, shard_id)
        num_workers = worker_number(where, num_parallel_workers)
        super().__init__(names_list(where, "column_names", names), arrays, chooser, num_workers)


def _column(name: str, values: Any) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"NumpySlicesDataset: the elements of column {name!r} have different shapes: {error}"
        ) from None
    if array.ndim < 1 or array.dtype.kind == "O":
        raise TypeError(
            f"NumpySlicesDataset: column {name!r} is {type(values).__name__}; it must be an array "
            "or a list of numbers or text"
        )
    return array


class _Rows(RowReader):
    """Rows of a random-access source."""

    def __init__(self, source: Any, columns: list[str], types: list[Any] | None) -> None:
        self.source, self.columns, self.types = source, columns, types

    def row(self, index: int) -> Any:
        """Row ``index`` as the source gives it."""
        try:
            return self.source[index]
        except Exception as error:
            error.add_note(f"GeneratorDataset: in the source's __getitem__, row {index}")
            raise

    def get(self, index: int) -> tuple[np.ndarray, ...]:
        return self.arrays(self.row(index), f"row {index}")

    def arrays(self, row: Any, where: str) -> tuple[np.ndarray, ...]:
        """The row as one array a column, of the asked types; messages call it ``where``."""
        values = row if isinstance(row, tuple) else (row,)
        if len(values) != len(self.columns):
            raise ValueError(
                f"GeneratorDataset: {where} has {len(values)} values; 'column_names' names "
                f"{len(self.columns)}"
            )
        arrays = tuple(
            value if hasattr(value, "getbands") else np.asarray(value) for value in values
        )
        if self.types is not None:
            arrays = tuple(a.astype(t) for a, t in zip(arrays, self.types, strict=True))
        for name, array in zip(self.columns, arrays, strict=True):
            if getattr(array, "dtype", np.dtype("u1")).kind == "O":
                raise TypeError(
                    f"GeneratorDataset: column {name!r} of {where} is "
                    f"{type(values[self.columns.index(name)]).__name__}; it must be a number, "
                    "text, an array or a list of them"
                )
        return arrays


class _Batches(_Rows):
    """Whole batches of a random-access source, asked for by lists of row numbers."""

    def __init__(
        self,
        source: Any,
        columns: list[str],
        types: list[Any] | None,
        collate: Callable[[list[Any]], Any] | None,
    ) -> None:
        super().__init__(source, columns, types)
        if collate is not None and not callable(collate):
            raise TypeError(f"GeneratorDataset: 'collate_fn' is {collate!r}; it must be a function")
        self.collate = collate

    def get(self, index: Any) -> tuple[np.ndarray, ...]:
        numbers = self.numbers(index)
        where = f"the batch of rows {numbers}"
        rows = [self.row(number) for number in numbers]
        if self.collate is not None:
            try:
                made = self.collate(rows)
            except Exception as error:
                error.add_note(f"GeneratorDataset: in collate_fn, {where}")
                raise
            return self.arrays(made, where)
        arrays = [self.arrays(row, f"row {n}") for row, n in zip(rows, numbers, strict=True)]
        columns = zip(self.columns, zip(*arrays, strict=True), strict=True)
        return tuple(stack(name, column, numbers) for name, column in columns)

    @staticmethod
    def numbers(index: Any) -> list[int]:
        """What batch_sampler gave, as a list of int that is not empty."""
        array = np.asarray(list(index) if isinstance(index, Iterable) else index)
        if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
            raise TypeError(
                f"GeneratorDataset: 'batch_sampler' gave {index!r}; it must give lists of row "
                "numbers that are not empty"
            )
        return array.tolist()


class GeneratorDataset(MappableDataset):
    """Rows from Python: an object with ``__getitem__`` and ``__len__``, an iterable, or a function
    that returns one.

    Args:
        source: each row is a tuple with one value a column, or the value when there is one column.
        column_names: the names of the columns.
        column_types: one dtype a column; as the values are by default.
        num_samples: at most so many rows.
        num_parallel_workers: workers that call ``__getitem__``; 1 by default, the pipeline's own
            thread. Iterables are read by one.
        shuffle: random order; True by default for sources with ``__getitem__``. Iterables cannot.
        sampler: a Sampler or row numbers, for sources with ``__getitem__``.
        python_multiprocessing: spawned processes instead of threads, for sources with
            ``__getitem__``; the source is pickled to them.
        num_shards, shard_id: this process's part of the rows.
        batch_sampler: an iterable of lists of row numbers, asked for anew in each epoch; each list
            is a batch. Instead of num_samples, shuffle, sampler, num_shards and shard_id, and for
            sources with ``__getitem__``.
        collate_fn: with batch_sampler: makes a batch, one value a column, of a list of rows; they
            are stacked by default.

    The default of python_multiprocessing is False, not MindSpore's True: spawned processes start
    the script's main module again, which forked ones do not.

    >>> import diptych.dataset as ds
    >>> def squares():
    ...     for i in range(3):
    ...         yield i, i * i
    >>> [(int(x), int(y)) for x, y in ds.GeneratorDataset(squares, ["x", "y"])]
    [(0, 0), (1, 1), (2, 4)]
    >>> data = ds.GeneratorDataset([5, 6, 7], "x", batch_sampler=[[0, 2], [1]])
    >>> [x.tolist() for x, in data]
    [[5, 7], [6]]
    """

    def __init__(
        self,
        source: Any,
        column_names: str | Sequence[str],
        column_types: Sequence[Any] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = False,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        where = "GeneratorDataset"
        names = names_list(where, "column_names", column_names)
        self._random = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not self._random:
            asked = {"shuffle": shuffle, "sampler": sampler, "num_shards": num_shards}
            asked["python_multiprocessing"] = python_multiprocessing
            asked["batch_sampler"] = batch_sampler is not None
            self._check_iterable(source, asked)
        types = None
        if column_types is not None:
            types = [dtype_to_nptype(t) for t in check_list(where, "column_types", column_types)]
            if len(types) != len(names):
                raise ValueError(
                    f"{where}: 'column_types' holds {len(types)} types; it must hold {len(names)}"
                )
        self._source = source
        self._batches = batch_sampler
        self._reader: _Rows = _Rows(source, names, types)
        if batch_sampler is not None:
            given = {"num_samples": num_samples, "shuffle": shuffle, "sampler": sampler}
            given |= {"num_shards": num_shards, "shard_id": shard_id}
            self._check_batches(batch_sampler, given)
            self._reader, self._chunk = _Batches(source, names, types, collate_fn), 1
        elif collate_fn is not None:
            raise ValueError(f"{where}: 'collate_fn' needs a 'batch_sampler'")
        self._processes = bool(python_multiprocessing)
        self._limit = num_samples
        chooser = make_sampler(where, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(names, chooser, worker_number(where, num_parallel_workers))

    @staticmethod
    def _check_iterable(source: Any, asked: dict[str, Any]) -> None:
        if not callable(source) and not hasattr(source, "__iter__"):
            raise TypeError(
                f"GeneratorDataset: 'source' is of type {type(source).__name__}; it must have "
                "__getitem__ and __len__, or be iterable or a function that returns an iterable"
            )
        for name, value in asked.items():
            if value:
                raise ValueError(
                    f"GeneratorDataset: '{name}' needs a source with __getitem__ and __len__; "
                    f"{type(source).__name__} can only be iterated"
                )

    @staticmethod
    def _check_batches(batch_sampler: Any, given: dict[str, Any]) -> None:
        if not isinstance(batch_sampler, Iterable):
            raise TypeError(
                f"GeneratorDataset: 'batch_sampler' is of type {type(batch_sampler).__name__}; it "
                "must be an iterable of lists of row numbers"
            )
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"GeneratorDataset: 'batch_sampler' and '{name}' cannot be given together"
                )

    def _length(self) -> int:
        return len(self._source)

    def _keys(self, run: Run) -> Iterable[Any]:
        return super()._keys(run) if self._batches is None else self._batches

    def _stream(self, run: Run) -> Iterator[Row]:
        return super()._stream(run) if self._random else self._iterated(run)

    def use_sampler(self, new_sampler: Sampler) -> None:
        if self._batches is not None:
            raise ValueError("use_sampler: the dataset has a 'batch_sampler'")
        super().use_sampler(new_sampler)

    def add_sampler(self, new_sampler: Sampler) -> None:
        if self._batches is not None:
            raise ValueError("add_sampler: the dataset has a 'batch_sampler'")
        super().add_sampler(new_sampler)

    def get_batch_size(self) -> int:
        return 1 if self._batches is None else -1

    def _iterated(self, run: Run) -> Iterator[Row]:
        """The rows of an iterable, asked for anew in each epoch."""
        source = self._source() if callable(self._source) else self._source
        if not hasattr(source, "__iter__") and not hasattr(source, "__next__"):
            raise TypeError(
                f"GeneratorDataset: 'source' returned {type(source).__name__}; it must return an "
                "iterable"
            )
        rows = iter(source)
        for number in range(self._limit or 2**62):
            try:
                row = next(rows)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"GeneratorDataset: in the source, row {number}")
                raise
            yield run.first + number, self._reader.arrays(row, f"row {number}")

    def _count(self) -> int | None:
        if self._batches is not None:
            return len(self._batches) if hasattr(self._batches, "__len__") else None
        return super()._count() if self._random else None
