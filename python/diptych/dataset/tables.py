"""Runs of transforms that look at one pixel at a time, as tables.

What Rescale, Normalize, ToTensor, TypeCast and HWC2CHW do to a byte depends on the byte and on its
channel. So a run of them is measured once, on an image that holds each byte, and after that C looks
each pixel up: one pass over the batch, with the lock released, and the same values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .draws import Draws

__all__ = ["PixelTables", "with_tables"]


class PixelTables:
    """A run of transforms of which each is ``pointwise``."""

    def __init__(self, operations: list[Any]) -> None:
        self._operations = operations
        self._known: dict[tuple[int, int], tuple[np.ndarray, bool] | None] = {}

    def block(self, columns: list[np.ndarray], draws: Draws) -> list[np.ndarray]:
        """As Transform.block."""
        return [self._apply(column, draws) for column in columns]

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        channels = x.shape[3] if x.ndim == 4 else 1
        # Small blocks are not worth the table.
        if x.dtype == np.uint8 and x.ndim in (3, 4) and x.size >= 1024 * channels:
            key = x.ndim, channels
            if key not in self._known:
                self._known[key] = self._measured(channels, x.ndim, draws)
            found = self._known[key]
            if found is not None:
                return _looked_up(x, *found)
        return self._run(x, draws)

    def _run(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        for operation in self._operations:
            (x,) = operation.block([x], draws)
        return x

    def _measured(self, channels: int, ndim: int, draws: Draws) -> tuple[np.ndarray, bool] | None:
        """(tables (channels, 256), whether channels come first); None: not by tables."""
        ramp = np.arange(256, dtype=np.uint8)[None, :, None]
        if ndim == 4:
            ramp = np.repeat(ramp[..., None], channels, 3)
        made = self._run(ramp, draws)
        if made.dtype.itemsize != 4:
            return None
        if made.shape == ramp.shape:
            return np.ascontiguousarray(made.reshape(256, channels).T), False
        if made.shape == (1, channels, 256, 1):
            return np.ascontiguousarray(made.reshape(channels, 256)), True
        return None


def _looked_up(x: np.ndarray, tables: np.ndarray, channels_first: bool) -> np.ndarray:
    shape = (len(x), len(tables), *x.shape[1:3]) if channels_first else x.shape
    made = np.empty(shape, tables.dtype)
    _core.lookup_pixels(np.ascontiguousarray(x), tables, made, len(x), channels_first)
    return made


def with_tables(operations: list[Any]) -> list[Any]:
    """The operations, runs of pointwise ones joined."""
    made: list[Any] = []
    run: list[Any] = []
    for operation in [*operations, None]:
        if getattr(operation, "pointwise", False):
            run.append(operation)
            continue
        if run:
            made.append(PixelTables(run))
            run = []
        if operation is not None:
            made.append(operation)
    return made
