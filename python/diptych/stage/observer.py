"""What staging saw of the world outside: guards, captured tensors, objects that were there before.

An object is *known* when it was reached from the function's arguments, globals or closure by reads
that are guarded themselves, so a guard can hold on to the object.
"""

from __future__ import annotations

import types
from typing import Any

from .._core import Parameter, Tensor
from .builder import Builder
from .result import ABSENT, Place, Read
from .values import Scalar

__all__ = ["Observer"]

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
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
        if kind in (types.MethodType, types.BuiltinMethodType):
            self.add_known(value.__self__)
            return
        self.reads[place.slot] = Read(place, value)
        if kind in _PLAIN:
            return
        self.add_known(value)
        self._open(value)

    def _open(self, value: Any) -> None:
        """Guards what a container or NumPy array holds."""
        kind = type(value)
        if kind in (list, dict, set) or kind.__name__ == "ndarray":
            contents = Place("contents", value)
            self.reads.setdefault(contents.slot, Read(contents, contents.get()))
        if kind in (list, tuple, dict):
            self._enter(value)

    def _enter(self, container: Any) -> None:
        """Items of a guarded container are known, its tensors have an origin."""
        pairs = container.items() if type(container) is dict else enumerate(container)
        for key, item in list(pairs)[:_MOST_ITEMS]:
            if isinstance(item, Tensor) and not isinstance(item, Parameter):
                self._origin[id(item)] = (item, Place("item", container, key))
            elif type(item) not in _PLAIN and not self.is_known(item):
                self.add_known(item)
                self._open(item)

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
