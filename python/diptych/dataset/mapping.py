"""map: operations on the columns of each row, in blocks, in place or by workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import draws
from .base import Dataset, Row, names_list
from .batching import stack
from .draws import Run, row_number
from .tables import with_tables
from .transforms import flattened
from .workers import Pool, chunks

__all__ = ["MapDataset"]

# Rows in a task of a worker. Fixed, so that nothing depends on the number of workers.
_CHUNK = 16


def operation_name(operation: Any) -> str:
    """How messages call it."""
    return getattr(operation, "__name__", None) or type(operation).__name__


class RowMap:
    """What one row goes through; picklable when the operations are. A task is (run, place,
    [(number, inputs)]); the answer holds one tuple of columns a row."""

    def __init__(self, operations: list[Callable[..., Any]], columns: list[str], n: int) -> None:
        self.operations, self.columns, self.n = operations, columns, n

    def __call__(self, task: tuple[Run, int, list[Row]]) -> list[tuple[Any, ...]]:
        run, place, rows = task
        stream = run.draws(place, 0)
        return [self.apply(stream, n, row) for n, row in rows]

    def apply(self, stream: draws.Draws, number: int, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operations on one row's inputs; the stream starts anew for it."""
        stream.restart(number)
        held = draws.swap(stream)
        operation: Any = None
        try:
            for operation in self.operations:
                made = operation(*row)
                row = made if isinstance(made, tuple) else (made,)
        except Exception as error:
            error.add_note(
                f"map: in {operation_name(operation)} on {self.columns}, row {row_number(number)}"
            )
            raise
        finally:
            draws.swap(held)
        if len(row) != self.n:
            raise ValueError(
                f"map: {operation_name(operation)} gave {len(row)} columns at row "
                f"{row_number(number)}; 'output_columns' names {self.n}"
            )
        return row


class MapDataset(Dataset):
    """See Dataset.map."""

    def __init__(
        self,
        node: Dataset,
        operations: Any,
        input_columns: str | Sequence[str] | None,
        output_columns: str | Sequence[str] | None,
        num_workers: int,
        processes: bool,
    ) -> None:
        given = list(operations) if isinstance(operations, list | tuple) else [operations]
        for operation in given:
            if not callable(operation):
                raise TypeError(f"map: 'operations' holds {operation!r}; it must hold callables")
        given = flattened(given)
        if not given:
            raise ValueError("map: 'operations' is empty; it must hold at least one callable")
        inputs = node._columns[:1] if input_columns is None else input_columns
        self._take = node._find("map", "input_columns", inputs)
        names = [node._columns[i] for i in self._take]
        outputs = names_list("map", "output_columns", output_columns or names)
        self._outputs = outputs
        self._work = RowMap(given, names, len(outputs))
        self._num_workers, self._processes = num_workers, processes
        self._pool: Pool | None = None
        super().__init__([node], self._arrange(node._columns, names, outputs))
        uniform = all(getattr(operation, "uniform", False) for operation in given)
        self._blocks = uniform and len(outputs) == len(names)
        self._steps = with_tables(given) if self._blocks else []

    def _arrange(self, columns: list[str], names: list[str], outputs: list[str]) -> list[str]:
        """The columns of the result; remembers where each comes from: (row, position)."""
        made = list(zip(outputs, [(1, i) for i in range(len(outputs))], strict=True))
        if len(names) == len(outputs):
            placed = dict(zip(names, made, strict=True))
            pairs = [placed.get(name, (name, (0, i))) for i, name in enumerate(columns)]
        else:
            rest = [(n, (0, i)) for i, n in enumerate(columns) if n not in names]
            pairs = made + rest
        result = [name for name, _ in pairs]
        self._sources = [source for _, source in pairs]
        return names_list("map", "output_columns", result)

    def _merge(self, row: Sequence[Any], made: Sequence[Any]) -> tuple[Any, ...]:
        both = (row, made)
        return tuple([both[which][i] for which, i in self._sources])

    # ---- blocks

    def _can_fetch(self) -> bool:
        return self._blocks and not self._processes and self._inputs[0]._can_fetch()

    def _can_batch(self) -> bool:
        by_one = self._num_workers == 1 and not self._processes
        return self._can_fetch() or (by_one and self._inputs[0]._can_fetch())

    def _order(self, run: Run) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return self._inputs[0]._order(run)

    def _fetch(self, indices: np.ndarray, numbers: np.ndarray, run: Run) -> tuple[Any, ...]:
        columns = self._inputs[0]._fetch(indices, numbers, run)
        inputs = [columns[i] for i in self._take]
        if not len(numbers):
            return columns
        made = self._made_at_once(inputs, numbers, run) if self._blocks else None
        if made is None:
            rows = zip(numbers.tolist(), zip(*inputs, strict=True), strict=True)
            parts = map(_arrays, self._work((run, self._place, list(rows))))
            named = zip(self._outputs, zip(*parts, strict=True), strict=True)
            made = [stack(name, values, numbers.tolist()) for name, values in named]
        return self._merge(columns, made)

    def _made_at_once(
        self, inputs: list[np.ndarray], numbers: np.ndarray, run: Run
    ) -> list[np.ndarray] | None:
        """What transforms of blocks make; None after an error, which names its row when it comes
        again row by row."""
        stream = run.draws(self._place, numbers)
        try:
            for operation in self._steps:
                inputs = operation.block(inputs, stream)
        except Exception:
            return None
        return inputs

    # ---- rows

    def _stream(self, run: Run) -> Iterator[Row]:
        rows = self._inputs[0]._rows(run)
        if self._num_workers == 1 and not self._processes:
            stream = run.draws(self._place, 0)
            for number, row in rows:
                inputs = tuple([row[i] for i in self._take])
                yield number, self._merge(row, _arrays(self._work.apply(stream, number, inputs)))
            return
        if self._pool is None:
            self._pool = Pool("map", self._work, self._num_workers, self._processes)
        kept: list[list[Row]] = []
        for answers in self._pool.map(self._tasks(rows, run, kept)):
            for (number, row), made in zip(kept.pop(0), answers, strict=True):
                yield number, self._merge(row, _arrays(made))

    def _tasks(self, rows: Iterator[Row], run: Run, kept: list[list[Row]]) -> Iterator[Any]:
        for part in chunks(rows, _CHUNK):
            kept.append(part)
            yield run, self._place, [(n, tuple(row[i] for i in self._take)) for n, row in part]

    def close_pool(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        super().close_pool()


def _arrays(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Plain numbers and lists as arrays; images of Pillow stay as they are."""
    return tuple([value if type(value) is np.ndarray else _array(value) for value in row])


def _array(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "getbands"):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.zeros(0, object)
    if array.dtype.kind == "O":
        raise TypeError(
            f"map: an operation gave {value!r}; it must give a number, text, an array or a list "
            "of them that has one shape"
        )
    return array
