"""Lists that grow in a loop whose number of rounds is known at run time.

What the rounds append is written into tensors with one more axis, and counted. How long the list
is then can only be known by running; staging needs it as a number, because ``len(out)``,
``out[i]`` and ``ops.stack(out)`` are Python. So it is assumed: a graph holds for one length,
checks it behind the loop, and a run that counts another number raises ``Counted`` before anything
is changed. The caller stages again with that number, and runs again. The first run only counts.

While the loop goes on, the list is as long as it was before the loop, so nothing may read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core import Tensor, op_table
from ..common.indexing import index_get, index_set
from .carried import ChangesType, Spec, build, spec_of, take_apart, zeros
from .errors import GraphError, GraphTypeError
from .frame import Frame
from .result import Place
from .values import Choice, Scalar

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = [
    "GROWS",
    "Growing",
    "Grows",
    "ReadWhileGrowing",
    "held_back",
    "refuse_reading",
]

GROWS = ("append", "extend")  # the methods that a growing list has

_NUMBERS = (bool, int, float)


class Grows(BaseException):
    """A round of ``roll`` appends to a list that was there before. No error of the user's program:
    nothing but the loop may catch it."""

    def __init__(self, roll: Any, owner: list[Any], item: Any) -> None:
        super().__init__()
        self.roll, self.owner, self.item = roll, owner, item


class ReadWhileGrowing(GraphTypeError):
    """A list is read in the loop that makes it longer."""


def _item_spec(item: Any) -> Spec:
    """The type of an item; a plain number may be another one in the next round."""
    if type(item) in _NUMBERS:
        return "number", type(item)
    if type(item) in (list, tuple):
        return "items", type(item), tuple(map(_item_spec, item))
    if type(item) is dict:
        return "dict", tuple(item), tuple(map(_item_spec, item.values()))
    return spec_of(item, item)


class Growing:
    """One list while a loop makes it longer.

    Attributes:
        buffers: the tensors of the items, one row an item.
        count: how many there are.
    """

    def __init__(self, owner: list[Any], item: Any) -> None:
        self.owner = owner
        self._spec = _item_spec(item)
        self.buffers: tuple[Tensor, ...] = ()
        self.count: Any = 0
        self._event = 0
        self._length: int | None = None
        self._room = 1  # rows of the buffers; what comes behind them is lost, and counted

    # ---- the loop

    def begin(self, interp: Interpreter, frame: Frame) -> None:
        """Before a loop of this call."""
        frame.held.append(self)
        self._event, self._length = interp.next_length()
        self._room = max(1, self._length or 0)
        interp.growing[id(self.owner)] = self
        rows = zeros(interp, self._spec)
        made = (op_table["zeros"]((self._room, *row.shape), row.dtype) for row in rows)
        self._put(interp, tuple(made), Scalar(interp.builder.constant(0, int), int))

    def _counted(self, interp: Interpreter) -> Tensor:
        return take_apart(interp, ("number", int), self.count)[0]

    def _put(self, interp: Interpreter, buffers: tuple[Tensor, ...], count: Any) -> None:
        interp.journal.write(Place("attr", self, "buffers"), buffers)
        interp.journal.write(Place("attr", self, "count"), count)

    def call(self, interp: Interpreter, method: str, args: Sequence[Any]) -> None:
        """``owner.method(*args)`` in a round."""
        if method not in GROWS or len(args) != 1:
            raise refuse_reading(interp)
        for item in args if method == "append" else list(args[0]):
            self._append(interp, item)

    def _append(self, interp: Interpreter, item: Any) -> None:
        try:
            spec = _item_spec(item)
        except ChangesType:
            spec = ("none",)
        if spec != self._spec:
            raise interp.error(
                GraphTypeError,
                "Loop appends items of different types to a list",
                "DP315",
                why="the number of rounds is known at run time only, so all items have one dtype "
                "and shape",
                fix="cast or reshape the items, or keep two lists",
            )
        at = self._counted(interp)
        row = op_table["minimum"](at, interp.builder.constant(self._room - 1, int))
        tensors = take_apart(interp, self._spec, item)
        made = (index_set(b, row, t) for b, t in zip(self.buffers, tensors, strict=True))
        self._put(interp, tuple(made), Scalar(op_table["add"](at, 1), int))

    def end(self, interp: Interpreter) -> None:
        """Behind the loop: the list has its items."""
        length = interp.checked(self._counted(interp), self._event, self._length)
        rows = ([index_get(b, i) for b in self.buffers] for i in range(length))
        items = [build(self._spec, iter(row)) for row in rows]
        interp.journal.write(Place("contents", self.owner), [*self.owner, *items])

    def leave(self, interp: Interpreter, frame: Frame) -> None:
        """The rounds are staged, or given up."""
        frame.held.remove(self)
        del interp.growing[id(self.owner)]


def refuse_reading(interp: Interpreter) -> GraphError:
    """The error for anything but appending while a loop goes on."""
    return interp.error(
        ReadWhileGrowing,
        "A list that grows in a loop is read inside of it",
        "DP315",
        why="how long it is there is known at run time only; in the loop it can be appended to, "
        "nothing else",
        fix="read it after the loop, carry the last item in a name of its own, or write into a "
        "Tensor of a fixed size",
    )


def held_back(interp: Interpreter, value: Any) -> bool:
    """Whether a value is a list that must not be read now."""
    if type(value) is Choice:
        return held_back(interp, value.then) or held_back(interp, value.orelse)
    return type(value) is list and id(value) in interp.growing
