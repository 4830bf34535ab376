"""Errors of staging: class, sentence, code, then the user's line with a caret, why, and a fix.

All derive from GraphError, which staged ``try`` statements never catch, and from the Python class
that the message names, so ``except TypeError`` around the compiled call works.
"""

from __future__ import annotations

import linecache
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "DeadPath",
    "GraphError",
    "GraphRuntimeError",
    "GraphTypeError",
    "Poisoned",
    "Position",
    "StaticNeeded",
    "excerpt",
    "joined",
    "location",
    "message",
]


class GraphError(Exception):
    """A program that cannot become a graph."""


class GraphTypeError(TypeError, GraphError):
    """GraphError that is a TypeError."""


class GraphRuntimeError(RuntimeError, GraphError):
    """GraphError that is a RuntimeError."""


class StaticNeeded(GraphTypeError):
    """A value known only at run time stands where staging must know it."""


class Poisoned(GraphTypeError):
    """A value that there is none of, because of an error that is noted already."""


class DeadPath(BaseException):
    """Both sides of a fork raise: nothing after it is reached. Never leaves the interpreter."""


@dataclass(frozen=True)
class Position:
    """A piece of the user's source."""

    filename: str
    line: int
    column: int
    end_column: int
    function: str

    def __str__(self) -> str:
        short = self.filename.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{short}:{self.line}, in {self.function}"


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def excerpt(position: Position, remark: str = "") -> str:
    """The line with carets below; columns of ``position`` are UTF-8 bytes, as in ``ast``."""
    raw = linecache.getline(position.filename, position.line).rstrip("\n")
    if not raw.strip():
        return ""
    data = raw.encode()
    before = data[: position.column].decode(errors="replace").expandtabs(4)
    marked = data[position.column : position.end_column].decode(errors="replace")
    number = str(position.line)
    carets = " " * _width(before) + "^" * max(1, _width(marked))
    remark = f" {remark}" if remark else ""
    return (
        f"    {number} | {raw.expandtabs(4)}\n    {' ' * len(number)} | {carets}{remark}".rstrip()
    )


def location(stack: Sequence[Position], remark: str = "") -> str:
    """The innermost of the user's calls with its line, and who called it."""
    called = f"  (called from {stack[-2]})" if len(stack) > 1 else ""
    shown = excerpt(stack[-1], remark)
    return f"  {stack[-1]}{called}" + (f"\n{shown}" if shown else "")


def message(
    sentence: str,
    code: str,
    stack: Sequence[Position],
    remark: str = "",
    why: str = "",
    fix: str = "",
    more: Sequence[tuple[Position, str]] = (),
) -> str:
    """The text of an error: ``stack`` is the user's calls, outermost first; ``more`` other places
    that explain it."""
    lines = [f"{sentence}  [{code}]"]
    for position, note in more:
        lines += [f"  {position}", excerpt(position, note)]
    if stack:
        lines.append(location(stack, remark))
    elif remark:
        lines.append(f"  {remark}")
    if why:
        lines.append(f"  Why: {why}")
    if fix:
        lines.append(f"  Fix: {fix}")
    return "\n".join(line for line in lines if line)


def joined(errors: Sequence[GraphError]) -> GraphError:
    """Several errors as one, of the class of the first."""
    first = errors[0]
    if len(errors) == 1:
        return first
    texts = [str(error) for error in errors]
    head = f"{texts[0]}\n\n{len(errors) - 1} more in the same function:"
    return type(first)("\n\n".join([head, *texts[1:]]))


def run_error(text: str, places: Sequence[tuple[str, int, int, int, str]]) -> str:
    """The text of an error of a compiled function's run; called from C with the places of the node:
    the first one, and those of equal calls that it stands for."""
    first, *others = (Position(*place) for place in places)
    more = [(other, "the same call, computed once") for other in others]
    return message(f"Graph execution error: {text}", "DP501", [first], more=more)


def describe(value: Any) -> str:
    """A short name of a value for messages."""
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{type(value).__name__}{list(shape)} {getattr(dtype, 'name', dtype)}"
    if isinstance(value, list | tuple | dict | set):
        return f"{type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) < 40 else f"a {type(value).__name__}"
