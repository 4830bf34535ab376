"""What staging saw of the world outside: guards, captured tensors, objects that were there before.

An object is *known* when it was reached from the function's arguments, globals or closure by reads
that are guarded themselves, so a guard can hold on to the object.
"""

from __future__ import annotations

import types
from array import array
from collections import ChainMap, UserDict, UserList, deque
from typing import Any

from .._core import Parameter, Tensor
from .builder import Builder
from .result import ABSENT, PLAIN, Place, Read
from .values import Scalar

__all__ = ["Observer"]

_METHODS = (types.MethodType, types.BuiltinMethodType)
_MAPPINGS = (dict, types.MappingProxyType)
_SEQUENCES = (list, tuple, deque)
_MUTABLE = (list, set, deque, bytearray, array, *_MAPPINGS)
_WRAPPERS = (ChainMap, UserDict, UserList)  # run natively, over containers of Python's
_MOST_ITEMS = 10_000


class Observer:
    """Records of one staging."""

    def __init__(self, builder: Builder, states: frozenset[Any]) -> None:
        self._builder = builder
        self._states = states
        self._known: dict[int, Any] = {}
        self._origin: dict[int, tuple[Tensor, Place]] = {}
        self._places: dict[int, Place] = {}
        self._captured: dict[Any, Any] = {}
        self.reads: dict[Any, Read] = {}
        self.hidden: list[Place] = []
        self.same: dict[Any, tuple[Place, Place]] = {}
        self.tells_apart = False

    def add_argument(self, tensor: Tensor, symbolic: Tensor, place: Place) -> None:
        """The tensor that came as an argument; it may stand elsewhere too."""
        self._captured[id(tensor)] = (tensor, symbolic, place)

    def add_known(self, obj: Any) -> None:
        """``obj`` was there before staging."""
        self._known[id(obj)] = obj

    def add_outside(self, obj: Any) -> None:
        """``obj`` was there before staging, with what it holds."""
        if type(obj) not in PLAIN and not self.is_known(obj):
            self.add_known(obj)
            self._open(obj)

    def is_known(self, obj: Any) -> bool:
        """Whether the object was there before staging."""
        return id(obj) in self._known

    def see(self, place: Place, value: Any) -> Any:
        """A value read from a place that lives outside, guarded; tensors become graph inputs."""
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            return self._capture(place, value)
        if isinstance(value, Parameter):
            self._builder.touch(value)
        if place.slot in self._states and type(value) in (int, float):
            return self._state(place, value)
        if place.slot not in self.reads:
            self._guard(place, value)
        return value

    def see_absence(self, place: Place) -> None:
        """That there is nothing in a place outside."""
        self.reads.setdefault(place.slot, Read(place, ABSENT))

    def _guard(self, place: Place, value: Any) -> None:
        kind = type(value)
        if kind in _METHODS:
            self.add_outside(value.__self__)
            if _is_stored(place):
                self.reads[place.slot] = Read(place, value)
            return
        self.reads[place.slot] = Read(place, value)
        if kind in PLAIN:
            return
        self.add_known(value)
        self._open(value)

    def _open(self, value: Any) -> None:
        """Guards what a container or NumPy array holds."""
        if isinstance(value, _MUTABLE) or type(value).__name__ == "ndarray":
            contents = Place("contents", value)
            self.reads.setdefault(contents.slot, Read(contents, contents.get()))
        if isinstance(value, (*_SEQUENCES, *_MAPPINGS)):
            self._enter(value)
        elif isinstance(value, set | frozenset):
            for item in value:
                self.add_outside(item)
        elif isinstance(value, _WRAPPERS):
            for part in vars(value).values():
                self.add_outside(part)

    def _enter(self, container: Any) -> None:
        """Items of a guarded container are known, its tensors have an origin."""
        is_mapping = isinstance(container, _MAPPINGS)
        pairs = container.items() if is_mapping else enumerate(container)
        for key, item in list(pairs)[:_MOST_ITEMS]:
            if is_mapping:
                self.add_outside(key)
            if isinstance(item, Tensor) and not isinstance(item, Parameter):
                self._origin[id(item)] = (item, Place("item", container, key))
            else:
                self.add_outside(item)

    def resolve(self, tensor: Tensor) -> Tensor:
        """The graph's own name for a concrete tensor that was seen in a container outside."""
        origin = self._origin.get(id(tensor))
        return tensor if origin is None else self._capture(origin[1], tensor)

    def _capture(self, place: Place, tensor: Tensor) -> Tensor:
        if self._builder.is_symbolic(tensor):
            return tensor
        made = self._captured.get(id(tensor))
        if made is None:
            self.reads.setdefault(place.slot, Read(place, tensor))
            made = self._captured[id(tensor)] = (tensor, self._builder.input(tensor), place)
            self.add_known(made[1])
            self._places[id(made[1])] = place
            self.hidden.append(place)
        elif made[2].slot != place.slot:
            self.reads.setdefault(place.slot, Read(place, tensor))
            self.same[place.slot] = (made[2], place)
        return made[1]

    def place_of(self, symbolic: Tensor) -> Place | None:
        """Where the tensor was found that a hidden input stands for."""
        return self._places.get(id(symbolic))

    def _state(self, place: Place, value: Any) -> Scalar:
        made = self._captured.get(place.slot)
        if made is None:
            kind = type(value)
            hidden = self._builder.input(self._builder.constant(value, kind))
            made = self._captured[place.slot] = Scalar(hidden, kind)
            self.hidden.append(place)
        return made


def _is_stored(place: Place) -> bool:
    """Whether a method stands there as a value, not as what its class defines."""
    return place.kind != "attr" or place.key in getattr(place.owner, "__dict__", ())
