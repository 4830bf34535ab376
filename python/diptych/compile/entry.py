"""One compiled version of a function: guards, the run, what is written afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..stage.result import Place, Read, SameTensor, Slot, Staged
from .gradient import Gradient

__all__ = ["Entry"]


class Entry:
    """A staged function with its gradient.

    Attributes of Cells are guarded by one counter that every write to any Cell moves; only when it
    has moved are they compared one by one.
    """

    def __init__(self, staged: Staged, gradient: Gradient | None) -> None:
        self.staged = staged
        self._graph = staged.graph
        self._gradient = gradient
        reads = staged.reads
        self._cells = [r for r in reads if _is_cell_read(r)]
        self._others = [r for r in reads if not _is_cell_read(r)]
        guarded = {r.place.slot for r in reads} | {_container(r.place) for r in reads}
        self._keeps_guards = not any(
            w.place.slot in guarded or _container(w.place) in guarded for w in staged.writes
        )
        self._epoch = _core.epoch()

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether everything that staging read is as it was."""
        epoch = _core.epoch()
        if epoch != self._epoch:
            if not all(read.holds() for read in self._cells):
                return False
            self._epoch = epoch
        if not all(read.holds() for read in self._others) or not self._graph.fits():
            return False
        return self.staged.identities_hold(leaves)

    def why_not(self) -> list[str]:
        """What has changed, for people."""
        reasons = [
            f"{r.place} was {r.value!r}, is {r.place.get()!r}" for r in self.staged.broken_guards()
        ]
        if not reasons and not self._graph.fits():
            reasons.append("a Parameter has another dtype or shape, requires_grad, or gradient")
        if not reasons and (self.staged.same or self.staged.tells_apart):
            reasons.append("other tensors among what it reads are the same object")
        return reasons

    def run(self, leaves: Sequence[Any]) -> Any:
        """The function's result for the leaves of a call; then what it wrote is written."""
        staged = self.staged
        inputs = staged.gather(leaves)
        if self._gradient is None:
            outputs = self._graph.run(inputs)
        else:
            (kept, values), state = self._graph.keep(inputs), _core.rng_state()
            outputs = list(self._graph.run(inputs))
            self._gradient.attach(values, outputs, kept, state)
        result = staged.rebuild(outputs, leaves)  # of places outside it has what they held before
        if staged.writes:
            self._write(outputs, leaves)
        return result

    def memo(self, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """What the C base needs to know to do this call again by itself: ``(graph, inputs, guards,
        is_plain, keeps_guards)``. None: calls like this one need a closer look."""
        if self.staged.lengths is not None:
            return None  # what a run counts may ask for another version
        if any(isinstance(read, SameTensor) for read in self.staged.reads):
            return None
        if self.staged.same or (self.staged.tells_apart and self.staged.hidden):
            return None  # which tensors are the same object is asked in each call
        if len(args) != len(leaves) or any(a is not b for a, b in zip(args, leaves, strict=True)):
            return None
        if any(not isinstance(leaves[i], Tensor) for i in self.staged.inputs):
            return None
        if any(a.const_arg for a in args if isinstance(a, Tensor)):
            return None
        if any(hasattr(a, "__array_interface__") for a in args if not isinstance(a, Tensor)):
            return None
        staged = self.staged
        if self._epoch != _core.epoch() or not all(read.holds() for read in self._others):
            return None  # the call itself has changed what it read
        guards: list[Any] = []
        for read in self._others:
            kind = read.place.kind
            if kind == "contents" and type(read.place.owner) is list:
                owner = read.place.owner
                guards.append(("length", owner, None, len(owner)))
                guards.extend(
                    ("item", owner, i, item)
                    for i, item in enumerate(owner)
                    if not isinstance(item, Tensor)
                )
            elif kind == "contents" and len(read.place.owner) == 0:
                guards.append(("length", read.place.owner, None, 0))
            elif kind not in ("attr", "item", "global", "cell"):
                return None
            elif not _is_plain_tensor(read.value):
                guards.append(_guard(read.place))
        hidden = [_guard(place) for place in staged.hidden]
        if not all(_is_plain_tensor(value) for *_, value in hidden):
            hidden = []  # numbers: run() makes tensors of them
        is_plain = (
            self._gradient is None
            and not staged.writes
            and len(hidden) == len(staged.hidden)
            and staged.structure == Slot(0)
        )
        inputs = [*staged.inputs, *[-1] * len(hidden)]
        return self._graph, inputs, [*guards, *hidden], is_plain, self._keeps_guards

    def _write(self, outputs: Sequence[Tensor], leaves: Sequence[Any]) -> None:
        self.staged.replay(outputs, leaves)
        if self._keeps_guards:
            self._epoch = _core.epoch()


def _is_plain_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, Parameter)


def _guard(place: Place) -> tuple[str, Any, Any, Any]:
    return place.kind, place.owner, place.key, place.get()


def _container(place: Place) -> Any:
    """Equal for all places inside one list, dict or set."""
    return id(place.owner) if place.kind in ("item", "contents") else place


def _is_cell_read(read: Read) -> bool:
    return read.place.kind == "attr" and isinstance(read.place.owner, _core.Cell)
