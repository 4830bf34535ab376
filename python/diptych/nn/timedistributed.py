"""A layer applied to every step of a sequence."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell

__all__ = ["TimeDistributed"]


class TimeDistributed(Cell):
    """``layer`` applied to each slice of x along ``time_axis``; the results stand along that axis.

    ``reshape_with_axis``: instead, the time axis is joined with this neighbour of it and the layer
    called once, which is faster where slices do not depend on each other's company (not for batch
    norms).

    >>> import diptych as ms
    >>> net = ms.nn.TimeDistributed(ms.nn.Dense(3, 5), time_axis=1)
    >>> net(ms.ops.ones((2, 4, 3))).shape
    (2, 4, 5)
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        if not callable(layer):
            raise TypeError(
                f"For 'TimeDistributed', 'layer' must be a Cell or a primitive, but got {layer!r}"
            )
        for name, axis in (("time_axis", time_axis), ("reshape_with_axis", reshape_with_axis)):
            if isinstance(axis, bool) or not isinstance(axis, int | None):
                raise TypeError(f"For 'TimeDistributed', '{name}' must be an int, but got {axis!r}")
        if not isinstance(time_axis, int):
            raise TypeError("For 'TimeDistributed', 'time_axis' must be an int, but got None")
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim < 3:
            raise ValueError(
                f"For 'TimeDistributed', the input must have at least 3 axes, but its shape is "
                f"{x.shape}"
            )
        time = self._axis(x, "time_axis", self.time_axis)
        if self.reshape_with_axis is None:
            return ops.stack([self.layer(step) for step in ops.unstack(x, time)], time)
        other = self._axis(x, "reshape_with_axis", self.reshape_with_axis)
        if abs(other - time) != 1:
            raise ValueError(
                "For 'TimeDistributed', 'reshape_with_axis' must be next to 'time_axis', but got "
                f"{self.reshape_with_axis} and {self.time_axis}"
            )
        first = min(time, other)
        y = self.layer(ops.flatten(x, start_dim=first, end_dim=first + 1))
        return y.reshape((*y.shape[:first], *x.shape[first : first + 2], *y.shape[first + 1 :]))

    def _axis(self, x: Tensor, name: str, axis: int) -> int:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(
                f"For 'TimeDistributed', '{name}' is {axis}, but the input has shape {x.shape}"
            )
        return axis % x.ndim
