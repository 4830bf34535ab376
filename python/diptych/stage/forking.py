"""Staging along several paths: forks at conditions known at run time, and their joins.

While a tree of ends is held, objects outside are as they were at its root; going on in one end does
that end's changes again, and takes them back afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .builder import Builder, Params, value_id
from .errors import DeadPath, GraphError, GraphRuntimeError, GraphTypeError
from .frame import Frame
from .journal import Delta, Journal, store
from .outcome import Fork, Join, Leaf, Make, Outcome, Status, Unjoinable, leaves
from .reach import reachable
from .result import Place
from .values import Choice, Dead, Scalar, Undef

if TYPE_CHECKING:
    from .observer import Observer

__all__ = ["Forking"]

_MOST_PATHS = 64  # ends of one function

_STATUS, _VALUE = "$status", "$value"

_DIFFERENT = "Branches leave a list, dict or set with different items"

GoOn = Callable[[Leaf], Outcome]


class Forking:
    """The part of the interpreter that forks and joins."""

    builder: Builder
    journal: Journal
    observer: Observer
    frames: list[Frame]
    facts: dict[int, bool]  # by value_id
    derived: dict[int, Any]  # conditions made of others: the choice of bools behind them
    conditions: list[Tensor]  # kept alive: facts are by id
    error: Callable[..., GraphError]
    note_position: Callable[[BaseException], None]

    # ---- what is known

    @contextmanager
    def knowing(self, cond: Tensor, truth: bool) -> Iterator[None]:
        """Inside, ``cond`` is known."""
        facts = {value_id(cond): truth}
        facts.update(self._implied(self.derived.get(value_id(cond)), truth) or {})
        before = {key: self.facts.get(key) for key in facts}
        self.facts.update(facts)
        try:
            yield
        finally:
            for key, old in before.items():
                if old is None:
                    del self.facts[key]
                else:
                    self.facts[key] = old

    def _implied(self, tree: Any, truth: bool) -> dict[int, bool] | None:
        """What follows for the conditions of a choice of bools from its truth; None: it cannot have
        that truth."""
        if isinstance(tree, bool):
            return {} if tree is truth else None
        if not isinstance(tree, Choice):
            return {}
        key = value_id(tree.cond)
        then, orelse = (
            None if self.facts.get(key, known) is not known else self._implied(side, truth)
            for known, side in ((True, tree.then), (False, tree.orelse))
        )
        if then is None or orelse is None:
            rest = orelse if then is None else then
            return None if rest is None else {key: then is not None, **rest}
        return {k: v for k, v in then.items() if orelse.get(k) is v}

    def resolve(self, value: Any) -> Any:
        """The value, or the side of a choice whose condition is known here."""
        while type(value) is Choice:
            known = self.facts.get(value_id(value.cond))
            if known is None:
                return value
            value = value.then if known else value.orelse
        return value

    def lift(self, fn: Callable[..., Any], *values: Any) -> Any:
        """``fn(*values)``, once for each side of every choice among the values."""
        for i, value in enumerate(values):
            value = self.resolve(value)
            if isinstance(value, Choice):
                head, tail = values[:i], values[i + 1 :]
                then, orelse = (
                    functools.partial(self.lift, fn, *head, side, *tail)
                    for side in (value.then, value.orelse)
                )
                return self.fork_value(value.cond, then, orelse)
            if isinstance(value, Undef):
                raise value.error()
        return fn(*map(self.resolve, values))

    # ---- forks

    def leaf(self, frame: Frame, status: Status = Status.NORMAL, value: Any = None) -> Leaf:
        """The end that staging stands at."""
        return Leaf(status, frame.locals, self.builder.region, value)

    def fork(
        self,
        frame: Frame,
        cond: Tensor,
        then: Callable[[], Outcome],
        orelse: Callable[[], Outcome],
    ) -> Outcome:
        """Stages both sides of a condition and joins what can be joined."""
        return self.simplify(frame, self._open(frame, cond, then, orelse))

    def _open(
        self,
        frame: Frame,
        cond: Tensor,
        then: Callable[[], Outcome],
        orelse: Callable[[], Outcome],
    ) -> Fork:
        names = frame.locals
        out = Fork(cond, None, None, self.builder.region, names)  # type: ignore[arg-type]
        for truth, side in ((True, then), (False, orelse)):
            start = Leaf(Status.NORMAL, dict(names), self.builder.new_region())
            made = self._inside(frame, out, truth, start, lambda _, side=side: side())
            out.set_side(truth, made)
        frame.locals = names
        return out

    def fork_value(self, cond: Tensor, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """A fork inside an expression: the value of both sides, joined."""
        frame = self.frames[-1]

        def side(fn: Callable[[], Any]) -> Leaf:
            value = fn()
            return self.leaf(frame, Status.RETURN, value)

        out = self.fork(frame, cond, lambda: side(then), lambda: side(orelse))
        if isinstance(out, Fork):
            raised = any(leaf.status is Status.RAISE for leaf in leaves(out))
            raise self.error(
                GraphTypeError,
                "An exception that depends on a tensor is raised inside an expression"
                if raised
                else _DIFFERENT,
                "DP306" if raised else "DP305",
                "needs a statement of its own",
                fix="use an if statement",
            )
        if out.status is Status.DEAD:
            raise DeadPath
        return out.value

    def _inside(
        self,
        frame: Frame,
        fork: Fork,
        truth: bool,
        end: Outcome,
        go_on: GoOn,
        status: Status = Status.NORMAL,
    ) -> Outcome:
        """Goes on in the ends of ``status`` below ``end``, one side of a fork."""
        if not any(leaf.status is status for leaf in leaves(end)):
            return end

        def run() -> Outcome:
            if isinstance(end, Leaf):
                frame.locals = end.locals
                return self.guarded(frame, lambda: go_on(end))
            self._go_on_below(frame, end, go_on, status)
            return self.simplify(frame, end)

        return self.on_side(frame, fork, truth, end, run)

    def on_side(
        self, frame: Frame, fork: Fork, truth: bool, end: Outcome, run: Callable[[], Outcome]
    ) -> Outcome:
        """Runs with the world as it is at ``end``, one side of a fork; then takes the changes back
        and hangs them on the new end."""
        mark, params = self.journal.mark(), self.builder.params()
        with self.builder.inside(end.region), self.knowing(fork.cond, truth):
            self.journal.redo(end.delta)
            self.builder.set_params(end.params)
            out = run()
            out.params = self.builder.undo_params(params)
        out.delta = self.cut(mark, frame, fork.names)
        return out

    def cut(self, mark: int, frame: Frame, names: dict[str, Any]) -> Delta:
        """Takes back what happened since ``mark``, when the locals were ``names``; returns it.
        Objects made since then keep what they hold: nobody else knows them."""
        delta = self.journal.cut(mark)
        if not delta:
            return delta
        old = reachable(self.frames, frame, names)
        for slot, (place, value) in list(delta.items()):
            if not self.observer.is_known(place.owner) and id(place.owner) not in old:
                store(place, value)
                del delta[slot]
        return delta

    def _go_on_below(self, frame: Frame, fork: Fork, go_on: GoOn, status: Status) -> None:
        fork.then = self._inside(frame, fork, True, fork.then, go_on, status)
        fork.orelse = self._inside(frame, fork, False, fork.orelse, go_on, status)

    # ---- raising

    def guarded(self, frame: Frame, run: Callable[[], Outcome]) -> Outcome:
        """An exception on a path that may not be taken is an end of that path."""
        depth = len(self.frames)
        try:
            return run()
        except DeadPath:
            return self.leaf(frame, Status.DEAD)
        except GraphError:
            raise
        except Exception as error:
            del self.frames[depth:]
            return self.raised(frame, error)

    def raised(self, frame: Frame, error: BaseException) -> Leaf:
        """The end of a path that raises: for a handler of this function, or at run time."""
        if frame.tries:
            return self.leaf(frame, Status.RAISE, error)
        self.raise_later(error)
        return self.leaf(frame, Status.DEAD)

    def raise_later(self, error: Any) -> None:
        """The graph raises ``error`` when it comes here."""
        from .text import raiser

        for frame in self.frames[:-1]:
            if any(isinstance(error, kinds) for kinds in frame.tries):
                raise self.error(
                    GraphTypeError,
                    "An exception that depends on a tensor cannot be caught by a caller",
                    "DP306",
                    f"{type(error).__name__} is caught in {frame.name}",
                    fix="catch it in the function that raises it, or return a flag",
                )
        self.note_position(error)
        call, tensors = raiser(error)
        self.builder.raises.append(type(error).__name__)
        self.builder.host(call, tensors)

    # ---- joining

    def simplify(self, frame: Frame, out: Outcome) -> Outcome:
        """Joins the two sides of a fork if they ended alike; a leaf's locals are then in effect."""
        if isinstance(out, Fork) and isinstance(out.then, Leaf) and isinstance(out.orelse, Leaf):
            statuses = (out.then.status, out.orelse.status)
            if statuses[0] is statuses[1] or Status.DEAD in statuses:
                try:
                    out = self._join(frame, out, out.then, out.orelse)
                except Unjoinable:
                    return out
        if isinstance(out, Leaf):
            frame.locals = out.locals
        return out

    def _join(self, frame: Frame, fork: Fork, then: Leaf, orelse: Leaf) -> Leaf:
        """Emits the If of a fork over two leaves."""
        deltas = (then.delta, orelse.delta)
        join = Join(self.builder, fork.cond, deltas, self._age(frame, fork))
        status = orelse.status if then.status is Status.DEAD else then.status
        for leaf in (then, orelse):
            if leaf.status is Status.DEAD:
                leaf.locals = {name: Dead(value) for name, value in leaf.locals.items()}
                leaf.value = Dead()
        names = {
            name: join.merge(
                then.locals.get(name, Undef(name)), orelse.locals.get(name, Undef(name))
            )
            for name in {**then.locals, **orelse.locals}
        }
        value = join.merge(then.value, orelse.value)
        places = self._merge_deltas(join, then, orelse)
        params = self._merge_params(join, then, orelse)
        outs = self.builder.fork(
            fork.cond, then.region, join.then_values, orelse.region, join.else_values
        )
        for place, make in places:
            self.journal.write(place, make(outs))
        self.builder.set_params(params(outs))
        made = {name: make(outs) for name, make in names.items()}
        return Leaf(status, made, fork.region, value(outs), fork.delta, fork.params)

    def _age(self, frame: Frame, fork: Fork) -> Callable[[Any], bool]:
        """Tells whether an object was there before a fork."""
        old: dict[int, Any] = {}

        def is_old(value: Any) -> bool:
            if not old:
                old.update(reachable(self.frames, frame, fork.names))
            return id(value) in old or self.observer.is_known(value)

        return is_old

    def _sides(self, slot: Any, then: Outcome, orelse: Outcome) -> tuple[Place, Any, Any]:
        """What a place holds on the two sides of a fork."""
        place = (then.delta.get(slot) or orelse.delta[slot])[0]
        present = (place, self.journal.visible(place))
        held = []
        for side in (then, orelse):
            value = side.delta.get(slot, present)[1]
            is_dead = isinstance(side, Leaf) and side.status is Status.DEAD
            held.append(Dead(value) if is_dead else value)
        return place, held[0], held[1]

    def _merge_deltas(self, join: Join, then: Leaf, orelse: Leaf) -> list[tuple[Place, Make]]:
        made = []
        for slot in {**then.delta, **orelse.delta}:
            place, a, b = self._sides(slot, then, orelse)
            if not (isinstance(a, Dead) and isinstance(b, Dead)):
                merge = join.merge_contents if place.kind == "contents" else join.merge
                made.append((place, merge(a, b)))
        return made

    def _merge_params(
        self, join: Join, then: Leaf, orelse: Leaf
    ) -> Callable[[list[Tensor]], Params]:
        """The parameters that one of the sides changed. A gradient that only one side made is zero
        on the other."""
        present = self.builder.params()
        made = {}
        for key in {**then.params, **orelse.params}:
            (parameter, *a), (_, *b) = (
                leaf.params.get(key, present[key]) for leaf in (then, orelse)
            )
            if (a[1] is None) != (b[1] is None):
                a[1], b[1] = (self.builder.zeros(a[0]) if g is None else g for g in (a[1], b[1]))
            made[key] = (parameter, join.merge(a[0], b[0]), join.merge(a[1], b[1]))
        return lambda outs: {
            key: (parameter, value(outs), grad(outs))
            for key, (parameter, value, grad) in made.items()
        }

    # ---- trees of ends

    def resume(
        self,
        frame: Frame,
        out: Outcome,
        go_on: GoOn,
        status: Status = Status.NORMAL,
        flat: bool = False,
    ) -> Outcome:
        """Goes on in the ends of ``status``: inside the one there is, or after joining several.

        ``flat``: closes the tree first, so that what follows is nested in one If at most.
        """
        out = self.simplify(frame, out)
        count = sum(leaf.status is status for leaf in leaves(out))
        if isinstance(out, Fork) and count and (count > 1 or flat):
            out = self._collapse(frame, out)
        if isinstance(out, Leaf):
            return go_on(out) if out.status is status else out
        if sum(1 for _ in leaves(out)) > _MOST_PATHS:
            raise self.error(
                GraphRuntimeError,
                f"More than {_MOST_PATHS} paths through one function",
                "DP313",
                why="lists whose lengths differ between branches keep their paths apart",
            )
        self._go_on_below(frame, out, go_on, status)
        return self.simplify(frame, out)

    def _collapse(self, frame: Frame, out: Fork) -> Outcome:
        """The tree as one leaf with a status known at run time, then forks on that status. The tree
        itself if its ends cannot be joined."""
        if not self.is_joinable(out):
            return out
        found = {leaf.status for leaf in leaves(out)} - {Status.DEAD}
        for leaf in leaves(out):
            if leaf.status is Status.DEAD:
                continue
            gone = leaf.status in (Status.RETURN, Status.RAISE)
            names = {name: Dead(v) if gone else v for name, v in leaf.locals.items()}
            names[_VALUE] = leaf.value if gone else Dead()
            names[_STATUS] = leaf.status.value
            leaf.locals, leaf.value, leaf.status = names, None, Status.NORMAL
        frame.locals = dict(self.fold(frame, out).locals)
        status, value = frame.locals.pop(_STATUS), frame.locals.pop(_VALUE)
        return self.spread(frame, sorted(found, key=lambda s: s.value), status, value)

    def is_joinable(self, out: Outcome) -> bool:
        """Whether all lists, dicts and sets that the ends changed can be joined."""
        if isinstance(out, Leaf):
            return True
        mark = self.journal.mark()
        try:
            for side in (out.then, out.orelse):
                self.journal.redo(side.delta)
                if not self.is_joinable(side):
                    return False
                self.journal.cut(mark)
            for slot in {**out.then.delta, **out.orelse.delta}:
                place, a, b = self._sides(slot, out.then, out.orelse)
                if place.kind == "contents":
                    Join(self.builder, out.cond).merge_contents(a, b)
        except Unjoinable:
            return False
        finally:
            self.journal.cut(mark)
        return True

    def fold(self, frame: Frame, out: Outcome) -> Leaf:
        """Joins a whole tree whose ends are alike."""
        if isinstance(out, Leaf):
            return out
        for truth, end in ((True, out.then), (False, out.orelse)):
            if isinstance(end, Fork):
                made = self.on_side(frame, out, truth, end, lambda end=end: self.fold(frame, end))
                out.set_side(truth, made)
        folded = self.simplify(frame, out)
        if isinstance(folded, Fork):
            raise self.error(GraphTypeError, _DIFFERENT, "DP305")
        return folded

    def spread(self, frame: Frame, found: list[Status], status: Any, value: Any) -> Outcome:
        """Forks over a status that is a number known at run time."""
        end_value = value if found[0] in (Status.RETURN, Status.RAISE) else None
        if len(found) == 1:
            return self.leaf(frame, found[0], end_value)
        is_first = self.condition_of(self._equals(status, found[0].value))
        if isinstance(is_first, bool):
            rest = found[:1] if is_first else found[1:]
            return self.spread(frame, rest, status, value)
        return self._open(
            frame,
            is_first,
            lambda: self.leaf(frame, found[0], end_value),
            lambda: self.spread(frame, found[1:], status, value),
        )

    def _equals(self, status: Any, number: int) -> Any:
        """Whether a choice of numbers is ``number``, as a choice of bools."""
        status = self.resolve(status)
        if isinstance(status, Choice):
            then, orelse = (self._equals(s, number) for s in (status.then, status.orelse))
            return then if then is orelse else Choice(status.cond, then, orelse)
        if isinstance(status, Scalar):
            return Scalar(status.tensor == number, bool)
        return status == number

    def decided(self, value: Any) -> bool | Tensor:
        """A choice of bools as a condition; knowing it will tell about the conditions behind it."""
        cond = self.condition_of(value)
        if isinstance(cond, Tensor) and isinstance(value, Choice):
            self.derived.setdefault(value_id(cond), value)
            self.conditions.append(cond)
        return cond

    def condition_of(self, value: Any) -> bool | Tensor:
        """A bool, a Scalar or a choice of such as a condition."""
        value = self.resolve(value)
        if isinstance(value, bool):
            return value
        if isinstance(value, Scalar):
            return self.facts.get(value_id(value.tensor), value.tensor)
        if value.then is True and value.orelse is False:
            return value.cond

        def number(side: Any) -> Scalar:
            made = self.condition_of(side)
            made = self.builder.constant(made, bool) if isinstance(made, bool) else made
            return Scalar(made, bool)

        return self.fork_value(
            value.cond, lambda: number(value.then), lambda: number(value.orelse)
        ).tensor
