"""Samplers: which rows of a random-access dataset an epoch takes, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .config import check_int

__all__ = [
    "DistributedSampler",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
]


def _samples(name: str, num_samples: int | None) -> int | None:
    return None if num_samples is None else check_int(name, "num_samples", num_samples, 1)


class Sampler:
    """Base of samplers written by users: override ``__iter__`` to give row numbers.

    ``self.dataset_size`` is the number of rows when it is called; ``num_samples`` ends it early.

    >>> class EverySecond(Sampler):
    ...     def __iter__(self):
    ...         yield from range(0, self.dataset_size, 2)
    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2, 3, 4, 5], "x", sampler=EverySecond())
    >>> [int(x) for x, in data]
    [1, 3, 5]
    """

    def __init__(self, num_samples: int | None = None) -> None:
        self.num_samples = _samples(type(self).__name__, num_samples)
        self.child_sampler: Sampler | None = None
        self.dataset_size = 0

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError(f"{type(self).__name__}: a sampler must define __iter__")

    def add_child(self, sampler: Sampler) -> None:
        """Another sampler chooses first; this one chooses among what it gives."""
        if not isinstance(sampler, Sampler):
            raise TypeError(f"add_child: got {type(sampler).__name__}; it must be a Sampler")
        if self.child_sampler is not None:
            raise RuntimeError("add_child: this sampler has a child already")
        self.child_sampler = sampler

    def get_child(self) -> Sampler | None:
        """What add_child was given, or None."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """The upper limit this sampler was made with, or None."""
        return self.num_samples

    def choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        """Row numbers (int64) out of n for one epoch; ``labels()`` gives the rows' classes."""
        if self.child_sampler is None:
            return self._checked(self._choose(n, rng, labels), n)
        among = self.child_sampler.choose(n, rng, labels)
        mine = self._choose(len(among), rng, lambda: np.asarray(labels())[among])
        return among[self._checked(mine, len(among))]

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        self.dataset_size = n
        return np.fromiter(iter(self), np.int64)

    def _checked(self, indices: np.ndarray, n: int) -> np.ndarray:
        indices = indices[: self.num_samples]
        if len(indices) and not (0 <= indices.min() and indices.max() < n):
            bad = indices[(indices < 0) | (indices >= n)][0]
            raise IndexError(
                f"{type(self).__name__}: row {bad} was asked for; it must be in [0, {n - 1}]"
            )
        return indices


class SequentialSampler(Sampler):
    """Rows start_index, start_index + 1, ... in order, num_samples of them at most.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([5, 6, 7], "x", sampler=ds.SequentialSampler(1, 2))
    >>> [int(x) for (x,) in data]
    [6, 7]
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index = check_int("SequentialSampler", "start_index", start_index or 0, 0)

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        if n and self.start_index >= n:
            raise ValueError(
                f"SequentialSampler: 'start_index' is {self.start_index}; "
                f"it must be in [0, {n - 1}]"
            )
        return np.arange(self.start_index, n)


class RandomSampler(Sampler):
    """Random order; with ``replacement`` each row is drawn anew from all.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([5, 6, 7], "x", sampler=ds.RandomSampler(num_samples=2))
    >>> len(data)
    2
    """

    def __init__(self, replacement: bool = False, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.replacement = bool(replacement)

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        if self.replacement:
            return rng.integers(0, n, self.num_samples or n) if n else np.zeros(0, np.int64)
        return rng.permutation(n)


class SubsetSampler(Sampler):
    """The given rows in the given order.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([5, 6, 7], "x", sampler=ds.SubsetSampler([2, 0]))
    >>> [int(x) for (x,) in data]
    [7, 5]
    """

    def __init__(self, indices: int | Sequence[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        given = np.atleast_1d(np.asarray(indices))
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise TypeError(
                f"{type(self).__name__}: 'indices' is {indices!r}; it must be a list of int"
            )
        self.indices = given.astype(np.int64)

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        return self.indices


class SubsetRandomSampler(SubsetSampler):
    """The given rows in random order.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([5, 6, 7], "x", sampler=ds.SubsetRandomSampler([2, 0]))
    >>> sorted(int(x) for (x,) in data)
    [5, 7]
    """

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        return rng.permutation(self.indices)


class WeightedRandomSampler(Sampler):
    """num_samples draws with probabilities weights / sum(weights); len(weights) by default.

    >>> import diptych.dataset as ds
    >>> data = ds.NumpySlicesDataset([5, 6, 7], "x", sampler=ds.WeightedRandomSampler([0, 1, 0], 3))
    >>> [int(x) for (x,) in data]
    [6, 6, 6]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        super().__init__(num_samples)
        self.weights = np.asarray(weights, np.float64)
        self.replacement = bool(replacement)
        w = self.weights
        if w.ndim != 1 or not w.size or not np.isfinite(w).all() or w.min() < 0 or not w.sum():
            raise ValueError(
                f"WeightedRandomSampler: 'weights' is {weights!r}; it must be a list of "
                "numbers of which none is negative and one is positive"
            )

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        if len(self.weights) > n:
            raise ValueError(
                f"WeightedRandomSampler: {len(self.weights)} 'weights' for {n} rows; "
                "there must not be more weights than rows"
            )
        count = self.num_samples or len(self.weights)
        possible = len(self.weights) if self.replacement else int((self.weights > 0).sum())
        if not self.replacement and count > possible:
            raise ValueError(
                f"WeightedRandomSampler: 'num_samples' is {count}; without replacement it must be "
                f"at most {possible}, the number of weights above 0"
            )
        p = self.weights / self.weights.sum()
        return rng.choice(len(p), count, self.replacement, p)


class DistributedSampler(Sampler):
    """Every num_shards-th row from shard_id on: what one of num_shards processes trains with.

    Every shard gets ceil(n / num_shards) rows; the last ones wrap around to the first. ``offset``
    makes row ``offset`` of the order go to shard 0 first (-1: none). Shuffled orders of the shards
    agree when all processes use one seed.

    >>> import diptych.dataset as ds
    >>> second = ds.DistributedSampler(2, 1, shuffle=False)
    >>> data = ds.NumpySlicesDataset([5, 6, 7, 8], "x", sampler=second)
    >>> [int(x) for (x,) in data]
    [6, 8]
    """

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        super().__init__(num_samples)
        self.num_shards = check_int("DistributedSampler", "num_shards", num_shards, 1)
        self.shard_id = check_int("DistributedSampler", "shard_id", shard_id, 0, num_shards - 1)
        self.offset = check_int("DistributedSampler", "offset", offset, -1, num_shards - 1)
        self.shuffle = bool(shuffle)

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        order = rng.permutation(n) if self.shuffle else np.arange(n)
        count = -(-n // self.num_shards)
        start = self.shard_id + max(self.offset, 0)
        return order[(start + self.num_shards * np.arange(count)) % max(n, 1)]


class PKSampler(Sampler):
    """P classes, K rows of each: num_val rows of each of num_class classes, class after class.

    Needs a dataset with one label a row. ``shuffle`` takes classes and their rows at random.

    >>> import diptych.dataset as ds
    >>> rows = {"x": [5, 6, 7, 8], "label": [0, 1, 0, 1]}
    >>> data = ds.NumpySlicesDataset(rows, sampler=ds.PKSampler(1))
    >>> [int(label) for _, label in data]
    [0, 1]
    """

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        super().__init__(num_samples)
        self.num_val = check_int("PKSampler", "num_val", num_val, 1)
        self.num_class = (
            None if num_class is None else check_int("PKSampler", "num_class", num_class, 1)
        )
        self.shuffle, self.class_column = bool(shuffle), class_column

    def _choose(self, n: int, rng: np.random.Generator, labels: Any) -> np.ndarray:
        found = np.asarray(labels())
        classes = np.unique(found)
        if self.num_class is not None and self.num_class > len(classes):
            raise ValueError(
                f"PKSampler: 'num_class' is {self.num_class}; the data has {len(classes)} classes"
            )
        if self.shuffle:
            classes = rng.permutation(classes)
        rows = []
        for label in classes[: self.num_class]:
            of_class = np.flatnonzero(found == label)
            if len(of_class) < self.num_val:
                raise ValueError(
                    f"PKSampler: 'num_val' is {self.num_val}; "
                    f"class {label} has {len(of_class)} rows"
                )
            rows.append((rng.permutation(of_class) if self.shuffle else of_class)[: self.num_val])
        return np.concatenate(rows) if rows else np.zeros(0, np.int64)
