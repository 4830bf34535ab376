"""Whether functions are compiled: DIPTYCH_JIT, set_context(jit=...), jit_disabled, GRAPH_MODE."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _core

__all__ = [
    "has_compiled",
    "is_on",
    "jit_disabled",
    "logs",
    "note_compiled",
    "set_graph_mode",
    "set_jit",
]

_jit = os.environ.get("DIPTYCH_JIT", "1") != "0"
_graph_mode = False
_has_compiled = False
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
