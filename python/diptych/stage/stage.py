"""``stage``: a call of a function with tensors of known types becomes a graph."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from ..common.grad import alias, stop_gradient
from ..common.mutables import is_constant, plain, plain_type
from ..context import get_context
from . import measured
from .builder import Builder, Free
from .errors import DeadPath, GraphError, GraphTypeError, Poisoned, joined
from .interpreter import Interpreter
from .lengths import Lengths, StopToCount
from .result import (
    ABSENT,
    Argument,
    Either,
    Nest,
    Place,
    Slot,
    Staged,
    Static,
    Write,
    as_tensor,
    number_kind,
)
from .text import is_late, pack
from .values import Choice, LazyText, Scalar, Undef

__all__ = ["stage"]

_FRAMES_A_CALL = 40  # of Python, for one staged call within a few blocks and expressions


Seal = Callable[[Any, list[Tensor], list[Tensor]], list[Tensor]]


def stage(
    fn: Callable,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    records: bool | None = None,
    seal: Seal | None = None,
    numbers: frozenset[int] = frozenset(),
    free: Free | None = None,
    lengths: Lengths | None = None,
) -> Staged:
    """Stages ``fn(*args, **kwargs)`` for tensors of these dtypes and shapes; nothing is computed.

    Tensors among the arguments, also in lists, tuples and dicts, become inputs; everything else is
    static. What is read from globals, attributes and closures is guarded, tensors found there are
    hidden inputs. Numbers in attributes that the function both reads and writes are hidden inputs
    too, unless something needs their value while staging.

    Args:
        records: whether gradients are recorded while staging; None: if they are now.
        seal: called with the graph, its symbolic inputs and its outputs before the graph is
            closed; gives further outputs (the saved values of a gradient).
        numbers: leaves (as ``flatten`` counts) that are inputs of the graph, known when it runs, if
            they are floats or mutable numbers.
        free: axes of leaves whose sizes may be others: the result can be captured again for them.
        lengths: of lists that grow in loops on tensors, and of results whose size depends on
            values, as far as runs have counted them (``Counted``); None: there may be none.

    Raises:
        GraphError: the function cannot become one graph; the text shows where and why.
        Exception: what the function itself raises on the way, whatever the values of the tensors.

    >>> import diptych as ms
    >>> from diptych.stage.stage import stage
    >>> def f(x):
    ...     return x + 1
    >>> x = ms.Tensor([1.0, 2.0])
    >>> staged = stage(f, (x,))
    >>> staged.rebuild(staged.graph.run(staged.gather([x]))).tolist()
    [2.0, 3.0]
    """
    records = _core.grad_enabled() if records is None else records
    staged = _Staging(frozenset(), records, seal, numbers, free, lengths).run(
        fn, args, kwargs or {}
    )
    states = _states(staged)
    if not states:
        return staged
    try:
        return _Staging(states, records, seal, numbers, free, lengths).run(fn, args, kwargs or {})
    except (GraphError, TypeError, ValueError):
        return staged  # the number is needed while staging: it stays guarded


def _states(staged: Staged) -> frozenset[Any]:
    """Numbers that are read and written: running counts and the like."""
    numbers = {
        read.place.slot
        for read in staged.reads
        if read.place.kind in ("attr", "global", "cell") and type(read.value) in (int, float)
    }
    return frozenset(numbers & {write.place.slot for write in staged.writes})


@contextmanager
def _deep_recursion(max_depth: int) -> Iterator[None]:
    """Room on Python's stack for ``max_depth`` staged calls."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES_A_CALL * max_depth + 1000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _Staging:
    """One run of the interpreter, from arguments to a Staged."""

    def __init__(
        self,
        states: frozenset[Any],
        records: bool,
        seal: Seal | None,
        numbers: frozenset[int],
        free: Free | None,
        lengths: Lengths | None,
    ) -> None:
        self._records = records
        self._builder = Builder(records, free)
        self._seal = seal
        self._numbers = numbers
        self._max_depth = get_context("max_call_depth")
        self._lengths = lengths
        self._interp = Interpreter(self._builder, states, self._max_depth, lengths)
        self._inputs: list[int] = []
        self._leaf_count = 0
        self._by_object: dict[int, Tensor] = {}  # one input for a tensor given twice
        self._leaves: dict[int, tuple[Tensor, int]] = {}
        self._containers: dict[int, Any] = {}
        self._outputs: list[Tensor] = []
        self._slots: dict[int, tuple[Tensor, Slot]] = {}

    def run(self, fn: Callable, args: Sequence[Any], kwargs: dict[str, Any]) -> Staged:
        """Stages the call."""
        observer = self._interp.observer
        observer.add_known(fn)
        observer.add_known(getattr(fn, "__self__", fn))
        measuring = measured.within(self._interp)
        with self._builder.recording(), _deep_recursion(self._max_depth), measuring:
            try:
                structure, writes = self._surveyed(fn, args, kwargs)
                recording, why = self._builder.recorded(self._outputs)
                if self._seal is not None:  # gradients of the function's own see its variables
                    self._outputs += self._seal(
                        self._builder.graph, self._builder.inputs, list(self._outputs)
                    )
            finally:
                self._interp.journal.cut(0)
            self._builder.finish(self._outputs)
        reads = list(observer.reads.values())
        hidden = observer.hidden
        graph, inputs = self._builder.graph, self._inputs
        raises = self._builder.raises
        made = Staged(graph, inputs, hidden, structure, reads, writes, recording, why, raises)
        made.same = list(observer.same.values())
        made.tells_apart |= observer.tells_apart
        made.lengths = self._lengths if self._interp.assumes else None
        return made

    def _surveyed(
        self, fn: Callable, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Write]]:
        """``_call``, or all errors that were found on the way as one."""
        errors = self._interp.survey.errors
        try:
            found = self._call(fn, args, kwargs)
        except Exception as error:
            if not errors:
                raise
            if isinstance(error, GraphError) and not isinstance(error, Poisoned):
                errors += [error] if error not in errors else []
            raise joined(errors) from None
        if errors:
            raise joined(errors)
        return found

    def _call(
        self, fn: Callable, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Any, list[Write]]:
        given = tuple(self._argument(a) for a in args)
        named = {k: self._argument(v) for k, v in kwargs.items()}
        try:
            value = self._interp.call(fn, given, named)
        except DeadPath:
            value = None  # it always raises
        except StopToCount:
            return Static(None), []
        return self.structure(value), self._writes()

    # ---- arguments

    def _argument(self, value: Any) -> Any:
        """The value with symbolic tensors; leaves are counted as ``flatten`` does."""
        if type(value) in (list, tuple):
            made: Any = type(value)(self._argument(v) for v in value)
        elif type(value) is dict:
            made = {k: self._argument(v) for k, v in value.items()}
        else:
            return self._leaf(value)
        self._containers[id(made)] = made
        return made

    def _leaf(self, value: Any) -> Any:
        index = self._leaf_count
        self._leaf_count += 1
        kind = float if type(value) is float else plain_type(value)
        value = plain(value)
        if index in self._numbers and kind is not None:
            self._inputs.append(index)
            return Scalar(self._builder.input(self._builder.constant(value, kind)), kind)
        if isinstance(value, Parameter) or not isinstance(value, Tensor):
            self._interp.observer.add_outside(value)
            return value
        if is_constant(value, self._records):
            made = stop_gradient(value)
            self._leaves[id(made)] = (made, index)
            return made
        made = self._by_object.get(id(value))
        if made is None:
            made = self._by_object[id(value)] = self._builder.input(value, index)
            self._interp.observer.add_known(made)
            self._inputs.append(index)
            self._leaves[id(made)] = (made, index)
            self._interp.observer.add_argument(value, made, Place("leaf", None, index))
        return made

    # ---- results

    def _slot(self, tensor: Tensor, kind: type | None = None) -> Slot:
        self._outputs.append(alias(tensor))  # undoing may change what the handle shows
        return Slot(len(self._outputs) - 1, kind)

    def _shared(self, tensor: Tensor) -> Slot:
        """The slot of a tensor, the same for each place that shows the very object."""
        found = self._slots.get(id(tensor))
        if found is None:
            found = self._slots[id(tensor)] = tensor, self._slot(tensor)
        return found[1]

    def structure(self, value: Any) -> Any:
        """A value over the outputs of the graph."""
        if isinstance(value, Undef):
            raise value.error()
        if type(value) is _core.Size:
            return self._slot(as_tensor(value), number_kind(value))
        if isinstance(value, Parameter):
            return Static(value)
        if isinstance(value, Tensor):
            value = self._interp.observer.resolve(value)
            leaf = self._leaves.get(id(value))
            if leaf is not None:
                return Argument(leaf[1])
            place = self._interp.observer.place_of(value)
            return self._shared(value) if place is None else Nest(lambda _: place.get(), ())
        if isinstance(value, Scalar):
            return self._slot(value.tensor, value.kind)
        if isinstance(value, Choice):
            index = self._slot(value.cond).index
            return Either(index, self.structure(value.then), self.structure(value.orelse))
        if isinstance(value, LazyText):
            tensors: list[Tensor] = []
            return Nest(pack(value, tensors), tuple(self._slot(t) for t in tensors))
        if self._interp.observer.is_known(value):
            return Static(value)
        if isinstance(value, Iterator):
            raise self._interp.error(
                GraphTypeError,
                "Unsupported type in Graph mode",
                "DP203",
                why=f"the function returns a {type(value).__name__}, which could be used only once",
                fix="return a list or tuple",
            )
        return self._nest(value)

    def _nest(self, value: Any) -> Any:
        """A container made while staging: each call makes a new one."""
        kind = type(value)
        if kind is dict:
            keys = list(value)
            items = tuple(self.structure(v) for v in value.values())
            return Nest(lambda made: dict(zip(keys, made, strict=True)), items)
        if kind in (list, tuple, set):
            return Nest(kind, tuple(self.structure(v) for v in value))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            items = tuple(self.structure(v) for v in value)
            return Nest(lambda made: kind(*made), items)
        names = getattr(value, "__dict__", None)
        if isinstance(names, dict) and not isinstance(value, type) and is_late(names):
            keys = list(names)
            items = tuple(self.structure(v) for v in names.values())
            return Nest(lambda made: _rebuilt(value, dict(zip(keys, made, strict=True))), items)
        return Static(value)

    # ---- writes

    def _writes(self) -> list[Write]:
        """What was changed outside, to be done again after each run."""
        made = []
        for place, old in self._interp.journal.before.values():
            new = self._interp.journal.present(place)
            if new is old or (place.kind == "contents" and _same_items(new, old)):
                continue
            target = self._target(place)
            if target is not None:
                made.append(Write(target, self._written(place, new)))
        return made

    def _target(self, place: Place) -> Place | None:
        """Where a write goes in a later call; None: to something made while staging."""
        observer = self._interp.observer
        if place.kind == "tensor":
            leaf = self._leaves.get(id(place.owner))
            if leaf is not None:
                return Place("leaf", None, leaf[1])
            found = observer.place_of(place.owner)
            return None if found is None else Place("inside", found)
        if id(place.owner) in self._containers:
            raise self._interp.error(
                GraphTypeError,
                f"A {type(place.owner).__name__} among the arguments is changed",
                "DP316",
                why="the caller's object is another one in each call",
                fix="return the new container",
            )
        if place.kind == "global":
            return place
        if place.kind == "cell":
            return None if id(place.owner) in self._interp.made_cells else place
        return place if observer.is_known(place.owner) else None

    def _written(self, place: Place, value: Any) -> Any:
        if value is ABSENT:
            return Static(ABSENT)
        if place.kind == "tensor":
            return self._slot(value)
        return self._nest(value) if place.kind == "contents" else self.structure(value)


def _same_items(a: Any, b: Any) -> bool:
    """Whether a list, dict or set holds the very same items as before."""
    if isinstance(a, dict):
        return list(a) == list(b) and all(v is b[k] for k, v in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))
    return a == b


def _rebuilt(value: Any, names: dict[str, Any]) -> Any:
    made = copy.copy(value)
    made.__dict__.update(names)
    return made
