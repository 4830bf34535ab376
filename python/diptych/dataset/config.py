"""Settings of the data pipelines: seed, workers, prefetching."""

from __future__ import annotations

from typing import Any

from .. import runtime

__all__ = [
    "get_num_parallel_workers",
    "get_prefetch_size",
    "get_seed",
    "set_num_parallel_workers",
    "set_prefetch_size",
    "set_seed",
]

_seed: int | None = None
_workers = 1
_prefetch = 16


def check_int(where: str, name: str, value: object, low: int, high: int = 2**31 - 1) -> int:
    """value as an int in [low, high]; TypeError or ValueError otherwise."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"{where}: '{name}' is {value!r} of type {type(value).__name__}; it must be an int"
        )
    number = value.__index__()  # type: ignore[union-attr]
    if not low <= number <= high:
        raise ValueError(f"{where}: '{name}' is {number}; it must be in [{low}, {high}]")
    return number


def check_list(where: str, name: str, value: object) -> list[Any]:
    """value as a list: of a list, tuple or array."""
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        return list(value)  # type: ignore[call-overload]
    raise TypeError(
        f"{where}: '{name}' is {value!r} of type {type(value).__name__}; it must be a list"
    )


def set_seed(seed: int) -> None:
    """Fixes the order and the random transforms of all pipelines, for any number of workers.

    Without it the seed of ``ms.set_seed`` holds, and without that each iterator draws its own.
    Raises ValueError unless seed is in [0, 2**32 - 1].

    >>> import diptych.dataset as ds
    >>> ds.config.set_seed(1)
    >>> data = ds.NumpySlicesDataset(list(range(5)), "x")
    >>> once = [int(x) for x, in data.create_tuple_iterator(num_epochs=1)]
    >>> data.reset()
    >>> once == [int(x) for x, in data.create_tuple_iterator(num_epochs=1)]
    True
    """
    global _seed
    _seed = check_int("set_seed", "seed", seed, 0, 2**32 - 1)


def get_seed() -> int | None:
    """The seed that pipelines use now; None when each iterator draws its own.

    >>> import diptych.dataset as ds
    >>> ds.config.set_seed(7)
    >>> ds.config.get_seed()
    7
    """
    return runtime.get_seed() if _seed is None else _seed


def set_num_parallel_workers(num: int) -> None:
    """Workers of operations that name no number, 1 to 256; the start value is 1.

    One worker is the pipeline's own background thread: what is vectorised (most transforms of
    arrays) needs no more. Decoding and slow Python functions do.

    >>> import diptych.dataset as ds
    >>> ds.config.set_num_parallel_workers(1)
    """
    global _workers
    _workers = check_int("set_num_parallel_workers", "num", num, 1, 256)


def get_num_parallel_workers() -> int:
    """What set_num_parallel_workers was last given, or 1.

    >>> import diptych.dataset as ds
    >>> ds.config.get_num_parallel_workers()
    1
    """
    return _workers


def worker_number(where: str, num: int | None) -> int:
    """What an argument num_parallel_workers means; None: the setting."""
    return _workers if num is None else check_int(where, "num_parallel_workers", num, 1, 256)


def set_prefetch_size(size: int) -> None:
    """How many rows (batches, after batch) an iterator may hold ready, at least 1; 16 at first.

    >>> import diptych.dataset as ds
    >>> ds.config.set_prefetch_size(16)
    """
    global _prefetch
    _prefetch = check_int("set_prefetch_size", "size", size, 1)


def get_prefetch_size() -> int:
    """What set_prefetch_size was last given, or 16.

    >>> import diptych.dataset as ds
    >>> ds.config.get_prefetch_size() > 0
    True
    """
    return _prefetch
