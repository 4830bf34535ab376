"""What the transforms share: one body for a row and for a block of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .draws import Draws, current

__all__ = ["Transform", "check_number", "check_pair", "check_prob"]


class Transform:
    """A function of arrays. A subclass defines ``_apply`` on n stacked rows with their random
    streams; called on a row it sees n = 1, so blocks and rows give the same values.

    Several columns (an image and its mask) go through one call with the same random numbers.
    """

    # Whether rows of one shape give rows of one shape, so that blocks can be formed.
    uniform = True
    # Whether an element of the result depends on one element and its channel only, and the axes
    # stay or the channels move to the front.
    pointwise = False

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        raise NotImplementedError

    def block(self, columns: list[np.ndarray], draws: Draws) -> list[np.ndarray]:
        """The columns of n rows, each with a first axis n."""
        place, made = draws.place, []
        for column in columns:
            draws.place = place
            made.append(self._apply(column, draws))
        return made

    def __call__(self, *columns: Any) -> Any:
        if not columns:
            raise TypeError(f"{type(self).__name__}: called without a column")
        rows = [np.asarray(column)[None] for column in columns]
        made = [value[0] for value in self.block(rows, current())]
        # Indexing a vector gives a NumPy scalar; columns are arrays.
        made = [np.asarray(value) for value in made]
        return made[0] if len(made) == 1 else tuple(made)

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{name}={value!r}" for name, value in vars(self).items() if not name.startswith("_")
        )
        return f"{type(self).__name__}({inside})"


def check_number(where: str, name: str, value: Any, low: float, high: float = np.inf) -> float:
    """value as a float in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(
            f"{where}: '{name}' is {value!r} of type {type(value).__name__}; it must be a number"
        )
    if not low <= value <= high:
        raise ValueError(f"{where}: '{name}' is {value}; it must be in [{low}, {high}]")
    return float(value)


def check_prob(where: str, value: Any) -> float:
    """A probability."""
    return check_number(where, "prob", value, 0.0, 1.0)


def check_pair(where: str, name: str, value: Any, low: float = -np.inf) -> tuple[float, float]:
    """(lower, upper) with lower <= upper."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{where}: '{name}' is {value!r}; it must be a pair (lower, upper)")
    first, last = (check_number(where, name, v, low) for v in value)
    if first > last:
        raise ValueError(f"{where}: '{name}' is {tuple(value)}; the first must not be larger")
    return first, last
