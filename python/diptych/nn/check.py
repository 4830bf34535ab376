"""Checks of constructor arguments that layers share; messages name class, argument and value."""

from __future__ import annotations

from typing import Any

from .._core import Tensor


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_positive(cls: str, **values: Any) -> None:
    """Raises TypeError or ValueError naming the first argument that is not a positive int."""
    for name, value in values.items():
        if not _is_int(value):
            raise TypeError(
                f"For '{cls}', '{name}' must be a positive int, but got {value!r} of type "
                f"{type(value).__name__}"
            )
        if value <= 0:
            raise ValueError(f"For '{cls}', '{name}' must be a positive int, but got {value!r}")


def check_number(cls: str, **values: Any) -> None:
    """Raises TypeError naming the first argument that is neither int nor float."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(
                f"For '{cls}', '{name}' must be a number, but got {value!r} of type "
                f"{type(value).__name__}"
            )


def check_probability(cls: str, **values: Any) -> None:
    """Raises TypeError or ValueError naming the first argument that is not in [0, 1]."""
    check_number(cls, **values)
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"For '{cls}', '{name}' must be in [0, 1], but got {value}")


def check_bool(cls: str, **values: Any) -> None:
    """Raises TypeError naming the first argument that is not a bool."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise TypeError(
                f"For '{cls}', '{name}' must be a bool, but got {value!r} of type "
                f"{type(value).__name__}"
            )


def check_choice(cls: str, name: str, value: Any, legal: tuple[str, ...]) -> None:
    """Raises TypeError or ValueError unless value is one of the legal names."""
    if not isinstance(value, str):
        raise TypeError(
            f"For '{cls}', '{name}' must be a str, but got {value!r} of type {type(value).__name__}"
        )
    if value not in legal:
        known = ", ".join(map(repr, legal))
        raise ValueError(f"For '{cls}', '{name}' must be one of {known}, but got {value!r}")


def check_tensor(cls: str, **values: Any) -> None:
    """Raises TypeError naming the first argument that is not a Tensor."""
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(
                f"For '{cls}', '{name}' must be a Tensor, but got {type(value).__name__}"
            )


def each_axis(cls: str, name: str, value: Any, n: int, low: int = 1) -> tuple[int, ...]:
    """An int for all n axes, or n ints; none below ``low``."""
    values = (value,) * n if _is_int(value) else value
    if not isinstance(values, tuple | list) or not all(map(_is_int, values)):
        raise TypeError(f"For '{cls}', '{name}' must be an int or {n} ints, but got {value!r}")
    if len(values) != n:
        raise ValueError(f"For '{cls}', '{name}' must be an int or {n} ints, but got {value!r}")
    if any(v < low for v in values):
        raise ValueError(f"For '{cls}', '{name}' must be {low} or more, but got {value!r}")
    return tuple(values)
