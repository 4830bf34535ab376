"""What Python code that runs natively while staging can read: nobody sees it read, so it is guarded
beforehand. Generator functions run so, and functions without source.

Whatever the code and the functions it names mention is taken for read: globals, the cells of
closures, and attributes of that name of all objects in reach. Tensors found there become constants
of the graph, so their values are guarded too.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from typing import TYPE_CHECKING, Any

from .._core import Parameter, Tensor
from .result import PLAIN, Place, SameTensor
from .source import is_library, mentioned

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["guard_reach"]

_MOST_OBJECTS = 10_000


def guard_reach(interp: Interpreter, roots: list[Any], whole: bool = False) -> None:
    """Guards what code among the roots can read of them. ``whole``: all attributes, whatever code
    there is."""
    walk = _Walk(interp, whole)
    todo = walk.todo = list(roots)
    while todo and len(walk.seen) < _MOST_OBJECTS:
        walk.visit(todo.pop())


class _Walk:
    """What was seen so far: names that code mentions, objects in reach."""

    def __init__(self, interp: Interpreter, whole: bool) -> None:
        self._interp = interp
        self._whole = whole
        self.seen: dict[int, Any] = {}
        self.todo: list[Any] = []
        self._names: set[str] = set()
        self._objects: list[Any] = []

    def visit(self, value: Any) -> None:
        """Guards what stands directly in a value; the rest is still to do."""
        kind = type(value)
        if kind in PLAIN or id(value) in self.seen or isinstance(value, Tensor | type):
            return
        self.seen[id(value)] = value
        if kind is types.FunctionType:
            self._function(value)
        elif kind is types.MethodType:
            self.todo += [value.__func__, value.__self__]
        elif kind is functools.partial:
            self.todo += [value.func, *value.args, *value.keywords.values()]
        elif isinstance(value, dict):
            self._items(value, value.items())
        elif isinstance(value, list | tuple | deque):
            self._items(value, enumerate(value))
        elif isinstance(value, set | frozenset):
            self.todo += value
        elif not isinstance(value, types.ModuleType) and hasattr(value, "__dict__"):
            self._objects.append(value)
            for name in list(vars(value)) if self._whole else self._names:
                self._attribute(value, name)

    def _read(self, place: Place, value: Any) -> None:
        observer = self._interp.observer
        if self._interp.journal.is_changed(place):
            return
        if not isinstance(value, Tensor) or isinstance(value, Parameter):
            observer.see(place, value)
            self.todo.append(value)
        elif not self._interp.builder.is_symbolic(value):
            slot = ("constant", *place.slot)
            observer.reads.setdefault(slot, SameTensor.of(place, value))

    def _items(self, owner: Any, pairs: Any) -> None:
        for key, item in list(pairs):
            if isinstance(item, Tensor):
                self._read(Place("item", owner, key), item)
            else:
                self.todo.append(item)

    def _function(self, fn: types.FunctionType) -> None:
        if is_library(fn.__code__.co_filename):
            return
        for cell in fn.__closure__ or ():
            place = Place("cell", cell)
            if id(cell) not in self._interp.made_cells:
                self._read(place, place.get())
        self.todo += [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
        names = set(mentioned(fn.__code__))
        for name in names & fn.__globals__.keys():
            self._read(Place("global", fn.__globals__, name), fn.__globals__[name])
        new = names - self._names
        self._names |= new
        for owner in self._objects:
            for name in new:
                self._attribute(owner, name)

    def _attribute(self, owner: Any, name: str) -> None:
        if name in vars(owner):
            if self._interp.observer.is_known(owner):
                self._read(Place("attr", owner, name), vars(owner)[name])
            else:
                self.todo.append(vars(owner)[name])
            return
        for base in type(owner).__mro__:
            if name in vars(base):
                found = vars(base)[name]
                parts = (found, getattr(found, "fget", None), getattr(found, "__func__", None))
                self.todo += [p for p in parts if isinstance(p, types.FunctionType)]
                if type(found) in PLAIN:
                    self._read(Place("attr", owner, name), found)
                return
