"""Capturing by calling: the function runs once on symbolic tensors and leaves a graph.

For functions without source, and with ``capture_mode="trace"``. Python decisions are taken once,
so what the function can reach is guarded (world.py); what it writes to the outside is put back and
written again after each run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..stage.builder import Free
from ..stage.result import (
    Argument,
    Nest,
    Place,
    Slot,
    Staged,
    Static,
    Write,
    as_tensor,
    number_kind,
)
from ..stage.stage import Seal
from . import mode
from .world import World

__all__ = ["trace"]


def trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    leaves: list[Any],
    *,
    records: bool,
    seal: Seal,
    free: Free | None = None,
) -> Staged:
    """The function as a graph, for arguments like these; ``records``, ``seal`` and
    ``free`` as in ``stage.stage``.

    Raises:
        TypeError: the function needs the numbers of a tensor (``if tensor``, ``.asnumpy()``).
    """
    world = World([fn, *(v for v in leaves if not isinstance(v, Tensor))])
    tracing = _Trace(leaves, records, free)
    before = _core.set_grad_enabled(records)
    tracing.graph.begin()
    if free is not None:
        tracing.graph.record_sizes()
    try:
        symbols = iter(tracing.symbols(leaves))
        tracing.hide(world)
        staged = tracing.finish(
            fn(*_refill(args, symbols), **_refill(kwargs, symbols)), world, seal
        )
    except BaseException:
        if _core.is_capturing():
            tracing.graph.end()
        raise
    finally:
        world.restore()
        _core.set_grad_enabled(before)
    return staged


def _refill(value: Any, leaves: Iterator[Any]) -> Any:
    """The same nest of lists, tuples and dicts with other leaves."""
    if type(value) in (list, tuple):
        return type(value)(_refill(v, leaves) for v in value)
    if type(value) is dict:
        return {k: _refill(v, leaves) for k, v in value.items()}
    return next(leaves)


class _Trace:
    """One capture on its way."""

    def __init__(self, leaves: list[Any], records: bool, free: Free | None) -> None:
        self.graph = _core.Graph()
        self._free = free
        self._records = records
        self._inputs: list[int] = []
        self._symbolic: list[Tensor] = []
        self._first: list[Tensor] = []  # handles on the same values that nobody writes to
        self._hidden: list[Place] = []
        self._places: dict[int, tuple[Place, int]] = {}  # handle: whose it is, value at first
        self._outputs: list[Tensor] = []
        self._slots: dict[int, Slot] = {}
        self._by_object: dict[int, tuple[Tensor, Place]] = {}
        self._same: list[tuple[Place, Place]] = []

    def _symbol(self, like: Tensor, place: Place) -> Tensor:
        axes = () if self._free is None or place.kind != "leaf" else self._free.get(place.key, ())
        made = self.graph.input(like.dtype, like.shape, sum(1 << axis for axis in axes))
        if self._records and like.requires_grad:
            made = _core.variable(made)
        self._symbolic.append(made)
        self._first.append(_core.alias(made))
        self._places[id(made)] = (place, _core.symbol(made))
        return made

    def symbols(self, leaves: list[Any]) -> list[Any]:
        """Leaves with inputs of the graph instead of tensors."""
        made: list[Any] = []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor) and not isinstance(leaf, Parameter):
                if id(leaf) not in self._by_object:
                    place = Place("leaf", None, i)
                    self._by_object[id(leaf)] = self._symbol(leaf, place), place
                    self._inputs.append(i)
                made.append(self._by_object[id(leaf)][0])
            else:
                made.append(leaf)
        return made

    def hide(self, world: World) -> None:
        """Tensors found outside become inputs, and stand at their places meanwhile."""
        for place, tensor in world.tensors:
            if id(tensor) not in self._by_object:
                self._by_object[id(tensor)] = self._symbol(tensor, place), place
                self._hidden.append(place)
            symbol, first = self._by_object[id(tensor)]
            if first.slot != place.slot:
                self._same.append((first, place))
            world.replace(place, symbol)

    # ---- the end

    def finish(self, result: Any, world: World, seal: Seal) -> Staged:
        """Ends the capture."""
        structure = self._structure(result)
        writes = [Write(place, self._structure(value)) for place, value in world.changes()]
        for tensor in self._symbolic:
            place, value = self._places[id(tensor)]
            if _core.symbol(tensor) != value:
                writes.append(Write(Place("inside", place), self._slot(tensor)))
        outputs = list(self._outputs)
        recording, why = None, None
        if self._free is not None:
            recording, why = self.graph.recorded(self._first, outputs)
        outputs += seal(self.graph, self._first, list(outputs))
        self.graph.outputs(outputs, *mode.levels())
        hidden, reads = self._hidden, world.reads
        made = Staged(self.graph, self._inputs, hidden, structure, reads, writes, recording, why)
        made.same = self._same
        return made

    def _slot(self, tensor: Tensor) -> Slot:
        found = self._slots.get(id(tensor))
        if found is None:
            found = self._slots[id(tensor)] = Slot(len(self._outputs))
            self._outputs.append(tensor)
        return found

    def _structure(self, value: Any) -> Any:
        if type(value) is _core.Size:
            self._outputs.append(as_tensor(value))
            return Slot(len(self._outputs) - 1, number_kind(value))
        if isinstance(value, Parameter):
            return Static(value)
        if isinstance(value, Tensor):
            place, first = self._places.get(id(value), (None, 0))
            if place is not None and place.kind == "leaf" and first == _core.symbol(value):
                return Argument(place.key)
            return self._slot(value)
        kind = type(value)
        if kind in (list, tuple):
            return Nest(kind, tuple(map(self._structure, value)))
        if kind is dict:
            keys = list(value)
            items = tuple(map(self._structure, value.values()))
            return Nest(lambda made: dict(zip(keys, made, strict=True)), items)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return Nest(lambda made: kind(*made), tuple(map(self._structure, value)))
        return Static(value)
