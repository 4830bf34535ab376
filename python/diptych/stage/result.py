"""What staging gives: the graph, the shape of its results, what was read and what is to be written.

A jit wrapper keeps one ``Staged`` a set of argument types and guards. A call

1. checks ``staged.guards_hold()``,
2. runs the graph on ``staged.gather(leaves)`` with ``leaves = flatten(args, kwargs)``,
3. builds its result, ``staged.rebuild(outputs, leaves)``, and then writes, ``staged.replay(outputs,
   leaves)``.
"""

from __future__ import annotations

import copy
import types
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..common.mutables import plain, plain_type

__all__ = [
    "ABSENT",
    "PLAIN",
    "Argument",
    "Either",
    "Nest",
    "Place",
    "Read",
    "SameTensor",
    "Slot",
    "Staged",
    "Static",
    "Write",
    "as_tensor",
    "flatten",
    "number_kind",
    "rebuild",
    "same_value",
]


class _Absent:
    """The value of a place that holds nothing: an attribute or key that does not exist."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()

_CONTAINERS = (list, dict, set, bytearray)


@dataclass(frozen=True, eq=False)
class Place:
    """Where a value lives outside the function: ``kind`` of access, ``owner`` and ``key``.

    ========== ======================= ==========================================
    kind       owner                   key
    ========== ======================= ==========================================
    "attr"     any object              name of the attribute
    "item"     list or dict            index or key
    "global"   dict of a module        name
    "cell"     cell of a closure       None
    "contents" list, dict, set         None: all items at once
    "tensor"   Tensor                  None: the value that the handle shows
    "leaf"     None                    number of an argument leaf (see ``flatten``)
    "inside"   a Place                 None: the value of the tensor that stands there
    ========== ======================= ==========================================
    """

    kind: str
    owner: Any
    key: Any = None

    def get(self, leaves: Sequence[Any] = ()) -> Any:
        """The present value, ABSENT if there is none."""
        return _GET[self.kind](self.owner, self.key, leaves)

    def set(self, value: Any, leaves: Sequence[Any] = ()) -> None:
        """Stores a value; ABSENT removes what is there."""
        _SET[self.kind](self.owner, self.key, value, leaves)

    @property
    def slot(self) -> tuple[str, int, Any]:
        """Equal for two names of the same place."""
        return self.kind, id(self.owner), self.key

    def __str__(self) -> str:
        if self.kind == "inside":
            return str(self.owner)
        if self.kind == "attr":
            return f"{type(self.owner).__name__}.{self.key}"
        if self.kind == "item":
            return f"{type(self.owner).__name__}[{self.key!r}]"
        return str(self.key) if self.kind == "global" else self.kind


def _get_item(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    try:
        return owner[key]
    except (KeyError, IndexError):
        return ABSENT


def _get_cell(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    try:
        return owner.cell_contents
    except ValueError:
        return ABSENT


def _get_attr(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    return getattr(owner, key, ABSENT)


def _get_contents(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    for kind in (list, dict, set, bytearray):
        if isinstance(owner, kind):
            return kind(owner)
    if isinstance(owner, deque):
        return list(owner)
    return copy.copy(owner) if isinstance(owner, array) else owner.copy()


def _get_tensor(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    return _core.alias(owner)


def _get_leaf(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    return leaves[key]


def _get_inside(owner: Any, key: Any, leaves: Sequence[Any]) -> Any:
    return owner.get(leaves)


_GET: dict[str, Callable[[Any, Any, Sequence[Any]], Any]] = {
    "attr": _get_attr,
    "item": _get_item,
    "global": _get_item,
    "cell": _get_cell,
    "contents": _get_contents,
    "tensor": _get_tensor,
    "leaf": _get_leaf,
    "inside": _get_inside,
}


def _set_attr(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    if value is ABSENT:
        delattr(owner, key)
    else:
        setattr(owner, key, value)


def _set_item(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    if value is ABSENT:
        owner.pop(key, None)
    else:
        owner[key] = value


def _set_cell(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    if value is ABSENT:
        del owner.cell_contents
    else:
        owner.cell_contents = value


def _set_contents(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    if isinstance(owner, list | bytearray):
        owner[:] = value
    else:
        owner.clear()
        (owner.extend if isinstance(owner, deque) else owner.update)(value)


def _set_tensor(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    _core.repoint(owner, value)


def _set_leaf(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    _core.repoint(leaves[key], value)


def _set_inside(owner: Any, key: Any, value: Any, leaves: Sequence[Any]) -> None:
    owner.get(leaves).set_data(value)


_SET: dict[str, Callable[[Any, Any, Any, Sequence[Any]], None]] = {
    "attr": _set_attr,
    "item": _set_item,
    "global": _set_item,
    "cell": _set_cell,
    "contents": _set_contents,
    "tensor": _set_tensor,
    "leaf": _set_leaf,
    "inside": _set_inside,
}


# Kinds of values that hold no other objects.
PLAIN = (bool, int, float, complex, str, bytes, type(None))
_COMPARED = (set, frozenset, bytearray, array, types.MethodType, types.BuiltinMethodType)


def same_value(a: Any, b: Any) -> bool:
    """Whether a guard takes b for a: plain values by type and equality, tensors by dtype and shape,
    NumPy arrays by their bytes, containers item by item, everything else by identity."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, PLAIN):
        return a == b or (a != a and b != b)
    if isinstance(a, Tensor) and not isinstance(a, Parameter):
        return a.dtype is b.dtype and a.shape == b.shape
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if type(a) is dict:
        return list(a) == list(b) and all(same_value(v, b[k]) for k, v in a.items())
    if type(a).__name__ == "ndarray":
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) in _COMPARED and a == b


@dataclass(frozen=True)
class Read:
    """A guard: the graph holds while ``place`` has ``value`` (as ``same_value`` compares)."""

    place: Place
    value: Any

    def holds(self) -> bool:
        """Whether the place still has the value; a list, dict or set must be the same object."""
        now = self.place.get()
        if self.place.kind != "contents" and type(self.value) in _CONTAINERS:
            return now is self.value
        return same_value(self.value, now)


@dataclass(frozen=True)
class SameTensor(Read):
    """A guard: the place shows the tensor with the value that the graph has as a constant.
    ``value``: the tensor, and a handle that keeps the value."""

    @classmethod
    def of(cls, place: Place, tensor: Tensor) -> SameTensor:
        """The guard for what the tensor shows now."""
        return cls(place, (tensor, _core.alias(tensor)))

    def holds(self) -> bool:
        """Whether it is the same tensor and nobody has written to it."""
        tensor, kept = self.value
        return self.place.get() is tensor and _core.value_id(tensor) == _core.value_id(kept)


@dataclass(frozen=True)
class Slot:
    """In a structure: output ``index``; ``kind`` int, float or bool: as that number."""

    index: int
    kind: type | None = None


@dataclass(frozen=True)
class Either:
    """In a structure: one of two, by the truth of output ``index``."""

    index: int
    then: Any
    orelse: Any


@dataclass(frozen=True)
class Nest:
    """In a structure: a container; ``make(list of items)`` builds it."""

    make: Callable[[list[Any]], Any]
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Static:
    """In a structure: a value known since staging."""

    value: Any


@dataclass(frozen=True)
class Argument:
    """In a structure: the object that came in as argument leaf ``index``."""

    index: int


def rebuild(structure: Any, outputs: Sequence[Tensor], leaves: Sequence[Any]) -> Any:
    """The value that a structure stands for."""
    if isinstance(structure, Static):
        return structure.value
    if isinstance(structure, Slot):
        out = outputs[structure.index]
        return out if structure.kind is None else structure.kind(out.item())
    if isinstance(structure, Argument):
        return leaves[structure.index]
    if isinstance(structure, Either):
        side = structure.then if outputs[structure.index].item() else structure.orelse
        return rebuild(side, outputs, leaves)
    return structure.make([rebuild(item, outputs, leaves) for item in structure.items])


@dataclass(frozen=True)
class Write:
    """After a successful run ``place`` takes the value of ``structure``."""

    place: Place
    structure: Any


@dataclass
class Staged:
    """One staging of a function.

    Attributes:
        graph: the C graph; its inputs are ``inputs`` and then ``hidden``.
        inputs: numbers of the argument leaves (``flatten``) that are graph inputs.
        hidden: places of tensors (and of numbers that the function changes) found in globals,
            attributes and closures, fetched at each call.
        structure: what the function returned, over the graph's outputs.
        reads: guards; ``owner`` objects are kept alive and guarded by identity themselves.
        writes: what to store after a successful run, in order.
        recording: what makes the graph again for other sizes (``Graph.again``); None: nothing, and
            ``bound_to_sizes`` says why if it was asked for.
        raises: the types of the exceptions that paths of the graph end in.
        lengths: those that only a run can tell, which the graph checks (see ``growing``); None:
            there are none.
        same: pairs of places that must show one tensor.
        tells_apart: the function writes tensors in place or asks with ``is``, so all other tensors
            must be different ones.
    """

    graph: Any
    inputs: list[int]
    hidden: list[Place]
    structure: Any
    reads: list[Read] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    recording: Any = None
    bound_to_sizes: str | None = None
    raises: list[str] = field(default_factory=list)
    lengths: tuple[int | None, ...] | None = None
    same: list[tuple[Place, Place]] = field(default_factory=list)
    tells_apart: bool = False

    def __post_init__(self) -> None:
        self.tells_apart |= any(w.place.kind in ("leaf", "inside") for w in self.writes)

    def gather(self, leaves: Sequence[Any]) -> list[Tensor]:
        """The inputs of a run: argument leaves, then what stands in the hidden places now."""
        hidden = (place.get(leaves) for place in self.hidden)
        return [*(as_tensor(leaves[i]) for i in self.inputs), *map(as_tensor, hidden)]

    def guards_hold(self, leaves: Sequence[Any] = ()) -> bool:
        """Whether everything that staging read is as it was."""
        return all(read.holds() for read in self.reads) and self.identities_hold(leaves)

    def identities_hold(self, leaves: Sequence[Any]) -> bool:
        """Whether the places that showed one tensor do so, and no others where it matters."""
        if not all(a.get(leaves) is b.get(leaves) for a, b in self.same):
            return False
        if not self.tells_apart or not self.hidden:
            return True  # the arguments' own pattern is part of the key
        tensors = [leaves[i] for i in self.inputs] + [place.get() for place in self.hidden]
        ids = [id(t) for t in tensors if isinstance(t, Tensor)]
        return len(set(ids)) == len(ids)

    def broken_guards(self) -> list[Read]:
        """The guards that no longer hold, for messages."""
        return [read for read in self.reads if not read.holds()]

    def rebuild(self, outputs: Sequence[Tensor], leaves: Sequence[Any] = ()) -> Any:
        """The function's result from the graph's outputs."""
        return rebuild(self.structure, outputs, leaves)

    def replay(self, outputs: Sequence[Tensor], leaves: Sequence[Any] = ()) -> None:
        """Stores what the function wrote to objects that live outside."""
        values = [rebuild(write.structure, outputs, leaves) for write in self.writes]
        for write, value in zip(self.writes, values, strict=True):
            write.place.set(value, leaves)


def as_tensor(value: Any) -> Tensor:
    """A hidden input: numbers go in as 0-d tensors of bool, int64 or float64."""
    if isinstance(value, Tensor):
        return value
    kind = plain_type(value) or number_kind(value)
    return Tensor(plain(value), _NUMBERS[kind])


_NUMBERS = {bool: _core.bool_, int: _core.int64, float: _core.float64}


def number_kind(value: Any) -> type:
    """Its type; of a ``Size``, int or float."""
    return value.__class__


def flatten(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The leaves of the arguments in order: lists, tuples and dicts are opened, nothing else is."""
    leaves: list[Any] = []

    def walk(value: Any) -> None:
        if type(value) in (list, tuple):
            for item in value:
                walk(item)
        elif type(value) is dict:
            for item in value.values():
                walk(item)
        else:
            leaves.append(value)

    for value in (*args, *kwargs.values()):
        walk(value)
    return leaves
