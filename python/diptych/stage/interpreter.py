"""The staging interpreter: walks statements and expressions, inlines calls.

Everything static is executed for real; ops on symbolic tensors append nodes by themselves.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Tensor
from . import expressions, statements
from .arguments import bind
from .builder import Builder, value_id
from .detach import detach
from .errors import (
    DeadPath,
    GraphError,
    GraphRuntimeError,
    GraphTypeError,
    StaticNeeded,
    location,
    message,
)
from .forking import Forking
from .frame import Frame
from .growing import GROWS, Growing, Grows, held_back, refuse_reading
from .journal import Journal
from .lengths import Counted, Lengths, StopToCount
from .observer import Observer
from .outcome import Leaf, Outcome, Status, leaves
from .result import PLAIN, Place
from .source import Source, find, is_library
from .survey import Survey
from .values import Choice, Scalar, Undef, kind_of

__all__ = ["Interpreter"]

_SAME_CALLS = 64  # of one function with arguments of one kind, until a recursion is given up


class Interpreter(Forking):
    """One staging: the graph under construction, the calls, what was seen and changed."""

    def __init__(
        self,
        builder: Builder,
        states: frozenset[Any],
        max_depth: int,
        lengths: Lengths | None = None,
    ) -> None:
        self.builder = builder
        self.journal = Journal()
        self.observer = Observer(builder, states)
        self.survey = Survey()
        self.frames: list[Frame] = []
        self.facts: dict[int, bool] = {}
        self.derived: dict[int, Any] = {}
        self.max_depth = max_depth
        self.rolls: list[Any] = []  # the loops around that are known at run time only
        self.growing: dict[int, Growing] = {}  # lists that they make longer, by id
        self._lengths, self._events = lengths, 0
        self.made_cells: dict[int, types.CellType] = {}
        self.made_functions: dict[int, types.FunctionType] = {}
        self.may_freeze = False  # whether clocks and the like may be read: inside of ms.static
        self.conditions: list[Tensor] = []  # facts are kept by id: nothing may take the id over

    # ---- errors and positions

    def error(
        self, cls: type[GraphError], sentence: str, code: str, remark: str = "", **notes: Any
    ) -> GraphError:
        """A GraphError at the present place of the user's source."""
        stack = [frame.position() for frame in self.frames]
        return cls(message(sentence, code, stack, remark, **notes))

    def static_needed(self, remark: str, why: str, fix: str = "") -> GraphError:
        """Something is known at run time only, but must be known now."""
        return self.error(StaticNeeded, "Static value needed", "DP312", remark, why=why, fix=fix)

    def mark_line(self, node: ast.AST, frame: Frame) -> None:
        """Nodes to come belong to ``node``."""
        frame.node = node
        at = frame.position()
        self.builder.at(at.filename, at.line, at.column, at.end_column, at.function)

    def note_position(self, error: BaseException) -> None:
        """Adds to an exception of the user's program where in the source it was raised."""
        if not getattr(error, "__notes__", None) and self.frames:
            stack = [frame.position() for frame in self.frames]
            error.add_note(location(stack))

    @contextmanager
    def freezing(self) -> Iterator[None]:
        """Inside, what changes from run to run may be read once and for all."""
        before, self.may_freeze = self.may_freeze, True
        try:
            yield
        finally:
            self.may_freeze = before

    # ---- conditions

    def truth(self, value: Any) -> bool | Tensor:
        """What ``if value`` means: a bool, or a 0-d bool tensor known at run time."""
        value = self.resolve(value)
        if isinstance(value, Choice):
            return self.decided(self.lift(self.as_bool, value))
        if isinstance(value, Undef):
            raise value.error()
        if isinstance(value, Scalar):
            value = value.tensor
        if not self.builder.is_symbolic(value):
            return self._static_truth(value)
        if value.size != 1:
            raise self.error(
                GraphTypeError,
                "The truth value of a tensor with several elements is not defined",
                "DP304",
                f"Tensor{list(value.shape)} {value.dtype.name}",
                fix="use .any(), .all() or a comparison of one element",
            )
        cond = value.reshape(()) if value.ndim else value
        cond = cond if cond.dtype is _core.dtype("bool") else cond != 0
        self.conditions.append(cond)
        return self.facts.get(value_id(cond), cond)

    def _static_truth(self, value: Any) -> bool | Tensor:
        """``bool(value)``; a ``__bool__`` or ``__len__`` written in Python is staged."""
        for name in ("__bool__", "__len__"):
            method = getattr(type(value), name, None)
            if isinstance(method, types.FunctionType) and not isinstance(value, Tensor):
                return self.truth(self.call(types.MethodType(method, value), (), {}))
            if method is not None:
                break
        return bool(value)

    def as_bool(self, value: Any) -> Any:
        """``bool(value)``: static, or a Scalar."""
        truth = self.truth(value)
        return truth if isinstance(truth, bool) else Scalar(truth, bool)

    # ---- names and places

    def read(self, place: Place, value: Any) -> Any:
        """A value found in a place outside the call: guarded unless this staging wrote it."""
        if self.journal.is_changed(place):
            return value
        return self.observer.see(place, value)

    # ---- blocks

    def block(self, body: list[ast.stmt], frame: Frame) -> Outcome:
        """Stages statements one after the other."""
        for i, node in enumerate(body):
            frame.node = node
            handler = statements.STATEMENTS.get(type(node))
            if handler is None:
                raise self.unsupported(node)
            try:
                out = handler(self, node, frame)
            except GraphError as error:
                out = self.survey.survive(self, error, node, frame)
            if out is None:
                continue
            if isinstance(out, Leaf):
                frame.locals = out.locals
                if out.status is not Status.NORMAL:
                    return out
                continue
            rest = body[i + 1 :]
            return self.resume(frame, out, lambda _, rest=rest: self.block(rest, frame))
        return self.leaf(frame)

    def evaluate(self, node: ast.expr, frame: Frame, grows: bool = False) -> Any:
        """The value of an expression; ``grows``: it is only asked for a method that appends."""
        handler = expressions.EXPRESSIONS.get(type(node))
        if handler is None:
            raise self.unsupported(node)
        value = handler(self, node, frame)
        if self.growing and not grows:
            self.may_read(value)
        return self.resolve(value) if type(value) is Choice else value

    def unsupported(self, node: ast.AST) -> GraphError:
        """The error for a construct that has no handler."""
        self.frames[-1].node = node
        return self.error(
            GraphTypeError,
            "Unsupported statement in Graph mode",
            "DP202",
            type(node).__name__,
            fix="move it into a function that is called before, or run in PYNATIVE_MODE",
        )

    def unsupported_use(self, what: str, name: str) -> GraphError:
        """The error for a kind of function that cannot be staged."""
        return self.error(
            GraphTypeError,
            "Unsupported type in Graph mode",
            "DP202",
            f"{name}: {what}",
            fix="use a plain function, or run in PYNATIVE_MODE",
        )

    # ---- lengths known at run time only

    @property
    def may_assume(self) -> bool:
        """Whether lengths may be assumed that a run checks."""
        return self._lengths is not None and not self.builder.has_free_sizes

    def next_length(self) -> tuple[int, int | None]:
        """The number of the next length that only a run can tell, and the length, if one has."""
        event = self._events
        self._events += 1
        known = self._lengths is not None and event < len(self._lengths)
        return event, self._lengths[event] if known else None

    def assumed(self, length: int | None) -> int:
        """The length to go on with, behind the node that counts it.

        Raises:
            StopToCount: it is not known, and a run will count it.
        """
        if length is None and self.builder.region is None and not self.survey.is_trying:
            raise StopToCount
        return 1 if length is None else length  # what is not reached may have any

    def counted(self, count: Tensor) -> int:
        """A number from 0 on that only a run can tell, as a Python int."""
        return self.checked(count, *self.next_length())

    def checked(self, count: Tensor, event: int, length: int | None) -> int:
        """The length of an event to go on with; each run checks that it counts as many."""

        def check(count: Tensor) -> None:
            if int(count) != length:
                raise Counted(event, int(count))

        self.builder.host(check, [count])
        return self.assumed(length)

    @property
    def assumes(self) -> bool:
        """Whether there was a length that only a run can tell."""
        return self._events > 0

    # ---- lists that grow in loops

    def grow(self, owner: list[Any], method: str, args: tuple[Any, ...]) -> bool:
        """``owner.method(*args)``, if the list grows in a loop around."""
        growing = self.growing.get(id(owner))
        if growing is not None:
            growing.call(self, method, args)
            return True
        if method in GROWS and len(args) == 1 and self._lengths is not None:
            roll = next((r for r in self.rolls if r.is_old(owner)), None)
            items = [args[0]] if method == "append" else list(args[0])
            if roll is not None and items:
                if not roll.rounds.may_grow or not self.may_assume:
                    raise self.static_needed("a list grows", "its length is a number of Python's")
                raise Grows(roll, owner, items[0])
        return False

    def may_read(self, value: Any) -> None:
        """Raises where a value is a list that grows in a loop around."""
        if self.growing and held_back(self, value):
            raise refuse_reading(self)

    # ---- calls of Python functions

    def inline(
        self, fn: types.FunctionType, source: Source, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Stages the body of a function in place."""
        names = bind(fn, args, kwargs)
        if self._sees_defaults(fn):
            names = {k: self._resolved(v) for k, v in names.items()}
        if len(self.frames) >= self.max_depth or self._does_not_end(fn, names):
            raise self._too_deep(fn)
        closure = fn.__closure__ or ()
        frame = Frame(fn.__code__, source, names, fn.__globals__, closure, self.made_cells)
        depth = len(self.frames)
        self.frames.append(frame)
        try:
            return self._finish(frame, self.block(source.body, frame))
        except Exception as error:
            if not isinstance(error, GraphError):
                self.note_position(error)
            raise
        finally:
            del self.frames[depth:]

    def _sees_defaults(self, fn: types.FunctionType) -> bool:
        """Guards the defaults of a function that was there before; whether there is any to see."""
        if id(fn) in self.made_functions or is_library(fn.__code__.co_filename):
            return False
        sees = False
        for key in ("__defaults__", "__kwdefaults__"):
            held = getattr(fn, key)
            values = held.values() if isinstance(held, dict) else held or ()
            if not all(type(v) in PLAIN for v in values):
                self.read(Place("attr", fn, key), held)
                sees = True
        return sees

    def _resolved(self, value: Any) -> Any:
        return self.observer.resolve(value) if isinstance(value, Tensor) else value

    def partial(self, fn: functools.partial) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments that a partial function holds."""
        if self.observer.is_known(fn):
            for part in (fn.func, fn.args, fn.keywords):
                self.observer.add_outside(part)
        args = tuple(map(self._resolved, fn.args))
        return args, {k: self._resolved(v) for k, v in fn.keywords.items()}

    def _does_not_end(self, fn: types.FunctionType, names: dict[str, Any]) -> bool:
        """Whether a recursion under conditions on tensors goes on and on with arguments of the same
        kind: it ends at run time only, which inlining never sees."""
        if not self.facts or len(self.frames) < _SAME_CALLS:
            return False
        calls = [frame.given for frame in self.frames if frame.code is fn.__code__]
        kind = kind_of(names)
        same = [given for given in calls[-_SAME_CALLS:] if kind_of(given) == kind]
        return len(same) == _SAME_CALLS

    def _too_deep(self, fn: types.FunctionType) -> GraphError:
        return self.error(
            GraphRuntimeError,
            "Exceed function call depth limit",
            "DP303",
            f"call {len(self.frames)} of {fn.__qualname__}",
            why="the calls stand under a condition on a tensor, so whether they end is known at "
            "run time only"
            if self.facts
            else f"max_call_depth is {self.max_depth}",
            fix="write the recursion as a while loop"
            if self.facts
            else "add a base case; for a deep but finite recursion "
            "ms.set_context(max_call_depth=10000)",
        )

    def _finish(self, frame: Frame, out: Outcome) -> Any:
        """The value of a call, from the ends of its body."""
        for leaf in leaves(out):
            if leaf.status is Status.NORMAL:
                leaf.status, leaf.value = Status.RETURN, None
            leaf.locals = {}
        if not self.is_joinable(out):
            detach(self, frame, out)
        end = self.fold(frame, out)
        if end.status is Status.DEAD:
            raise DeadPath
        return end.value

    def find_source(self, fn: types.FunctionType) -> Source | None:
        """The source of a function; None: it can only be called."""
        return find(fn.__code__)

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls anything: inlined, by a rule of its own, or natively."""
        from .calls import call

        return call(self, fn, args, kwargs)
