"""Lines of text files and rows of CSV files."""

from __future__ import annotations

import csv
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any

import numpy as np

from .base import names_list
from .config import check_list, worker_number
from .samplers import DistributedSampler, Sampler
from .sources import ArrayDataset, make_sampler

__all__ = ["CSVDataset", "Shuffle", "TextFileDataset"]


class Shuffle(StrEnum):
    """What is put into random order: all rows, or only the files.

    >>> import diptych.dataset as ds
    >>> ds.Shuffle.GLOBAL.name
    'GLOBAL'
    """

    GLOBAL = "global"
    FILES = "files"


def find_files(where: str, given: str | os.PathLike | Sequence[Any]) -> list[str]:
    """The files that paths and patterns name, each pattern's in order of their names."""
    single = isinstance(given, str | os.PathLike)
    patterns = [given] if single else check_list(where, "dataset_files", given)
    for pattern in patterns:
        if not isinstance(pattern, str | os.PathLike):
            raise TypeError(f"{where}: 'dataset_files' holds {pattern!r}; it must hold paths")
    found = []
    for pattern in map(os.fspath, patterns):
        names = [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern))
        names = [name for name in names if os.path.isfile(name)]
        if not names:
            raise ValueError(f"{where}: 'dataset_files' names {pattern!r}; there is no such file")
        found += names
    if not found:
        raise ValueError(f"{where}: 'dataset_files' is empty; it must name a file")
    return found


class _FilesSampler(Sampler):
    """The rows of one file after the other, the files in random order."""

    def __init__(self, num_samples: int | None) -> None:
        super().__init__(num_samples)
        self.sizes: list[int] = []

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        ends = np.cumsum(self.sizes)
        order = rng.permutation(len(self.sizes)).tolist()
        return np.concatenate([np.arange(ends[i] - self.sizes[i], ends[i]) for i in order])


def _text_sampler(
    where: str, num_samples: int | None, shuffle: Any, num_shards: int | None, shard_id: int | None
) -> Sampler:
    if shuffle not in (True, False, None, *Shuffle):
        raise ValueError(
            f"{where}: 'shuffle' is {shuffle!r}; it must be a bool, Shuffle.GLOBAL or Shuffle.FILES"
        )
    if shuffle != Shuffle.FILES:
        shuffled = shuffle is not False
        return make_sampler(where, num_samples, shuffled, None, num_shards, shard_id)
    files = _FilesSampler(num_samples)
    if num_shards is None:
        return files
    shards = make_sampler(where, num_samples, False, None, num_shards, shard_id)
    assert isinstance(shards, DistributedSampler)
    files.num_samples = None
    shards.add_child(files)
    return shards


class _TextDataset(ArrayDataset):
    """Rows from text files, read at first use by several threads."""

    def __init__(
        self, files: list[str], columns: Sequence[str], sampler: Sampler, num_workers: int
    ) -> None:
        super().__init__(columns, [], sampler, num_workers)
        self._files = files

    def _read(self, path: str) -> list[Any]:
        """The file's rows."""
        raise NotImplementedError

    def _arrays_of(self, rows: list[Any]) -> list[np.ndarray]:
        """All rows as columns."""
        raise NotImplementedError

    def _length(self) -> int:
        if not self._arrays:
            with ThreadPoolExecutor(self._num_workers) as threads:
                parts = list(threads.map(self._read, self._files))
            self._arrays = self._arrays_of([row for part in parts for row in part])
            chooser = self._sampler.child_sampler or self._sampler
            if isinstance(chooser, _FilesSampler):
                chooser.sizes = [len(part) for part in parts]
        return super()._length()


def _decoded(where: str, path: str) -> Iterator[str]:
    """The file's lines as they are."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: {path} is not UTF-8 text: {error}") from None


def _objects(values: Iterable[str]) -> np.ndarray:
    listed = list(values)
    made = np.empty(len(listed), object)
    made[:] = listed
    return made


class TextFileDataset(_TextDataset):
    """The lines of text files (UTF-8): one column, text. Empty lines are left out.

    Args:
        dataset_files: a path, a pattern such as 'data/*.txt', or a list of them.
        num_samples: at most so many rows.
        num_parallel_workers: threads that read files and make batches.
        shuffle: True or Shuffle.GLOBAL (the default): all lines; Shuffle.FILES: only the files;
            False: nothing.
        num_shards, shard_id: this process's part of the rows.

    >>> import diptych.dataset as ds
    >>> with open("lines.txt", "w") as file:
    ...     _ = file.write("one two\\nthree\\n")
    >>> [str(text) for text, in ds.TextFileDataset("lines.txt", shuffle=False)]
    ['one two', 'three']
    """

    def __init__(
        self,
        dataset_files: Any,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "TextFileDataset"
        super().__init__(
            find_files(where, dataset_files),
            ["text"],
            _text_sampler(where, num_samples, shuffle, num_shards, shard_id),
            worker_number(where, num_parallel_workers),
        )

    def _read(self, path: str) -> list[Any]:
        lines = (line.rstrip("\r\n") for line in _decoded("TextFileDataset", path))
        return [line for line in lines if line]

    def _arrays_of(self, rows: list[Any]) -> list[np.ndarray]:
        return [_objects(rows)]


class CSVDataset(_TextDataset):
    """The rows of CSV files, one column a field.

    Args:
        dataset_files: a path, a pattern such as 'data/*.csv', or a list of them.
        field_delim: the character between fields.
        column_defaults: one value a column, for empty fields; its type is the column's: int
            (int32), float (float32) or str. Without it all columns are text.
        column_names: names; without it each file's first line holds them.
        num_samples: at most so many rows.
        num_parallel_workers: threads that read files and make batches.
        shuffle: as in TextFileDataset.
        num_shards, shard_id: this process's part of the rows.

    >>> import diptych.dataset as ds
    >>> with open("table.csv", "w") as file:
    ...     _ = file.write("a,b\\n1,2.5\\n2,\\n")
    >>> data = ds.CSVDataset("table.csv", column_defaults=[0, -1.0], shuffle=False)
    >>> [(int(a), float(b)) for a, b in data]
    [(1, 2.5), (2, -1.0)]
    """

    _kinds = {int: np.int32, float: np.float32, str: None}

    def __init__(
        self,
        dataset_files: Any,
        field_delim: str = ",",
        column_defaults: Sequence[Any] | None = None,
        column_names: Sequence[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | Shuffle | None = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "CSVDataset"
        if not isinstance(field_delim, str) or len(field_delim) != 1:
            raise ValueError(f"{where}: 'field_delim' is {field_delim!r}; it must be one character")
        files = find_files(where, dataset_files)
        self._delimiter, self._header = field_delim, column_names is None
        names = next(self._lines(files[0]), []) if column_names is None else column_names
        names = names_list(where, "column_names", names)
        if not names:
            raise ValueError(f"{where}: {files[0]} is empty; its first line must name the columns")
        defaults = [""] * len(names) if column_defaults is None else list(column_defaults)
        if len(defaults) != len(names):
            raise ValueError(
                f"{where}: 'column_defaults' holds {len(defaults)} values for {len(names)} columns"
            )
        for value in defaults:
            if type(value) not in self._kinds:
                raise TypeError(
                    f"{where}: 'column_defaults' holds {value!r}; it must hold int, float and str"
                )
        self._defaults = defaults
        super().__init__(
            files,
            names,
            _text_sampler(where, num_samples, shuffle, num_shards, shard_id),
            worker_number(where, num_parallel_workers),
        )

    def _lines(self, path: str) -> Any:
        return csv.reader(_decoded("CSVDataset", path), delimiter=self._delimiter)

    def _read(self, path: str) -> list[Any]:
        reader, rows = self._lines(path), []
        try:
            for row in reader:
                if self._header and reader.line_num == 1 or not row:
                    continue
                rows.append(self._row(row, path, reader.line_num))
        except csv.Error as error:
            raise ValueError(f"CSVDataset: {path}, line {reader.line_num}: {error}") from None
        return rows

    def _row(self, row: list[str], path: str, line: int) -> list[Any]:
        if len(row) != len(self._defaults):
            raise ValueError(
                f"CSVDataset: {path}, line {line}, has {len(row)} fields; it must have "
                f"{len(self._defaults)}"
            )
        made = []
        for name, text, default in zip(self._columns, row, self._defaults, strict=True):
            try:
                made.append(type(default)(text) if text else default)
            except ValueError:
                raise ValueError(
                    f"CSVDataset: {path}, line {line}, column {name!r}: {text!r} is no "
                    f"{type(default).__name__}"
                ) from None
        return made

    def _arrays_of(self, rows: list[Any]) -> list[np.ndarray]:
        columns = list(zip(*rows, strict=True)) or [()] * len(self._defaults)
        made = []
        for name, values, default in zip(self._columns, columns, self._defaults, strict=True):
            kind = self._kinds[type(default)]
            try:
                made.append(_objects(values) if kind is None else np.array(values, kind))
            except OverflowError:
                raise ValueError(f"CSVDataset: column {name!r} holds an int beyond int32") from None
        return made
