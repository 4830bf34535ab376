"""Loops whose number of rounds is known at run time: one While of the graph.

The test is part of the round: the loop carries whether it goes on, so that the test is staged once
before the loop and once at the end of the body, and never runs after a break. What else is carried
is found by staging: a round is staged, what it changed is carried, until nothing new turns up.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .carried import (
    ChangesType,
    Spec,
    build,
    is_absent,
    is_opaque,
    is_same,
    object_spec,
    spec_of,
    take_apart,
    zeros,
)
from .counting import count_rounds
from .errors import DeadPath, GraphTypeError
from .frame import Frame
from .growing import Growing, Grows, ReadWhileGrowing
from .journal import Delta
from .outcome import Leaf, Outcome, Status, leaves, renamed
from .reach import reachable
from .values import Choice, Dead, Scalar, Undef

if TYPE_CHECKING:
    from .builder import Params
    from .interpreter import Interpreter

__all__ = ["Rounds", "roll"]

_MOST_TRIPS = 12  # rounds staged until nothing new is carried

_MOST_CHANGES = 3  # of the type of one local name, before it is left without a value

_numbers = itertools.count()


@dataclass
class Rounds:
    """A loop: what a round does, what decides whether there is another."""

    body: Callable[[], Outcome]
    test: Callable[[], Any]  # a bool, a Scalar or a choice of them
    has_else: bool
    is_endless: bool = False
    may_grow: bool = True  # a list that was there before; else the rounds are to be unrolled


@dataclass
class _Trip:
    """What one staging of a round gave."""

    names: dict[str, Any]
    delta: Delta
    params: Params
    statuses: set[Status]
    loop: Any
    cond: Tensor


@dataclass
class _Roll:
    """A While under construction."""

    interp: Interpreter
    frame: Frame
    rounds: Rounds
    entry: bool | Tensor
    is_peeled: bool
    growing: list[Growing] = field(default_factory=list)
    carried: dict[Any, Spec] = field(default_factory=dict)
    changes: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.next, self.status, self.value = (f"${n}{number}" for n in ("next", "status", "value"))
        self._old = reachable(self.interp.frames, self.frame, self.frame.locals)

    def is_old(self, value: Any) -> bool:
        """Whether an object was there before the loop."""
        return id(value) in self._old or self.interp.observer.is_known(value)

    # ---- one round

    def round(self) -> Outcome:
        """The body, then the test for the next round."""
        frame, interp = self.frame, self.interp

        def again(_: Leaf) -> Outcome:
            frame.locals[self.next] = self.rounds.test()
            return interp.leaf(frame)

        out = renamed(self.rounds.body(), Status.CONTINUE, Status.NORMAL)
        return interp.resume(frame, out, again)

    def merged(self, out: Outcome) -> tuple[dict[str, Any], set[Status]]:
        """All ends of a round as one: the locals, and how the loop may be left."""
        interp = self.interp
        statuses = {leaf.status for leaf in leaves(out)} - {Status.DEAD}
        if Status.RAISE in statuses:
            raise interp.error(
                GraphTypeError,
                "An exception that depends on a tensor leaves a loop on tensors",
                "DP306",
                "it is caught outside of the loop",
                fix="catch it inside of the loop, or leave the loop with break and a flag",
            )
        for leaf in leaves(out):
            if leaf.status is Status.DEAD:
                continue
            gone = leaf.status is Status.RETURN
            names = {name: Dead(v) if gone else v for name, v in leaf.locals.items()}
            if leaf.status is not Status.NORMAL:
                names[self.next] = False
            names[self.status] = leaf.status.value
            names[self.value] = leaf.value if gone else Dead()
            leaf.locals, leaf.status, leaf.value = names, Status.NORMAL, None
        if not interp.is_joinable(out):
            raise interp.error(
                GraphTypeError,
                "Branches leave a list, dict or set with different items",
                "DP305",
                "in a loop whose number of rounds is known at run time",
                fix="use a Tensor",
            )
        end = interp.fold(self.frame, out)
        names = dict(end.locals)
        if end.status is Status.DEAD:
            names[self.next] = False
        return names, statuses

    def trip(self) -> _Trip:
        """Stages a round with the values carried so far as parameters of the While."""
        interp, frame, builder = self.interp, self.frame, self.interp.builder
        names = frame.locals
        init: list[Tensor] = []
        for key, spec in self.carried.items():
            value = self.entry_value(key)
            absent = is_absent(value)
            init += zeros(interp, spec) if absent else take_apart(interp, spec, value)
        loop, params, _, region = builder.loop(init)
        mark, before = interp.journal.mark(), builder.params()
        depth = len(interp.frames)
        frame.locals = dict(names)
        try:
            with builder.inside(region), interp.survey.trial():
                rest = iter(params)
                for key, spec in self.carried.items():
                    is_new = is_absent(self.entry_value(key))
                    value = build(spec, rest)
                    if not is_new or spec[0] == "unsettled":
                        self.put(key, value)
                with interp.knowing(params[0], True):
                    made, statuses = self.merged(self.guarded_round())
        finally:
            del interp.frames[depth:]
            changed = builder.undo_params(before)
            delta = interp.cut(mark, frame, names)
            frame.locals = names
        return _Trip(made, delta, changed, statuses, (loop, region), params[0])

    def guarded_round(self) -> Outcome:
        """A round; where it may not be reached, what it raises is raised at run time."""
        if isinstance(self.entry, bool):
            try:
                return self.round()
            except DeadPath:
                return self.interp.leaf(self.frame, Status.DEAD)
        return self.interp.guarded(self.frame, self.round)

    # ---- places of carried values

    def entry_value(self, key: Any) -> Any:
        """The value before the loop."""
        kind, which = key
        if kind == "local":
            return self.frame.locals.get(which, Dead())
        if kind == "place":
            return self.interp.journal.visible(which)
        return self.interp.builder.params()[which][1 if kind == "param" else 2]

    def put(self, key: Any, value: Any) -> None:
        """Gives a carried name, place or parameter a value."""
        kind, which = key
        if kind == "local":
            self.frame.locals[which] = value
        elif kind == "place":
            self.interp.journal.write(which, value)
        else:
            builder = self.interp.builder
            parameter, now, grad = builder.params()[which]
            now, grad = (value, grad) if kind == "param" else (now, value)
            builder.set_params({which: (parameter, now, grad)})

    def ends(self, trip: _Trip) -> dict[Any, Any]:
        """Everything that a round may have changed, with its value at the end."""
        ends: dict[Any, Any] = {}
        places = {key[1].slot: key[1] for key in self.carried if key[0] == "place"}
        for name, value in trip.names.items():
            ends["local", name] = value
        for slot, (place, value) in trip.delta.items():
            ends["place", places.get(slot, place)] = value
        for which, (_, value, grad) in trip.params.items():
            ends["param", which] = value
            ends["grad", which] = grad
        return ends

    # ---- the whole

    def run(self) -> Outcome:
        """Stages rounds until all that changes is carried; then the While."""
        interp = self.interp
        interp.rolls.append(self)
        for one in self.growing:
            one.begin(interp, self.frame)
        try:
            trip, ends = self.settle()
        finally:
            interp.rolls.pop()
            for one in self.growing:
                one.leave(interp, self.frame)
        return self.close(trip, ends)

    def settle(self) -> tuple[_Trip, dict[Any, Any]]:
        """The round, staged with all that changes carried."""
        frame = self.frame
        entry = self.entry
        first = self.interp.builder.constant(True, bool) if entry is True else entry
        frame.locals[self.next] = Scalar(first, bool)
        frame.locals[self.status] = 0
        self.carried["local", self.next] = ("number", bool)
        for _ in range(_MOST_TRIPS):
            trip = self.trip()
            ends = self.ends(trip)
            if not self.learn(ends):
                return trip, ends
        raise self.interp.error(
            GraphTypeError, "The values of a loop do not settle", "DP311", "in this loop"
        )

    def learn(self, ends: dict[Any, Any]) -> bool:
        """Adds what a round changed to what is carried; whether there was anything new."""
        news = False
        for key, end in ends.items():
            value = self.entry_value(key)
            known = self.carried.get(key)
            if known is None and (is_same(value, end) or isinstance(end, Dead)):
                continue
            if isinstance(end, Dead):
                continue
            spec = self.spec(key, value, end)
            if known is not None and known != spec:
                self.changes[key] += 1
                if known == ("number", float):
                    spec = known
                elif key[0] == "local" and self.changes[key] > _MOST_CHANGES:
                    spec = self.unsettled(key[1], value, end)
            news |= known != spec
            self.carried[key] = spec
        return news

    def spec(self, key: Any, value: Any, end: Any) -> Spec:
        """The type of something carried; local names may be without one."""
        known = self.carried.get(key)
        if known is not None and known[0] == "unsettled":
            return known
        if key[0] == "local" and is_opaque(end):
            return object_spec(value, end) or self.unsettled(key[1], value, end)
        try:
            return spec_of(value, end)
        except ChangesType as change:
            if key[0] == "local" and self.is_peeled:
                return self.unsettled(key[1], value, end)
            change.args = (*change.args, key)
            raise

    def unsettled(self, name: str, value: Any, end: Any) -> Spec:
        """A name that no later round and nothing after the loop may read."""
        change = ChangesType(value, end)
        change.args = (*change.args, ("local", name))
        return "unsettled", lambda: _unsettled(self.interp, change)

    def close(self, trip: _Trip, ends: dict[Any, Any]) -> Outcome:
        """Emits the While and gives everything carried its value after it."""
        interp, builder = self.interp, self.interp.builder
        entries = {key: self.entry_value(key) for key in self.carried}
        loop, region = trip.loop
        following: list[Tensor] = []
        with builder.inside(region):
            for key, spec in self.carried.items():
                end = ends.get(key, entries[key])
                if isinstance(end, Dead):
                    following += zeros(interp, spec)
                else:
                    following += take_apart(interp, spec, end)
        outs = iter(builder.close_loop(loop, trip.cond, following))
        for key, spec in self.carried.items():
            value = build(spec, outs)
            before = entries[key]
            own = key[1] == self.value
            settled = spec[0] != "unsettled"
            if settled and is_absent(before) and isinstance(self.entry, Tensor) and not own:
                value = Choice(self.entry, value, before)
            self.put(key, value)
        for one in self.growing:
            one.end(interp)
        return self.leave(trip.statuses)

    def leave(self, statuses: set[Status]) -> Outcome:
        """The ends of the loop: after the last test, a break, or a return."""
        frame = self.frame
        frame.locals.pop(self.next)
        status = frame.locals.pop(self.status)
        value = frame.locals.pop(self.value, None)
        if isinstance(value, Undef):
            raise value.error()  # what the loop returns is of another type in each round
        found = set(statuses)
        if self.rounds.is_endless:
            found.discard(Status.NORMAL)
        else:
            found.add(Status.NORMAL)
        if not self.rounds.has_else and Status.RETURN not in found:
            return self.interp.leaf(frame)
        return self.interp.spread(frame, sorted(found, key=lambda s: s.value), status, value)


def roll(
    interp: Interpreter, frame: Frame, rounds: Rounds, entry: bool | Tensor, is_peeled: bool = False
) -> Outcome:
    """``while entry: body; entry = test()`` as a While. If a value has another type after the first
    round than before it, that round is staged on its own first."""
    names = dict(frame.locals)
    growing: list[Growing] = []
    while True:
        made = _Roll(interp, frame, rounds, entry, is_peeled, growing)
        try:
            return made.run()
        except Grows as grows:
            frame.locals = dict(names)
            if grows.roll is not made:
                raise
            growing.append(Growing(grows.owner, grows.item))
        except ReadWhileGrowing as error:
            frame.locals = dict(names)
            out = _counted(interp, frame, rounds, entry) if growing else None
            if out is None:
                raise error from None
            return out
        except ChangesType as change:
            frame.locals = dict(names)
            if is_peeled:
                raise _unsettled(interp, change) from None
            found = change
            break

    return _peeled(interp, frame, rounds, entry, names, found)


def _peeled(
    interp: Interpreter,
    frame: Frame,
    rounds: Rounds,
    entry: bool | Tensor,
    names: dict[str, Any],
    change: ChangesType,
) -> Outcome:
    """The loop with its first round staged on its own; where that does not help, and lengths are
    what changes, for a number of rounds."""
    if not change.is_length or not _may_count(interp, rounds):
        return _peel(interp, frame, rounds, entry)
    mark, params, depth = interp.journal.mark(), interp.builder.params(), len(interp.frames)
    try:
        with interp.survey.trial():
            return _peel(interp, frame, rounds, entry)
    except Unsettled as error:
        del interp.frames[depth:]
        interp.cut(mark, frame, names)
        interp.builder.undo_params(params)
        frame.locals = dict(names)
        out = _counted(interp, frame, rounds, entry)
        if out is None:
            raise error from None
        return out


def _may_count(interp: Interpreter, rounds: Rounds) -> bool:
    return rounds.may_grow and not rounds.is_endless and not interp.rolls and interp.may_assume


def _counted(
    interp: Interpreter, frame: Frame, rounds: Rounds, entry: bool | Tensor
) -> Outcome | None:
    """The loop for a number of rounds; None: it cannot be made so."""
    if not _may_count(interp, rounds):
        return None
    return count_rounds(interp, frame, rounds, entry)


def _peel(interp: Interpreter, frame: Frame, rounds: Rounds, entry: bool | Tensor) -> Outcome:
    def first() -> Outcome:
        out = renamed(rounds.body(), Status.CONTINUE, Status.NORMAL)
        return interp.resume(frame, out, lambda _: again())

    def again() -> Outcome:
        truth = interp.condition_of(rounds.test())
        if truth is False:
            return interp.leaf(frame)
        return roll(interp, frame, rounds, truth, is_peeled=True)

    if entry is True:
        return first()
    return interp.fork(frame, entry, first, lambda: interp.leaf(frame))


class Unsettled(GraphTypeError):
    """A value is of another type in each round."""


def _unsettled(interp: Interpreter, change: ChangesType) -> GraphTypeError:
    text, key = change.args
    if key[0] == "place" and key[1].kind == "contents":
        error = interp.error(
            Unsettled,
            f"Loop changes the length of a {type(key[1].owner).__name__}",
            "DP315",
            text,
            why="the number of rounds is known at run time only",
            fix="write into a Tensor of a fixed size, or loop over a static range",
        )
        assert isinstance(error, GraphTypeError)
        return error
    name = key[1] if key[0] == "local" else str(key[1])
    error = interp.error(
        Unsettled,
        f"Loop changes the type of '{name}'",
        "DP311",
        text,
        why="the number of rounds is known at run time only, so a value keeps its type",
        fix="cast or shape it before the loop as it is after a round",
    )
    assert isinstance(error, GraphTypeError)
    return error
