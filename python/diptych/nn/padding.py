"""Padding layers over ops.pad: a constant, a reflection, or the nearest element."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell
from .check import check_choice, check_number

__all__ = [
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Pad",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad2d",
]


def _counts(cls: str, padding: Any, n: int) -> tuple[int, ...]:
    """Elements before and after each of the n last axes, the last axis first."""
    counts = (padding,) * (2 * n) if isinstance(padding, int) else padding
    if isinstance(padding, bool) or not isinstance(counts, tuple):
        raise TypeError(
            f"For '{cls}', 'padding' must be an int or a tuple of {2 * n} ints, but got {padding!r}"
        )
    if any(isinstance(c, bool) or not isinstance(c, int) for c in counts):
        raise TypeError(f"For '{cls}', 'padding' must hold ints, but got {padding!r}")
    if len(counts) % 2 or len(counts) > 2 * n or not counts:
        raise ValueError(f"For '{cls}', 'padding' must hold {2 * n} ints, but got {padding!r}")
    return counts


class _Padding(Cell):
    """What the layers share; a subclass sets how many axes ``_axes`` and ``_mode``."""

    _axes: int
    _mode: str
    _ranks: tuple[int, ...] | None = None  # legal numbers of axes of the input; None: enough

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _counts(type(self).__name__, padding, self._axes)
        self.value = 0.0
        if self._mode != "constant" and min(self.padding) < 0:
            raise ValueError(
                f"For '{type(self).__name__}', 'padding' must be 0 or more, but got {padding!r}"
            )

    def construct(self, x: Tensor) -> Tensor:
        cls, n = type(self).__name__, len(self.padding) // 2
        if x.ndim < n or (self._ranks is not None and x.ndim not in self._ranks):
            legal = f"at least {n}" if self._ranks is None else " or ".join(map(str, self._ranks))
            raise ValueError(
                f"For '{cls}', the input must have {legal} axes, but its shape is {x.shape}"
            )
        return ops.pad(x, self.padding, self._mode, self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}"


class _ConstantPad(_Padding):
    _mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        check_number(type(self).__name__, value=value)
        self.value = value

    def extend_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """``value`` before and after the last axis: ``padding`` is an int or (left, right); negative
    counts cut.

    >>> import diptych as ms
    >>> ms.nn.ConstantPad1d((1, 2), 7.0)(ms.Tensor([[1.0]])).tolist()
    [[7.0, 1.0, 7.0, 7.0]]
    """

    _axes = 1


class ConstantPad2d(_ConstantPad):
    """``value`` around the last two axes: ``padding`` is an int or (left, right, top, bottom).

    >>> import diptych as ms
    >>> ms.nn.ConstantPad2d(1, 0.5)(ms.ops.ones((1, 2, 2))).shape
    (1, 4, 4)
    """

    _axes = 2


class ConstantPad3d(_ConstantPad):
    """``value`` around the last three axes: ``padding`` is an int or (left, right, top, bottom,
    front, back).

    >>> import diptych as ms
    >>> ms.nn.ConstantPad3d((0, 0, 1, 1, 2, 0), 0.5)(ms.ops.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 2)
    """

    _axes = 3


class ZeroPad2d(_ConstantPad):
    """Zeros around the last two axes: ``padding`` is an int or (left, right, top, bottom).

    >>> import diptych as ms
    >>> ms.nn.ZeroPad2d((1, 0, 0, 0))(ms.ops.ones((1, 2, 2))).shape
    (1, 2, 3)
    """

    _axes = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0)


class ReflectionPad1d(_Padding):
    """The last axis of (N, C, L) or (C, L) mirrored at its ends, which are not repeated.

    >>> import diptych as ms
    >>> ms.nn.ReflectionPad1d((2, 1))(ms.Tensor([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]]
    """

    _axes, _mode, _ranks = 1, "reflect", (2, 3)


class ReflectionPad2d(_Padding):
    """(N, C, H, W) or (C, H, W) mirrored at its edges: ``padding`` is an int or (left, right, top,
    bottom).

    >>> import diptych as ms
    >>> ms.nn.ReflectionPad2d(1)(ms.ops.ones((1, 3, 3))).shape
    (1, 5, 5)
    """

    _axes, _mode, _ranks = 2, "reflect", (3, 4)


class ReflectionPad3d(_Padding):
    """(N, C, D, H, W) or (C, D, H, W) mirrored at its faces: ``padding`` is an int or (left, right,
    top, bottom, front, back).

    >>> import diptych as ms
    >>> ms.nn.ReflectionPad3d(1)(ms.ops.ones((1, 3, 3, 3))).shape
    (1, 5, 5, 5)
    """

    _axes, _mode, _ranks = 3, "reflect", (4, 5)


class ReplicationPad1d(_Padding):
    """The last axis of (N, C, L) or (C, L) with its end elements repeated.

    >>> import diptych as ms
    >>> ms.nn.ReplicationPad1d((2, 1))(ms.Tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 1.0, 2.0, 2.0]]
    """

    _axes, _mode, _ranks = 1, "replicate", (2, 3)


class ReplicationPad2d(_Padding):
    """(N, C, H, W) or (C, H, W) with its edges repeated.

    >>> import diptych as ms
    >>> ms.nn.ReplicationPad2d(1)(ms.ops.ones((1, 3, 3))).shape
    (1, 5, 5)
    """

    _axes, _mode, _ranks = 2, "replicate", (3, 4)


class ReplicationPad3d(_Padding):
    """(N, C, D, H, W) or (C, D, H, W) with its faces repeated.

    >>> import diptych as ms
    >>> ms.nn.ReplicationPad3d(1)(ms.ops.ones((1, 3, 3, 3))).shape
    (1, 5, 5, 5)
    """

    _axes, _mode, _ranks = 3, "replicate", (4, 5)


class Pad(Cell):
    """Elements before and after every axis: ``paddings`` is a tuple of (before, after) pairs.

    ``mode``: "CONSTANT" (zeros), "REFLECT" (ends not repeated), "SYMMETRIC" (ends repeated).

    >>> import diptych as ms
    >>> ms.nn.Pad(((0, 0), (1, 1)), "SYMMETRIC")(ms.Tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        check_choice("Pad", "mode", mode, ("CONSTANT", "REFLECT", "SYMMETRIC"))
        if not isinstance(paddings, tuple):
            raise TypeError(f"For 'Pad', 'paddings' must be a tuple, but got {paddings!r}")
        for pair in paddings:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"For 'Pad', 'paddings' must hold pairs, but got {paddings!r}")
            if any(isinstance(c, bool) or not isinstance(c, int) or c < 0 for c in pair):
                raise ValueError(
                    f"For 'Pad', 'paddings' must hold ints of 0 or more, but got {paddings!r}"
                )
        self.paddings = tuple(tuple(pair) for pair in paddings)
        self.mode = mode

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim != len(self.paddings):
            raise ValueError(
                f"For 'Pad', 'paddings' must hold {x.ndim} pairs, one an axis of the input of "
                f"shape {x.shape}, but got {self.paddings}"
            )
        counts = tuple(c for pair in reversed(self.paddings) for c in pair)
        return ops.pad(x, counts, self.mode.lower())

    def extend_repr(self) -> str:
        return f"paddings={self.paddings}, mode={self.mode!r}"
