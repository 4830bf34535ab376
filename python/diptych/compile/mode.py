"""Whether functions are compiled: DIPTYCH_JIT, set_context(jit=...), jit_disabled, GRAPH_MODE."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core

__all__ = [
    "at_level",
    "has_compiled",
    "is_on",
    "jit_disabled",
    "levels",
    "logs",
    "note_compiled",
    "set_graph_mode",
    "set_jit",
    "set_jit_level",
    "set_memory_level",
]

_jit = os.environ.get("DIPTYCH_JIT", "1") != "0"
_graph_mode = False
_has_compiled = False
_jit_level = _memory_level = "O0"
_own = threading.local()  # level: of the function that this thread compiles, before _jit_level
_core.set_jit(_jit)


def is_on() -> bool:
    """Whether a call made now may run a compiled graph: not inside a capture, not switched off."""
    return _jit and not _core.is_capturing()


def has_compiled() -> bool:
    """Whether a function has been compiled in this process."""
    return _has_compiled


def note_compiled() -> None:
    """A function has been compiled."""
    global _has_compiled
    _has_compiled = True


def _refresh() -> None:
    _core.set_jit(_jit)
    _core.set_graph_mode(_jit and _graph_mode)


def set_jit(on: bool) -> bool:
    """Switches compiling; returns the old state."""
    global _jit
    was, _jit = _jit, on
    _refresh()
    return was


def set_graph_mode(on: bool) -> None:
    """Whether outermost Cells and differentiated functions are compiled by themselves."""
    global _graph_mode
    _graph_mode = on
    _refresh()


def set_jit_level(level: str) -> None:
    """The level of functions compiled from now on that have none of their own."""
    global _jit_level
    _jit_level = level


def set_memory_level(level: str) -> None:
    """How much compiling does to save memory, from now on."""
    global _memory_level
    _memory_level = level


@contextmanager
def at_level(level: str) -> Iterator[None]:
    """Graphs that this thread captures inside are of this jit_level; "": as set_context says."""
    before = getattr(_own, "level", "")
    _own.level = level
    try:
        yield
    finally:
        _own.level = before


def levels() -> tuple[bool, int]:
    """Whether passes may round differently, and how far those go that save memory: 0, 1, 2."""
    return (getattr(_own, "level", "") or _jit_level) != "O0", int(_memory_level[1:])


@contextmanager
def jit_disabled() -> Iterator[None]:
    """``with jit_disabled():`` compiled functions and GRAPH_MODE run as plain Python.

    >>> import diptych as ms
    >>> f = ms.jit(lambda x: x + 1)
    >>> with ms.jit_disabled():
    ...     y = f(ms.Tensor(1.0))
    >>> y.item(), f.cache_info()["entries"]
    (2.0, 0)
    """
    was = set_jit(False)
    try:
        yield
    finally:
        set_jit(was)


def logs(kind: str) -> bool:
    """Whether DIPTYCH_LOG names this kind of message."""
    return kind in os.environ.get("DIPTYCH_LOG", "").split(",")
