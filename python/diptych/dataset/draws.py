"""Random numbers that depend on the row and on nothing else.

Each row of a pipeline has a number, given by its source. What a transform draws for it is a hash
(splitmix64, Steele et al. 2014) of the seed, the epoch, the place of the transform in the pipeline,
that number and a counter: the same whatever worker, batch or order the row meets, and for many rows
at once as for one.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Draws", "Run", "current", "row_number", "row_rng"]

# A row number has a pass (of repeat, of concat) in its upper bits.
_PASS_SHIFT = 40
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@functools.lru_cache(256)
def _start_key(start: tuple[int, ...]) -> np.ndarray:
    """One key (1,) for some numbers."""
    key = np.zeros(1, np.uint64)
    for part in start:
        key = _mix(key + np.uint64(part) + _GOLDEN)
    return key


def row_number(serial: int) -> int:
    """The place of a row in its source, for messages."""
    return int(serial) & ((1 << _PASS_SHIFT) - 1)


@dataclass(frozen=True)
class Run:
    """One pass through a pipeline: what its random numbers depend on, and its first row's number.

    ``path`` tells repeated passes apart, so that each shuffles anew.
    """

    seed: int
    epoch: int
    path: tuple[int, ...] = ()
    first: int = 0

    def again(self, number: int) -> Run:
        """The same for pass ``number`` of a part that runs several times; 0 is the first."""
        if not number:
            return self
        upper = ((self.first >> _PASS_SHIFT) * 4099 + number) % (1 << 22)
        return replace(self, path=(*self.path, number), first=upper << _PASS_SHIFT)

    def rng(self, place: int) -> np.random.Generator:
        """The generator of the node at this place of the pipeline."""
        return np.random.default_rng([self.seed, self.epoch, place, *self.path])

    def draws(self, place: int, numbers: np.ndarray | int) -> Draws:
        """Random numbers for rows (or one), at this place of the pipeline."""
        return Draws((self.seed, self.epoch, place), numbers)


class Draws:
    """Streams of random numbers, one for each of n rows, drawn from in step. Most rows need none,
    so keys are made at the first draw."""

    def __init__(self, start: tuple[int, ...], numbers: np.ndarray | int) -> None:
        self._start, self._numbers = start, numbers
        self._keys: np.ndarray | None = None
        self._count = 0

    def __len__(self) -> int:
        return 1 if isinstance(self._numbers, int) else len(self._numbers)

    def restart(self, number: int) -> None:
        """Becomes the stream of this row."""
        self._numbers, self._keys, self._count = number, None, 0

    @property
    def place(self) -> int:
        """How much was drawn; setting it back repeats the numbers."""
        return self._count

    @place.setter
    def place(self, count: int) -> None:
        self._count = count

    def bits(self) -> np.ndarray:
        """64 random bits a row."""
        if self._keys is None:
            numbers = np.atleast_1d(np.asarray(self._numbers)).astype(np.uint64)
            self._keys = _mix(_start_key(self._start) + numbers * _GOLDEN)
        self._count += 1
        return _mix(self._keys + np.uint64(self._count * 0xD1342543DE82EF95 % 2**64))

    def uniform(self, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """float64 (n,) in [low, high)."""
        return low + (high - low) * ((self.bits() >> np.uint64(11)) * 2.0**-53)

    def integers(self, high: int | np.ndarray) -> np.ndarray:
        """int64 (n,) in [0, high), high at least 1."""
        return np.minimum((self.uniform() * high).astype(np.int64), np.asarray(high) - 1)

    def generator(self) -> np.random.Generator:
        """A NumPy generator that starts from the first row's stream."""
        return np.random.default_rng(int(self.bits()[0]))


_local = threading.local()


def swap(draws: Draws | None) -> Draws | None:
    """Makes the stream what current() gives; returns the one before, to be put back."""
    before = getattr(_local, "draws", None)
    _local.draws = draws
    return before


def current() -> Draws:
    """The stream of the row that this thread works on; outside of pipelines one a thread, from the
    seed of config.set_seed as it was at the thread's first draw."""
    draws = getattr(_local, "draws", None)
    if draws is None:
        from .config import get_seed

        seed = get_seed()
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        draws = _local.draws = Run(seed, 0).draws(0, 0)
    return draws


def row_rng() -> np.random.Generator:
    """A NumPy generator for a function given to map: the same numbers for the same row, seed and
    epoch, whatever worker calls it.

    >>> import diptych.dataset as ds
    >>> noisy = lambda x: x + ds.row_rng().normal()
    >>> data = ds.NumpySlicesDataset([1.0, 2.0], "x", shuffle=False).map(noisy)
    """
    return current().generator()
