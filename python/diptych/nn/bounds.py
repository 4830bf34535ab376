"""Checks of numbers that users give: errors name class, argument and legal range."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["counted", "refuse_locking", "bounded", "pair_of"]


def bounded(
    cls: str,
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """``value`` as float within [low, high]; without low itself with ``open_low``, without high
    with ``open_high``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"For '{cls}', '{name}' must be a number, but got {value!r}")
    is_end = (open_low and value == low) or (open_high and value == high)
    if is_end or not low <= value <= high:
        start, end = "(" if open_low else "[", ")" if open_high else "]"
        raise ValueError(
            f"For '{cls}', '{name}' must be in {start}{low}, {high}{end}, but got {value}"
        )
    return float(value)


def counted(cls: str, name: str, value: Any, low: int = 1) -> int:
    """``value`` as int of at least low."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{cls}', '{name}' must be an int, but got {value!r}")
    if value < low:
        raise ValueError(f"For '{cls}', '{name}' must be at least {low}, but got {value}")
    return value


def pair_of(cls: str, name: str, value: Any) -> tuple[Any, Any]:
    """``value`` as a tuple of two."""
    if not isinstance(value, tuple | list):
        raise TypeError(f"For '{cls}', '{name}' must be a tuple of two numbers, but got {value!r}")
    if len(value) != 2:
        raise ValueError(f"For '{cls}', '{name}' must hold two numbers, but got {len(value)}")
    return value[0], value[1]


def refuse_locking(cls: str, use_locking: bool) -> None:
    """Refuses ``use_locking=True``."""
    if use_locking:
        raise ValueError(f"For '{cls}', use_locking does not apply: updates are never concurrent")
