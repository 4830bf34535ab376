"""Lists that end with different items on different paths of a function, and are returned.

One object cannot hold both, so each path returns its own copy; the caller gets a choice of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import GraphTypeError
from .frame import Frame
from .outcome import Leaf, Outcome
from .values import Choice, map_items

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["detach"]


def detach(interp: Interpreter, frame: Frame, out: Outcome) -> None:
    """Replaces, in the values of the ends, containers made in this call by copies of what they hold
    there; their changes are forgotten.

    Raises:
        GraphTypeError: a container that lives on after the call is left with different items.
    """
    changed: dict[Any, Any] = {}

    def walk(end: Outcome, held: dict[int, Any]) -> None:
        own = {}
        for slot, (place, value) in end.delta.items():
            if place.kind == "contents":
                own[id(place.owner)] = value
                changed[slot] = place.owner
        held = {**held, **own}
        if isinstance(end, Leaf):
            end.value = _replaced(end.value, held)
        else:
            walk(end.then, held)
            walk(end.orelse, held)

    walk(out, {})
    for owner in changed.values():
        if not any(owner is made for made in frame.made):
            raise interp.error(
                GraphTypeError,
                "Branches leave a list, dict or set with different items",
                "DP305",
                f"a {type(owner).__name__} that lives on after the call",
                fix="build a new list in each branch and return it",
            )
    _forget(out, set(changed))


def _replaced(value: Any, held: dict[int, Any]) -> Any:
    if id(value) in held:
        return held[id(value)]
    if isinstance(value, Choice):
        then, orelse = (_replaced(side, held) for side in (value.then, value.orelse))
        return Choice(value.cond, then, orelse)
    return map_items(value, lambda item: _replaced(item, held))


def _forget(end: Outcome, slots: set[Any]) -> None:
    end.delta = {slot: v for slot, v in end.delta.items() if slot not in slots}
    if not isinstance(end, Leaf):
        _forget(end.then, slots)
        _forget(end.orelse, slots)
