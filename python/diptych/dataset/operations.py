"""Operations on whole rows: shuffle, repeat, take, skip, split, project, filter, zip, concat."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .base import Dataset, Row, names_list
from .config import check_int, check_list, get_seed
from .draws import Run, row_number
from .workers import Pool, chunks

__all__ = ["concat", "zip_datasets"]


class _Reorder(Dataset):
    """A node that passes rows on whole: blocks come from its input."""

    def __init__(self, node: Dataset) -> None:
        super().__init__([node], node._columns)
        self._fresh = node._fresh

    def _can_fetch(self) -> bool:
        return self._inputs[0]._can_fetch()

    def _can_batch(self) -> bool:
        return self._inputs[0]._can_batch()

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        return self._inputs[0]._fetch(indices, numbers, run)


def shuffled(items: Iterable[Any], size: int, rng: np.random.Generator) -> Iterator[Any]:
    """The buffer's way: give a random one of size items, put the next into its place."""
    items = iter(items)
    held = list(itertools.islice(items, size))
    for part in chunks(items, 1024):
        for place, item in zip(rng.integers(0, size, len(part)).tolist(), part, strict=True):
            yield held[place]
            held[place] = item
    for place in rng.permutation(len(held)).tolist():
        yield held[place]


class ShuffleDataset(_Reorder):
    """See Dataset.shuffle."""

    def __init__(self, node: Dataset, buffer_size: int) -> None:
        super().__init__(node)
        self._buffer = check_int("shuffle", "buffer_size", buffer_size, 1)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order, rng = self._inputs[0]._order(run), run.rng(self._place)
        count = self._count()
        if count is not None and count <= self._buffer and not self._endless():
            # As below when all rows fit into the buffer, without a loop over them.
            parts = list(order)
            if not parts or sum(len(indices) for indices, _ in parts) <= self._buffer:
                joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
                if joined:
                    places = rng.permutation(len(joined[0]))
                    yield joined[0][places], joined[1][places]
                return
            order = iter(parts)
        pairs = itertools.chain.from_iterable(
            zip(i.tolist(), n.tolist(), strict=True) for i, n in order
        )
        for part in chunks(shuffled(pairs, self._buffer, rng), 1024):
            table = np.array(part, np.int64)
            yield table[:, 0], table[:, 1]

    def _stream(self, run: Run) -> Iterator[Row]:
        return shuffled(self._inputs[0]._rows(run), self._buffer, run.rng(self._place))


class RepeatDataset(_Reorder):
    """See Dataset.repeat."""

    def __init__(self, node: Dataset, count: int | None) -> None:
        super().__init__(node)
        self._times = check_int("repeat", "count", -1 if count is None else count, -1)
        if self._times == 0:
            raise ValueError("repeat: 'count' is 0; it must be -1 or at least 1")

    def _passes(self, run: Run) -> Iterator[Run]:
        numbers = itertools.count() if self._times == -1 else range(self._times)
        return (run.again(number) for number in numbers)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._endless_guard(self._inputs[0]._order, run)

    def _stream(self, run: Run) -> Iterator[Row]:
        return self._endless_guard(self._inputs[0]._rows, run)

    def _endless_guard(self, give: Callable[[Run], Iterator[Any]], run: Run) -> Iterator[Any]:
        """All passes; an empty one ends them, or -1 would search for ever."""
        for each in self._passes(run):
            item = None
            for item in give(each):
                yield item
            if item is None:
                return

    def _count(self) -> int | None:
        count = self._inputs[0]._count()
        if self._times == -1:
            return count
        return None if count is None else count * self._times

    def _endless(self) -> bool:
        return self._times == -1 or super()._endless()

    def get_repeat_count(self) -> int:
        return self._times


def _sliced(order: Iterator[Any], start: int, stop: int | None) -> Iterator[Any]:
    """Rows start to stop of an order."""
    seen = 0
    for indices, numbers in order:
        low = max(start - seen, 0)
        high = len(indices) if stop is None else min(stop - seen, len(indices))
        if low < high:
            yield indices[low:high], numbers[low:high]
        seen += len(indices)
        if stop is not None and seen >= stop:
            return


class TakeDataset(_Reorder):
    """See Dataset.take."""

    def __init__(self, node: Dataset, count: int) -> None:
        super().__init__(node)
        count = check_int("take", "count", count, -1)
        if count == 0:
            raise ValueError("take: 'count' is 0; it must be -1 or at least 1")
        self._stop = None if count == -1 else count

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return _sliced(self._inputs[0]._order(run), 0, self._stop)

    def _stream(self, run: Run) -> Iterator[Row]:
        return itertools.islice(self._inputs[0]._rows(run), self._stop)

    def _count(self) -> int | None:
        count = self._inputs[0]._count()
        if self._stop is None or (count is None and not super()._endless()):
            return count
        return self._stop if super()._endless() else min(count, self._stop)

    def _endless(self) -> bool:
        return self._stop is None and super()._endless()


class SkipDataset(_Reorder):
    """See Dataset.skip."""

    def __init__(self, node: Dataset, count: int) -> None:
        super().__init__(node)
        self._start = check_int("skip", "count", count, 0)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return _sliced(self._inputs[0]._order(run), self._start, None)

    def _stream(self, run: Run) -> Iterator[Row]:
        return itertools.islice(self._inputs[0]._rows(run), self._start, None)

    def _count(self) -> int | None:
        count = self._inputs[0]._count()
        return None if count is None else max(count - self._start, 0)


# ---- split


def _part_sizes(sizes: Sequence[int | float], n: int) -> list[int]:
    """Row counts of the parts; fractions are rounded so that they add up to n."""
    if not check_list("split", "sizes", sizes):
        raise ValueError("split: 'sizes' is empty; it must hold a size for each part")
    if all(isinstance(size, float) for size in sizes):
        if min(sizes) <= 0 or abs(sum(sizes) - 1) > 1e-9:
            raise ValueError(f"split: 'sizes' is {list(sizes)}; fractions must add up to 1")
        counts = [round(size * n) for size in sizes]
        change = n - sum(counts)
        for i in range(abs(change)):
            counts[i % len(counts)] += 1 if change > 0 else -1
    else:
        counts = [check_int("split", "sizes", size, 1) for size in sizes]
        if sum(counts) != n:
            raise ValueError(
                f"split: 'sizes' is {counts}, together {sum(counts)}; they must add up to the "
                f"{n} rows of the dataset"
            )
    if min(counts) < 1:
        raise ValueError(f"split: 'sizes' gives parts of {counts} rows; each must have a row")
    return counts


def split(node: Dataset, sizes: Sequence[int | float], randomize: bool) -> tuple[Dataset, ...]:
    """See Dataset.split."""
    if node._endless():
        raise ValueError("split: the dataset repeats without end; split it first")
    n = node.get_dataset_size()
    counts = _part_sizes(sizes, n)
    places = np.arange(n)
    if randomize:
        places = np.random.default_rng(get_seed() or 0).permutation(n)
    ends = np.cumsum(counts)
    return tuple(
        PartDataset(node, places[end - count : end])
        for end, count in zip(ends, counts, strict=True)
    )


class PartDataset(_Reorder):
    """The rows at these places of the first epoch's order, in this order, in every epoch."""

    def __init__(self, node: Dataset, places: np.ndarray) -> None:
        super().__init__(node)
        self._places = places

    @staticmethod
    def _fixed(run: Run) -> Run:
        # Parts stay disjoint only when the order below is the same for each of them.
        return Run(get_seed() or 0, 0, (), run.first)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        parts = list(self._inputs[0]._order(self._fixed(run)))
        yield tuple(np.concatenate(part)[self._places] for part in zip(*parts, strict=True))

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        return self._inputs[0]._fetch(indices, numbers, self._fixed(run))

    def _stream(self, run: Run) -> Iterator[Row]:
        wanted = set(self._places.tolist())
        rows = enumerate(self._inputs[0]._rows(self._fixed(run)))
        held = {place: row for place, row in rows if place in wanted}
        for place in self._places.tolist():
            yield held.pop(place)

    def _count(self) -> int | None:
        return len(self._places)


# ---- columns


class ProjectDataset(Dataset):
    """See Dataset.project."""

    def __init__(self, node: Dataset, columns: str | Sequence[str]) -> None:
        self._take = node._find("project", "columns", columns)
        super().__init__([node], [node._columns[i] for i in self._take])
        self._fresh = node._fresh

    def _can_fetch(self) -> bool:
        return self._inputs[0]._can_fetch()

    def _can_batch(self) -> bool:
        return self._inputs[0]._can_batch()

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._inputs[0]._order(run)

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        columns = self._inputs[0]._fetch(indices, numbers, run)
        return tuple(columns[i] for i in self._take)

    def _stream(self, run: Run) -> Iterator[Row]:
        for number, row in self._inputs[0]._rows(run):
            yield number, tuple(row[i] for i in self._take)


class RenameDataset(_Reorder):
    """See Dataset.rename."""

    def __init__(self, node: Dataset, old: str | Sequence[str], new: str | Sequence[str]) -> None:
        super().__init__(node)
        places = node._find("rename", "input_columns", old)
        names = names_list("rename", "output_columns", new)
        if len(names) != len(places):
            raise ValueError(
                f"rename: 'output_columns' holds {len(names)} names; it must hold {len(places)}, "
                "as many as 'input_columns'"
            )
        for place, name in zip(places, names, strict=True):
            self._columns[place] = name
        names_list("rename", "output_columns", self._columns)

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._inputs[0]._order(run)

    def _stream(self, run: Run) -> Iterator[Row]:
        return self._inputs[0]._rows(run)


# ---- filter, flat_map, zip, concat


class FilterDataset(Dataset):
    """See Dataset.filter."""

    def __init__(
        self,
        node: Dataset,
        predicate: Callable[..., bool],
        columns: str | Sequence[str] | None,
        num_workers: int,
    ) -> None:
        super().__init__([node], node._columns)
        if not callable(predicate):
            raise TypeError(f"filter: 'predicate' is {predicate!r}; it must be a function")
        self._predicate, self._num_workers = predicate, num_workers
        names = node._columns if columns is None else columns
        self._take = node._find("filter", "input_columns", names)
        self._pool: Pool | None = None

    def _judge(self, rows: list[Row]) -> list[Row]:
        return [each for each in rows if self._keeps(*each)]

    def _keeps(self, number: int, row: tuple[Any, ...]) -> bool:
        try:
            return bool(self._predicate(*(row[i] for i in self._take)))
        except Exception as error:
            error.add_note(f"filter: in the predicate, row {row_number(number)}")
            raise

    def _stream(self, run: Run) -> Iterator[Row]:
        rows = self._inputs[0]._rows(run)
        if self._num_workers == 1:
            return (each for each in rows if self._keeps(*each))
        if self._pool is None:
            self._pool = Pool("filter", self._judge, self._num_workers, False)
        return itertools.chain.from_iterable(self._pool.map(chunks(rows, 16)))

    def _count(self) -> int | None:
        return None

    def close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        super().close_pool()


class FlatMapDataset(Dataset):
    """See Dataset.flat_map."""

    def __init__(self, node: Dataset, func: Callable[..., Dataset]) -> None:
        self._func = func
        first = next(iter(node._rows(Run(0, 0))), None)
        columns = node._columns if first is None else self._made(*first)._columns
        super().__init__([node], columns)

    def _made(self, number: int, row: tuple[Any, ...]) -> Dataset:
        made = self._func(*row)
        if not isinstance(made, Dataset):
            raise TypeError(
                f"flat_map: 'func' gave {type(made).__name__} for row {row_number(number)}; it "
                "must give a Dataset"
            )
        return made

    def _stream(self, run: Run) -> Iterator[Row]:
        for i, each in enumerate(self._inputs[0]._rows(run)):
            yield from self._made(*each)._rows(run.again(i))

    def _count(self) -> int | None:
        return None


class ZipDataset(Dataset):
    """See Dataset.zip."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        names = [name for node in datasets for name in getattr(node, "_columns", ())]
        super().__init__(datasets, names_list("zip", "datasets", names))

    def _stream(self, run: Run) -> Iterator[Row]:
        for rows in zip(*(node._rows(run) for node in self._inputs), strict=False):
            yield rows[0][0], tuple(value for _, row in rows for value in row)

    def _count(self) -> int | None:
        # Those that repeat without end do not limit the others.
        ending = [node for node in self._inputs if not node._endless()] or self._inputs
        counts = [node._count() for node in ending]
        return None if None in counts else min(counts)  # type: ignore[type-var]

    def _endless(self) -> bool:
        return all(node._endless() for node in self._inputs)


class ConcatDataset(Dataset):
    """See Dataset.concat."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        super().__init__(datasets, datasets[0]._columns)
        for node in datasets:
            if node._columns != self._columns:
                raise ValueError(
                    f"concat: the columns are {self._columns} and {node._columns}; "
                    "all datasets must have the same"
                )

    def _stream(self, run: Run) -> Iterator[Row]:
        for i, node in enumerate(self._inputs):
            yield from node._rows(run.again(i))

    def _count(self) -> int | None:
        counts = [node._count() for node in self._inputs]
        return None if None in counts else sum(counts)  # type: ignore[arg-type]


def dataset_list(where: str, datasets: Any) -> list[Dataset]:
    """Datasets given as one or a list."""
    given = [datasets] if isinstance(datasets, Dataset) else datasets
    nodes = check_list(where, "datasets", given)
    for node in nodes:
        if not isinstance(node, Dataset):
            raise TypeError(f"{where}: 'datasets' holds {node!r}; it must hold datasets")
    if not nodes:
        raise ValueError(f"{where}: 'datasets' is empty; it must hold a dataset")
    return nodes


def zip_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Rows of several datasets side by side, as many as the shortest has.

    >>> import diptych.dataset as ds
    >>> x = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
    >>> y = ds.NumpySlicesDataset([4, 5], "y", shuffle=False)
    >>> [(int(x), int(y)) for x, y in ds.zip((x, y))]
    [(1, 4), (2, 5)]
    """
    return ZipDataset(dataset_list("zip", datasets))


def concat(datasets: Sequence[Dataset]) -> Dataset:
    """The rows of several datasets, one after the other.

    >>> import diptych.dataset as ds
    >>> a, b = ds.NumpySlicesDataset([1], "x"), ds.NumpySlicesDataset([2], "x")
    >>> [int(x) for (x,) in ds.concat([a, b])]
    [1, 2]
    """
    return ConcatDataset(dataset_list("concat", datasets))
