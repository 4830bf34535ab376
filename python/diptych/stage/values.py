"""Values that exist only while staging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._core import Tensor

__all__ = ["Choice", "Dead", "LazyText", "Scalar", "Undef", "contains", "kind_of", "map_items"]


class Choice:
    """One of two values, by a condition known at run time.

    Tensors in it were handed out of their branches, so both sides can be named anywhere; where the
    condition is known (inside a branch on it) the side is taken at once.
    """

    __slots__ = ("cond", "orelse", "then")

    def __init__(self, cond: Tensor, then: Any, orelse: Any) -> None:
        self.cond, self.then, self.orelse = cond, then, orelse

    def __repr__(self) -> str:
        return f"Choice({self.then!r}, {self.orelse!r})"


class Scalar:
    """A Python number known at run time: a 0-d tensor of int64, float64 or bool, which promotes
    like a Python number and goes back to the caller as one."""

    __slots__ = ("kind", "tensor")

    def __init__(self, tensor: Tensor, kind: type) -> None:
        self.tensor, self.kind = tensor, kind

    def __repr__(self) -> str:
        return f"Scalar({self.kind.__name__})"


@dataclass(frozen=True)
class Undef:
    """A name without a value; reading it is the error, not having it. ``failure`` makes another
    error than Python's: a loop has left a value there that is different in each round."""

    name: str
    failure: Callable[[], BaseException] | None = None

    def error(self) -> BaseException:
        """What is raised at the read."""
        if self.failure is not None:
            return self.failure()
        return UnboundLocalError(
            f"cannot access local variable '{self.name}' where it is not associated with a value"
        )


class Dead:
    """A value that nobody will look at, because its path has raised or returned: joined with
    another it takes that one's place. ``was``: what it held, so that an unchanged value stays the
    same object."""

    __slots__ = ("was",)

    def __init__(self, was: Any = None) -> None:
        self.was = was


class LazyText:
    """A string with parts known at run time: static pieces, or ``(value, conversion, format)``."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def text(self, values: Callable[[Any], Any]) -> str:
        """The string, once ``values`` can tell what a part is."""
        made = []
        for part in self.parts:
            if isinstance(part, str):
                made.append(part)
                continue
            value, conversion, spec = part
            value = values(value)
            if conversion is not None:
                value = conversion(value)
            made.append(format(value, spec))
        return "".join(made)


def map_items(value: Any, change: Callable[[Any], Any]) -> Any:
    """A list, tuple or dict with each item changed, of the same type; anything else itself. The
    container itself if no item changes."""
    kind = type(value)
    if kind is dict:
        made = {k: change(v) for k, v in value.items()}
        return made if any(made[k] is not v for k, v in value.items()) else value
    if kind is list or kind is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        items = [change(v) for v in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return kind(*items) if hasattr(value, "_fields") else kind(items)
    return value


def kind_of(value: Any) -> Any:
    """What staging can tell of a value, to be compared: dtype and shape of tensors, the kind of
    numbers known at run time, containers item by item, otherwise the object."""
    if isinstance(value, Tensor):
        return Tensor, value.dtype, value.shape
    if isinstance(value, Scalar):
        return Scalar, value.kind
    if isinstance(value, Choice):
        return Choice, kind_of(value.then), kind_of(value.orelse)
    if isinstance(value, list | tuple):
        return type(value), tuple(map(kind_of, value))
    if type(value) is dict:
        return dict, tuple((key, kind_of(v)) for key, v in value.items())
    if isinstance(value, bool | int | float | str | None):
        return type(value), value
    return id(value)


def contains(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Whether a value, or an item of nested lists, tuples and dicts, is of a kind."""
    if isinstance(value, kinds):
        return True
    if isinstance(value, list | tuple):
        return any(contains(v, kinds) for v in value)
    if type(value) is dict:
        return any(contains(v, kinds) for v in value.values())
    return False
