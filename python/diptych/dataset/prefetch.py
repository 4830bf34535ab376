"""A background thread that keeps rows ready, and the iterators over it."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _core
from .config import get_prefetch_size, get_seed
from .draws import Run

__all__ = ["DictIterator", "TupleIterator"]


class _Closed(Exception):
    """The reader went away: the producer ends."""


class _End:
    """Stands in the queue where an epoch ends; carries the error that ended it, if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Prefetch:
    """A queue of at most ``size`` items that a thread fills from ``make(epoch)``, epoch by epoch.

    With ``epochs`` None an epoch starts when it is asked for, so that a loop that runs once does
    not begin a second pass; otherwise the thread goes on by itself until all are done.
    """

    def __init__(self, make: Callable[[int], Iterator[Any]], epochs: int | None, size: int) -> None:
        self._items: deque[Any] = deque()
        self._size, self._epochs, self._make = size, epochs, make
        self._asked = 0 if epochs is None else epochs
        self._closed = False
        lock = threading.RLock()
        self._filled, self._drained = threading.Condition(lock), threading.Condition(lock)
        self._thread = threading.Thread(target=self._produce, name="dataset", daemon=True)
        _alive.add(self)
        self._thread.start()

    def _produce(self) -> None:
        epoch = 0
        try:
            while self._wait_asked(epoch):
                self._run_epoch(epoch)
                epoch += 1
        except _Closed:
            pass

    def _run_epoch(self, epoch: int) -> None:
        try:
            for item in self._make(epoch):
                self._put(item)
        except _Closed:
            raise
        except BaseException as error:  # goes to the reader, whatever it is
            self._put(_End(error))
            raise _Closed from None
        self._put(_End())

    def _wait_asked(self, epoch: int) -> bool:
        with self._drained:
            if self._epochs is not None:
                return epoch < self._epochs
            while self._asked <= epoch and not self._closed:
                self._drained.wait()
            return not self._closed

    def _put(self, item: Any) -> None:
        with self._drained:
            while len(self._items) >= self._size and not self._closed:
                self._drained.wait()
            if self._closed:
                raise _Closed
            self._items.append(item)
            self._filled.notify()

    def ask(self, epoch: int) -> None:
        """Lets epoch number ``epoch`` start."""
        with self._drained:
            self._asked = max(self._asked, epoch + 1)
            self._drained.notify()

    def get(self) -> tuple[Any, float]:
        """The next item and the seconds that it was waited for."""
        waited = 0.0
        with self._filled:
            if not self._items:
                start = time.perf_counter()
                while not self._items:
                    if self._closed:
                        return _End(), waited
                    self._filled.wait()
                waited = time.perf_counter() - start
            item = self._items.popleft()
            # Waking the producer for each item would switch threads for each item.
            if len(self._items) <= self._size // 2:
                self._drained.notify()
        return item, waited

    def close(self) -> None:
        """Tells the thread to end; what it has ready is dropped."""
        with self._drained:
            self._closed = True
            self._items.clear()
            self._drained.notify_all()
            self._filled.notify_all()

    def join(self) -> None:
        """Waits for the thread, which ends after the row that it works on."""
        self._thread.join(timeout=5)


# Threads must not run into the interpreter's end.
_alive: weakref.WeakSet[_Prefetch] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for prefetch in list(_alive):
        prefetch.close()
        prefetch.join()


def _to_tensor(value: np.ndarray, share: bool) -> Any:
    """The column as a Tensor; text has no tensors and stays an array."""
    if value.dtype.kind not in "biuf":
        return value
    if not share or not value.size:
        return _core.copy_object(value)
    return _core.share_buffer(np.ascontiguousarray(value))


def _to_numpy(value: np.ndarray, share: bool) -> Any:
    return value if share else np.array(value)


def _producer(
    dataset: Any, seed: int, first: int, columns: list[int] | None, output_numpy: bool, copy: bool
) -> Callable[[int], Iterator[Any]]:
    """What the thread runs for one epoch: rows of converted columns."""
    convert = _to_numpy if output_numpy else _to_tensor
    share = dataset._fresh and not copy

    def make(epoch: int) -> Iterator[Any]:
        for _, row in dataset._rows(Run(seed, first + epoch)):
            chosen = row if columns is None else [row[i] for i in columns]
            yield [convert(np.asarray(value), share) for value in chosen]

    return make


class _Iterator:
    """Rows of one epoch after the other: each ``for`` loop over it runs one epoch."""

    def __init__(
        self,
        dataset: Any,
        columns: list[int] | None,
        num_epochs: int,
        output_numpy: bool,
        do_copy: bool,
    ) -> None:
        seed = get_seed()
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._dataset, self._epoch, self._first = dataset, 0, dataset._epochs
        self._num_epochs = None if num_epochs == -1 else num_epochs
        self._inside, self._done, self._wait = False, False, 0.0
        make = _producer(dataset, seed, self._first, columns, output_numpy, do_copy)
        self._source = _Prefetch(make, self._num_epochs, get_prefetch_size())
        self._finalizer = weakref.finalize(self, self._source.close)

    def __iter__(self) -> Any:
        return self

    def _start_epoch(self) -> None:
        if self._num_epochs is None:
            self._source.ask(self._epoch)
        self._inside, self._wait = True, 0.0
        self._dataset._epochs = self._first + self._epoch + 1

    def _next(self) -> list[Any]:
        if self._done:
            raise StopIteration
        if not self._inside:
            self._start_epoch()
        item, waited = self._source.get()
        self._wait += waited
        self._dataset._wait = self._wait
        if not isinstance(item, _End):
            return item
        self._inside, self._epoch = False, self._epoch + 1
        if item.error is not None or self._epoch == self._num_epochs:
            self.stop()
        if item.error is not None:
            raise item.error
        raise StopIteration

    def get_wait_time(self) -> float:
        """Seconds that the reader has waited for rows in this epoch."""
        return self._wait

    def stop(self) -> None:
        """Ends the iterator and its thread; later reads give nothing."""
        self._done = True
        self._finalizer()

    release = stop


class TupleIterator(_Iterator):
    """Gives lists with one value a column.

    >>> import diptych.dataset as ds
    >>> next(ds.NumpySlicesDataset([5], "x").create_tuple_iterator(output_numpy=True))
    [array(5)]
    """

    def __next__(self) -> list[Any]:
        return self._next()


class DictIterator(_Iterator):
    """Gives {column name: value}.

    >>> import diptych.dataset as ds
    >>> next(ds.NumpySlicesDataset([5], "x").create_dict_iterator(output_numpy=True))
    {'x': array(5)}
    """

    def __next__(self) -> dict[str, Any]:
        return dict(zip(self._dataset.get_col_names(), self._next(), strict=True))
