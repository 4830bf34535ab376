"""Changes of objects while staging, each logged with what was there before.

Objects are changed for real, so lists stay lists and code that is called natively sees the truth.
Leaving a branch takes its changes back and keeps them as a ``Delta``, to be joined with the other
branch's or to be done again when staging goes on inside the branch.
"""

from __future__ import annotations

from typing import Any

from .result import ABSENT, Place

__all__ = ["Delta", "Journal", "store"]

# {slot: (place, value)}: what a branch left in the places it touched.
Delta = dict[Any, tuple[Place, Any]]


def store(place: Place, value: Any) -> None:
    """Puts a value into a place without calling the owner's own ``__setattr__``."""
    if place.kind == "attr":
        names = getattr(place.owner, "__dict__", None)
        if type(names) is dict:
            if value is ABSENT:
                names.pop(place.key, None)
            else:
                names[place.key] = value
            return
    place.set(value)


class Journal:
    """The log of one staging."""

    def __init__(self) -> None:
        self._log: list[tuple[Place, Any]] = []
        self._before: dict[Any, tuple[Place, Any]] = {}

    def save(self, place: Place) -> None:
        """To be called before ``place`` changes."""
        old = self.present(place)
        self._log.append((place, old))
        self._before.setdefault(place.slot, (place, old))

    @staticmethod
    def present(place: Place) -> Any:
        """What the place holds now, without asking the owner's own ``__getattr__``."""
        if place.kind != "attr":
            return place.get()
        names = getattr(place.owner, "__dict__", None)
        return names.get(place.key, ABSENT) if names is not None else place.get()

    def visible(self, place: Place) -> Any:
        """What reading the place gives: for an attribute that the object lacks, the class's."""
        value = self.present(place)
        if value is ABSENT and place.kind == "attr":
            inherited = getattr(type(place.owner), place.key, ABSENT)
            return ABSENT if hasattr(inherited, "__get__") else inherited
        return value

    def write(self, place: Place, value: Any) -> None:
        """Saves and stores."""
        self.save(place)
        store(place, value)

    def is_changed(self, place: Place) -> bool:
        """Whether the place was written since staging began."""
        return place.slot in self._before

    @property
    def before(self) -> dict[Any, tuple[Place, Any]]:
        """The places written so far with what they held when staging began."""
        return self._before

    def mark(self) -> int:
        """The present end of the log."""
        return len(self._log)

    def cut(self, mark: int) -> Delta:
        """Takes back everything since ``mark``; returns what the places held."""
        delta: Delta = {}
        for place, _ in self._log[mark:]:
            delta.setdefault(place.slot, (place, self.present(place)))
        for place, old in reversed(self._log[mark:]):
            store(place, old)
        del self._log[mark:]
        return delta

    def redo(self, delta: Delta) -> None:
        """Does the changes of a branch again."""
        for place, value in delta.values():
            self.write(place, value)
