"""Batches of any data set: one of diptych.dataset's, or any iterable of tuples, lists, dicts,
Tensors or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._core import Tensor

__all__ = ["batches", "check_dataset", "count_batches"]


def check_dataset(name: str, dataset: Any) -> Iterable:
    """``dataset``, which can be iterated, or an error naming it."""
    if isinstance(dataset, Tensor | str | bytes) or not isinstance(dataset, Iterable):
        raise TypeError(
            f"Model: '{name}' must be a data set (an iterable of batches), but got "
            f"{type(dataset).__name__}"
        )
    return dataset


def count_batches(dataset: Any) -> int:
    """Batches in an epoch; 0 when the data set does not know."""
    if hasattr(dataset, "get_dataset_size"):
        return max(int(dataset.get_dataset_size()), 0)
    try:
        return len(dataset)
    except TypeError:
        return 0


def _tensor(x: Any) -> Any:
    if isinstance(x, Tensor) or not hasattr(x, "__array__"):
        return x
    return Tensor(x)


def batches(dataset: Any) -> Iterator[tuple[Any, ...]]:
    """Each batch as a tuple; arrays become Tensors, the values of dicts stand in their order."""
    for batch in dataset:
        if isinstance(batch, dict):
            batch = batch.values()
        elif not isinstance(batch, tuple | list):
            batch = (batch,)
        yield tuple(map(_tensor, batch))
