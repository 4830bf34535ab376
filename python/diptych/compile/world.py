"""What a traced function can reach beyond its arguments, as guards.

Tracing sees the ops that run and nothing else, so everything the function could read is taken for
read: the cells of its closure, the globals that it and the functions it names mention, and all
attributes of the Cells found there, at any depth.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..stage.result import Place, Read
from ..stage.source import is_library, mentioned

__all__ = ["World"]


class World:
    """A walk from a function and its static arguments.

    Attributes:
        reads: guards for everything found.
        tensors: places of plain tensors; their values are inputs of the graph.
    """

    def __init__(self, roots: list[Any]) -> None:
        self.reads: list[Read] = []
        self.tensors: list[tuple[Place, Tensor]] = []
        self._seen: dict[int, Any] = {}
        self._dicts: list[tuple[Any, dict[str, Any]]] = []
        self._before: dict[Any, tuple[Place, Any]] = {}
        self._shown: dict[Any, Tensor] = {}
        self._todo: list[Any] = roots
        while self._todo:
            self._visit(self._todo.pop())

    # ---- the walk

    def _see(self, place: Place) -> None:
        if place.slot in self._before:
            return
        value = place.get()
        self._before[place.slot] = place, value
        self.reads.append(Read(place, value))
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            self.tensors.append((place, value))
        else:
            self._todo.append(value)

    def _visit(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType | functools.partial):
            parts = (
                (value.__self__, value.__func__)
                if isinstance(value, types.MethodType)
                else (value.func, *value.args, *value.keywords.values())
            )
            self._todo.extend(parts)
        elif isinstance(value, _core.Cell):
            self._cell(value)
        elif type(value) is set:
            self._contents(value)
        elif type(value) in (list, tuple):
            self._contents(value)
            for i, item in enumerate(value):
                self._item(value, i, item)
        elif type(value) is dict:
            self._contents(value)
            for key, item in value.items():
                self._item(value, key, item)
        elif hasattr(value, "__wrapped__"):
            self._todo.append(value.__wrapped__)

    def _contents(self, value: Any) -> None:
        if type(value) is not tuple:
            place = Place("contents", value)
            self.reads.append(Read(place, place.get()))

    def _item(self, owner: Any, key: Any, item: Any) -> None:
        if isinstance(item, Tensor) and type(owner) is not tuple:
            self._see(Place("item", owner, key))
        else:
            self._todo.append(item)

    def _function(self, fn: types.FunctionType) -> None:
        for cell in fn.__closure__ or ():
            self._see(Place("cell", cell))
        self._todo += [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
        if is_library(fn.__code__.co_filename):
            return
        for name in mentioned(fn.__code__):
            if name in fn.__globals__:
                self._see(Place("global", fn.__globals__, name))

    def _cell(self, cell: Any) -> None:
        attributes = cell.__dict__
        self._dicts.append((cell, dict(attributes)))
        for name in attributes:
            if name != "_compiled":
                self._see(Place("attr", cell, name))
        for base in type(cell).__mro__:
            for member in vars(base).values():
                is_function = isinstance(member, types.FunctionType)
                if is_function and not is_library(member.__code__.co_filename):
                    self._todo.append(member)

    # ---- during the trace

    def replace(self, place: Place, tensor: Tensor) -> None:
        """``tensor`` stands at the place until restore()."""
        place.set(tensor)
        self._shown[place.slot] = tensor

    def changes(self) -> list[tuple[Place, Any]]:
        """Places that hold something else than before, and what."""
        made = []
        for slot, (place, before) in self._before.items():
            value = place.get()
            if value is not self._shown.get(slot, before) and not _equal_plain(value, before):
                made.append((place, value))
        for cell, name in self._new_attributes():
            made.append((Place("attr", cell, name), cell.__dict__[name]))
        for place, shown in self._containers():
            if not _same_items(place.owner, shown):
                made.append((place, place.get()))
        return made

    def restore(self) -> None:
        """Puts everything back."""
        for place, before in self._before.values():
            if place.get() is not before:
                place.set(before)
        for read in self.reads:
            if read.place.kind == "contents" and not _same_items(read.place.owner, read.value):
                read.place.set(read.value)
        for cell, name in list(self._new_attributes()):
            delattr(cell, name)

    def _new_attributes(self) -> Iterator[tuple[Any, str]]:
        for cell, before in self._dicts:
            for name in cell.__dict__:
                if name not in before and name != "_compiled":
                    yield cell, name

    def _containers(self) -> Iterator[tuple[Place, Any]]:
        """Lists, dicts and sets, with the items that they had, tensors replaced."""
        for read in self.reads:
            if read.place.kind != "contents":
                continue
            owner, shown = read.place.owner, read.value
            if type(owner) is not set:
                shown = shown.copy()
                for key in range(len(shown)) if type(shown) is list else shown:
                    slot = Place("item", owner, key).slot
                    shown[key] = self._shown.get(slot, shown[key])
            yield read.place, shown


def _equal_plain(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in (bool, int, float, str, type(None)) and a == b


def _same_items(owner: Any, before: Any) -> bool:
    if len(owner) != len(before):
        return False
    if type(owner) is dict:
        return all(k in owner and owner[k] is v for k, v in before.items())
    if type(owner) is set:
        return owner == before
    return all(a is b for a, b in zip(owner, before, strict=True))
