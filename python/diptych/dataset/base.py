"""Dataset: what all pipelines can do. The nodes stand in operations.py, batching.py, sources.py.

A node gives rows: (number, (array, ...)) pairs, one array a column. A node over arrays can also
give whole blocks: ``_order`` says which rows come in which order, ``_fetch`` brings any of them
stacked. Batches of such nodes never exist as single rows. Both ways give the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .config import check_int, check_list, worker_number
from .draws import Run
from .prefetch import DictIterator, TupleIterator

__all__ = ["Dataset", "Row", "names_list"]

Row = tuple[int, tuple[np.ndarray, ...]]
# Rows that a node over arrays brings at a time when they are wanted one by one.
_BLOCK = 64


def names_list(where: str, name: str, value: Any) -> list[str]:
    """Column names, given as one str or a list of them."""
    names = [value] if isinstance(value, str) else check_list(where, name, value)
    for item in names:
        if not isinstance(item, str) or not item:
            raise TypeError(f"{where}: '{name}' holds {item!r}; it must hold names of columns")
    if len(set(names)) < len(names):
        raise ValueError(f"{where}: '{name}' is {names}; a name must not come twice")
    return names


def regroup(
    order: Iterable[tuple[np.ndarray, np.ndarray]], sizes: Iterator[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The (indices, numbers) of all parts, cut anew into pieces of the given sizes."""
    held_i, held_n = np.zeros(0, np.int64), np.zeros(0, np.int64)
    want = next(sizes)
    for indices, numbers in order:
        held_i, held_n = np.concatenate([held_i, indices]), np.concatenate([held_n, numbers])
        start = 0
        while len(held_i) - start >= want:
            yield held_i[start : start + want], held_n[start : start + want]
            start += want
            want = next(sizes)
        held_i, held_n = held_i[start:], held_n[start:]
    if len(held_i):
        yield held_i, held_n


class Dataset:
    """A source of rows, or an operation on other datasets. Nothing is read before it is iterated.

    Iterating gives lists with one Tensor a column; each pass is a new epoch with a new order and
    new random transforms, which ``config.set_seed`` fixes.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset({"x": [1, 2, 3, 4], "y": [0, 1, 0, 1]}, shuffle=False)
    >>> data = data.map(lambda x: x * 10, "x").batch(2)
    >>> for x, y in data:
    ...     print(x, y)
    [10 20] [0 1]
    [30 40] [0 1]
    """

    # Whether each row's arrays are new, so that a Tensor may take them over.
    _fresh = False

    def __init__(self, inputs: Sequence[Dataset], columns: Sequence[str]) -> None:
        for node in inputs:
            if not isinstance(node, Dataset):
                raise TypeError(
                    f"{type(self).__name__}: got {type(node).__name__}; it must be a Dataset"
                )
        self._inputs = tuple(inputs)
        self._columns = list(columns)
        self._place = 1 + max((node._place for node in inputs), default=0)
        self._epochs = 0
        self._wait = 0.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(columns={self._columns})"

    # ---- what nodes define

    def _stream(self, run: Run) -> Iterator[Row]:
        """The rows one by one; nodes that can fetch need none."""
        raise NotImplementedError

    def _can_fetch(self) -> bool:
        """Whether rows of one shape can be brought stacked, any number of them."""
        return False

    def _can_batch(self) -> bool:
        """The same for rows that are to be one batch, where different shapes are an error."""
        return self._can_fetch()

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Parts of the epoch: (indices for _fetch, row numbers)."""
        raise NotImplementedError

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        """These rows, stacked: one array a column."""
        raise NotImplementedError

    def _count(self) -> int | None:
        """The rows of an epoch, when that is known without reading them."""
        return self._inputs[0]._count()

    def _endless(self) -> bool:
        """Whether an epoch never ends; _count is that of one pass then."""
        return any(node._endless() for node in self._inputs)

    def _workers(self) -> int:
        """The most workers that a node from here on asks for: a batch of blocks uses them."""
        own = getattr(self, "_num_workers", 1)
        return max([own, *(node._workers() for node in self._inputs)])

    # ---- rows

    def _rows(self, run: Run) -> Iterator[Row]:
        if not self._can_fetch():
            yield from self._stream(run)
            return
        sizes = iter(lambda: _BLOCK, None)
        for indices, numbers in regroup(self._order(run), sizes):
            columns = self._fetch(indices, numbers, run)
            yield from zip(numbers.tolist(), zip(*columns, strict=True), strict=True)

    def __iter__(self) -> TupleIterator:
        return self.create_tuple_iterator(num_epochs=1)

    def __len__(self) -> int:
        return self.get_dataset_size()

    def create_tuple_iterator(
        self,
        columns: str | Sequence[str] | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = False,
    ) -> TupleIterator:
        """An iterator of lists with one value a column; each loop over it is one epoch.

        Args:
            columns: which columns; all by default.
            num_epochs: after how many epochs it ends; -1: never.
            output_numpy: arrays instead of Tensors. Text is given as arrays in any case.
            do_copy: copies also what could be handed over.

        >>> import diptych.dataset as ds
        >>> it = ds.NumpySlicesDataset([1, 2], "x", shuffle=False).create_tuple_iterator()
        >>> [[int(x) for x, in it] for epoch in range(2)]
        [[1, 2], [1, 2]]
        """
        self._check_epochs("create_tuple_iterator", num_epochs)
        chosen = None
        if columns is not None:
            chosen = self._find("create_tuple_iterator", "columns", columns)
        return TupleIterator(self, chosen, num_epochs, output_numpy, do_copy)

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> DictIterator:
        """The same, giving {column name: value}.

        >>> import diptych.dataset as ds
        >>> data = ds.NumpySlicesDataset([[1.0, 2.0]], "x")
        >>> next(data.create_dict_iterator(output_numpy=True))
        {'x': array([1., 2.])}
        """
        self._check_epochs("create_dict_iterator", num_epochs)
        return DictIterator(self, None, num_epochs, output_numpy, do_copy)

    def build_vocab(
        self,
        columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Any:
        """The text.Vocab of the words in the columns: see text.Vocab.from_dataset.

        >>> import diptych.dataset as ds
        >>> data = ds.NumpySlicesDataset(["so", "it", "so"], "word")
        >>> data.build_vocab("word", special_tokens=["<unk>"]).vocab()
        {'<unk>': 0, 'so': 1, 'it': 2}
        """
        return text.Vocab.from_dataset(
            self, columns, freq_range, top_k, special_tokens, special_first
        )

    def _check_epochs(self, where: str, num_epochs: int) -> None:
        if check_int(where, "num_epochs", num_epochs, -1) == 0:
            raise ValueError(f"{where}: 'num_epochs' is 0; it must be -1 or at least 1")

    # ---- facts

    def get_col_names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._columns)

    def get_dataset_size(self) -> int:
        """How many rows (batches, after batch) an epoch has; reads them all if it must. What
        repeats without end has the size of one pass."""
        count = self._count()
        if count is not None:
            return count
        if self._endless():
            raise ValueError("get_dataset_size: the dataset repeats without end")
        return sum(1 for _ in self._rows(Run(0, 0)))

    def get_batch_size(self) -> int:
        """What the last batch() was given; 1 without one."""
        return self._inputs[0].get_batch_size() if self._inputs else 1

    def get_repeat_count(self) -> int:
        """What the last repeat() was given; 1 without one."""
        return self._inputs[0].get_repeat_count() if self._inputs else 1

    def get_class_indexing(self) -> dict[str, int]:
        """{class name: label} of datasets that read classes from folders or files; else {}."""
        return self._inputs[0].get_class_indexing() if self._inputs else {}

    def num_classes(self) -> int | None:
        """The number of classes, where the source knows it."""
        return self._inputs[0].num_classes() if self._inputs else None

    def _first_row(self) -> list[np.ndarray]:
        for _, row in self._rows(Run(0, 0)):
            return [np.asarray(value) for value in row]
        raise ValueError("the dataset has no rows")

    def output_shapes(self) -> list[list[int]]:
        """The shapes of the first row's columns."""
        return [list(value.shape) for value in self._first_row()]

    def output_types(self) -> list[Any]:
        """The NumPy types of the first row's columns."""
        return [value.dtype.type for value in self._first_row()]

    def get_wait_time(self) -> float:
        """Seconds that the latest reader waited for rows in its epoch: 0 when the pipeline keeps
        up."""
        return self._wait

    def reset(self) -> None:
        """The next epoch is epoch 0 again."""
        self._epochs = 0

    def set_epoch(self, epoch: int) -> None:
        """The next iterator starts with this epoch: for training that is resumed."""
        self._epochs = check_int("set_epoch", "epoch", epoch, 0)

    def close_pool(self) -> None:
        """Ends the worker threads and processes of this pipeline."""
        for node in self._inputs:
            node.close_pool()

    def _find(self, where: str, name: str, columns: str | Sequence[str]) -> list[int]:
        """Where the named columns stand."""
        names = names_list(where, name, columns)
        for column in names:
            if column not in self._columns:
                raise ValueError(
                    f"{where}: '{name}' names {column!r}; the columns are {self._columns}"
                )
        return [self._columns.index(column) for column in names]

    # ---- operations

    def map(
        self,
        operations: Callable[..., Any] | Sequence[Callable[..., Any]],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        python_multiprocessing: bool = False,
    ) -> Dataset:
        """Applies operations one after the other to columns of each row.

        Transforms over arrays (``vision``, ``transforms``) run on whole batches where rows come
        from arrays; other callables get NumPy arrays row by row.

        Args:
            operations: one callable or a list. The first gets the input columns, each next one
                what the one before gave.
            input_columns: names; the first column by default.
            output_columns: names of the results; those of the inputs by default. With another
                number of them the results come first and the other columns follow.
            num_parallel_workers: how many; config.get_num_parallel_workers() by default. Of
                transforms that run on whole batches each worker makes some of the batches.
            python_multiprocessing: spawned processes instead of threads.

        An error keeps its class and its traceback and gets a note with the operation and the row.

        >>> import diptych.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2], "x", shuffle=False)
        >>> [(int(x), int(y)) for x, y in data.map(lambda x: (x, x * x), "x", ["x", "square"])]
        [(1, 1), (2, 4)]
        """
        return mapping.MapDataset(
            self,
            operations,
            input_columns,
            output_columns,
            worker_number("map", num_parallel_workers),
            python_multiprocessing,
        )

    def batch(
        self,
        batch_size: int | Callable[[Any], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        per_batch_map: Callable[..., Any] | None = None,
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        pad_info: dict[str, Any] | None = None,
        python_multiprocessing: bool = False,
    ) -> Dataset:
        """Stacks batch_size rows into one.

        Args:
            batch_size: at least 1, or a function of a BatchInfo that gives it.
            drop_remainder: leaves a last, smaller batch out.
            num_parallel_workers: workers for per_batch_map, or for fetching from arrays.
            per_batch_map: called with a list of arrays for each input column and a BatchInfo; gives
                as many lists (or arrays) as there are output columns.
            input_columns, output_columns: of per_batch_map; all by default.
            pad_info: {column: (shape, value)} as in padded_batch, for those columns only.
            python_multiprocessing: spawned processes for per_batch_map instead of threads.

        Raises ValueError when the rows of a column have different shapes.

        >>> import diptych.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
        >>> [x.tolist() for x, in data.batch(2)]
        [[1, 2], [3]]
        """
        return batching.BatchDataset(
            self,
            batch_size,
            drop_remainder,
            worker_number("batch", num_parallel_workers),
            batching.BatchMap(self, per_batch_map, input_columns, output_columns, pad_info),
            python_multiprocessing,
        )

    def padded_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict[str, Any] | None = None,
    ) -> Dataset:
        """Batches of rows of different shapes: each is padded at its end.

        pad_info is {column: (shape, value)}; a None in the shape, or None for it, stands for the
        largest of the batch. Without pad_info all columns are padded so, with 0.

        >>> import diptych.dataset as ds
        >>> data = ds.GeneratorDataset([[1], [2, 3]], "x", shuffle=False)
        >>> [x.tolist() for x, in data.padded_batch(2)]
        [[[1, 0], [2, 3]]]
        """
        return self.batch(
            batch_size,
            drop_remainder,
            num_parallel_workers,
            pad_info={name: (None, 0) for name in self._columns} if not pad_info else pad_info,
        )

    def bucket_batch_by_length(
        self,
        column_names: str | Sequence[str],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., int] | None = None,
        pad_info: dict[str, Any] | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Batches of rows of like length: bucket i holds lengths below bucket_boundaries[i].

        Args:
            column_names: passed to element_length_function; one column without it.
            bucket_boundaries: increasing, at least 1.
            bucket_batch_sizes: one more than there are boundaries.
            element_length_function: gives the length; len of the first axis by default.
            pad_info: as in padded_batch; all columns by default.
            pad_to_bucket_boundary: None in a pad shape becomes the bucket's boundary - 1 instead of
                the largest size; an element beyond the last boundary is an error then.
            drop_remainder: leaves buckets out that are not full at the end.

        >>> import diptych.dataset as ds
        >>> data = ds.GeneratorDataset([[1], [2, 3], [4], [5, 6]], "x", shuffle=False)
        >>> [x.tolist() for x, in data.bucket_batch_by_length("x", [2], [2, 2])]
        [[[1], [4]], [[2, 3], [5, 6]]]
        """
        return batching.BucketDataset(
            self,
            column_names,
            (bucket_boundaries, bucket_batch_sizes),
            element_length_function,
            pad_info,
            pad_to_bucket_boundary,
            drop_remainder,
        )

    def shuffle(self, buffer_size: int) -> Dataset:
        """Random order by a buffer: each step gives one of buffer_size rows and reads the next.

        A buffer as large as the dataset gives each order with the same probability.
        """
        return operations.ShuffleDataset(self, buffer_size)

    def repeat(self, count: int | None = None) -> Dataset:
        """The rows count times, each time in a new order; -1 or None: without end."""
        return operations.RepeatDataset(self, count)

    def take(self, count: int = -1) -> Dataset:
        """The first count rows; -1: all."""
        return operations.TakeDataset(self, count)

    def skip(self, count: int) -> Dataset:
        """All but the first count rows."""
        return operations.SkipDataset(self, count)

    def split(self, sizes: Sequence[int | float], randomize: bool = True) -> tuple[Dataset, ...]:
        """Disjoint parts. sizes are row counts that add up to the size, or fractions that add up
        to 1. With randomize the rows are dealt at random, the same way in each epoch.

        >>> import diptych.dataset as ds
        >>> train, test = ds.NumpySlicesDataset(list(range(10)), "x").split([0.8, 0.2])
        >>> len(train), len(test)
        (8, 2)
        """
        return operations.split(self, sizes, randomize)

    def project(self, columns: str | Sequence[str]) -> Dataset:
        """These columns in this order."""
        return operations.ProjectDataset(self, columns)

    def rename(
        self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]
    ) -> Dataset:
        """New names for columns."""
        return operations.RenameDataset(self, input_columns, output_columns)

    def filter(
        self,
        predicate: Callable[..., bool],
        input_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """The rows for which predicate(columns...) is true.

        >>> import diptych.dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3, 4], "x", shuffle=False)
        >>> [int(x) for x, in data.filter(lambda x: x > 2)]
        [3, 4]
        """
        return operations.FilterDataset(
            self, predicate, input_columns, worker_number("filter", num_parallel_workers)
        )

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """The rows of func(columns...), a dataset for each row, one after the other."""
        return operations.FlatMapDataset(self, func)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """apply_func(self), which must be a dataset: for pipelines written as functions."""
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"apply: 'apply_func' gave {type(made).__name__}; it must give a Dataset"
            )
        return made

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Rows side by side, as many as the shortest has."""
        return operations.zip_datasets([self, *operations.dataset_list("zip", datasets)])

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """The rows of all, one dataset after the other."""
        return operations.concat([self, *operations.dataset_list("concat", datasets)])

    def __add__(self, datasets: Dataset) -> Dataset:
        return self.concat(datasets)


# The nodes derive from Dataset, whose methods make them.
from . import batching, mapping, operations, text  # noqa: E402
