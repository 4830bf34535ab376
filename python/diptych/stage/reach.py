"""Which objects the calls being staged can get at."""

from __future__ import annotations

import types
from typing import Any

from .._core import Cell, Tensor
from .frame import Frame
from .result import PLAIN
from .values import Choice, Undef

__all__ = ["reachable"]

_ENDS = (*PLAIN, type, types.ModuleType)


def reachable(frames: list[Frame], frame: Frame, names: dict[str, Any]) -> dict[int, Any]:
    """Objects in the locals, cells, closures and containers of all calls, by id; ``names`` are the
    locals of ``frame``. Cells and what they hold are left out: the observer knows them."""
    found: dict[int, Any] = {}
    stack: list[Any] = [names]
    for one in (*frames, frame):
        if one is not frame:
            stack.append(one.locals)
        stack += one.cells.values()
        stack += one.held
    while stack:
        value = stack.pop()
        if isinstance(value, _ENDS) or id(value) in found:
            continue
        found[id(value)] = value
        stack += _parts(value)
    return found


def _parts(value: Any) -> list[Any]:
    """What an object holds."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, Choice):
        return [value.cond, value.then, value.orelse]
    if isinstance(value, types.CellType):
        try:
            return [value.cell_contents]
        except ValueError:
            return []
    if isinstance(value, types.FunctionType):
        return [*(value.__closure__ or ()), *(value.__defaults__ or ())]
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, Tensor | Cell | Undef):  # what an Undef fails with holds the interpreter
        return []
    names = getattr(value, "__dict__", None)
    return list(names.values()) if isinstance(names, dict) else []
