"""for and while: staged round by round, or as one While of the graph (``rolling``)."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .access import assign, iterate
from .errors import GraphError, GraphRuntimeError, StaticNeeded
from .frame import Frame
from .functions import LateRange
from .operators import BINARY, COMPARE, binary
from .outcome import Fork, Outcome, Status, leaves, renamed
from .rolling import Rounds, roll
from .values import Choice

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["loop_for", "loop_while"]

_UNROLL = 64  # rounds that are simply staged one by one
_MOST_ROUNDS = 10_000
_numbers = itertools.count()
_DEEPEST = 16  # Ifs nested by breaks before they are closed


def _finish(interp: Interpreter, frame: Frame, out: Outcome, orelse: list[ast.stmt]) -> Outcome:
    """The else block where the loop was not left by break; then both go on. A break or continue in
    that block is the outer loop's."""
    out = renamed(out, Status.BREAK, Status.LEFT)
    if orelse:
        out = interp.resume(frame, out, lambda _: interp.block(orelse, frame))
    return interp.simplify(frame, renamed(out, Status.LEFT, Status.NORMAL))


# ---- for


def loop_for(interp: Interpreter, node: ast.For, frame: Frame) -> Outcome:
    """``for target in iterable``."""
    return _over(interp, node, frame, interp.evaluate(node.iter, frame))


def _over(interp: Interpreter, node: ast.For, frame: Frame, value: Any) -> Outcome:
    value = interp.resolve(value)
    if type(value) is Choice:
        return interp.fork(
            frame,
            value.cond,
            lambda: _over(interp, node, frame, value.then),
            lambda: _over(interp, node, frame, value.orelse),
        )
    if isinstance(value, LateRange):
        return _rolled_range(interp, node, frame, value.start, value.stop, value.step)
    if isinstance(value, range) and len(value) > _UNROLL:
        out = _try_rolled(interp, node, frame, value)
        if out is not None:
            return out
    items = iterate(interp, value)
    if len(items) > _MOST_ROUNDS:
        raise _too_many(interp)
    return _unrolled(interp, node, frame, items)


def _too_many(interp: Interpreter) -> GraphError:
    return interp.error(
        GraphRuntimeError,
        f"A loop of more than {_MOST_ROUNDS} rounds cannot be unrolled",
        "DP314",
        why="something in its body must be known in each round",
    )


def _unrolled(interp: Interpreter, node: ast.For, frame: Frame, items: list[Any]) -> Outcome:
    """Every round after the other. After a break on some path the following rounds stand in the
    other one; so that they do not nest without end, the tree is closed now and then."""
    paused: list[int] = []

    def rounds(i: int, depth: int) -> Outcome:
        while i < len(items):
            if depth == _DEEPEST:
                paused.append(i)
                return interp.leaf(frame)
            assign(interp, frame, node.target, items[i])
            out = renamed(interp.block(node.body, frame), Status.CONTINUE, Status.NORMAL)
            i += 1
            if isinstance(out, Fork):
                return interp.resume(frame, out, lambda _, i=i: rounds(i, depth + 1))
            frame.locals = out.locals
            if out.status is not Status.NORMAL:
                return out
        return interp.leaf(frame)

    out = rounds(0, 0)
    while paused:
        at = paused.pop()
        paused.clear()
        out = interp.resume(frame, out, lambda _, at=at: rounds(at, 0), flat=True)
    return _finish(interp, frame, out, node.orelse)


def _try_rolled(interp: Interpreter, node: ast.For, frame: Frame, value: range) -> Outcome | None:
    """A long static range as a While; None: the body needs the index now, so it is unrolled."""
    mark, params = interp.journal.mark(), interp.builder.params()
    names = dict(frame.locals)
    try:
        with interp.survey.trial():
            bounds = (value.start, value.stop, value.step)
            return _rolled_range(interp, node, frame, *bounds, may_grow=False)
    except (StaticNeeded, TypeError):
        interp.journal.cut(mark)
        interp.builder.undo_params(params)
        frame.locals = names
        return None


def _rolled_range(
    interp: Interpreter,
    node: ast.For,
    frame: Frame,
    start: Any,
    stop: Any,
    step: int,
    may_grow: bool = True,
) -> Outcome:
    """``for i in range(start, stop, step)`` with a counter known at run time."""
    counter = f"$counter{next(_numbers)}"

    def is_open() -> Any:
        fn = COMPARE[ast.Lt if step > 0 else ast.Gt]
        return interp.as_bool(binary(interp, fn, frame.locals[counter], stop))

    def body() -> Outcome:
        now = frame.locals[counter]
        frame.locals[counter] = binary(interp, BINARY[ast.Add], now, step)
        assign(interp, frame, node.target, now)
        return interp.block(node.body, frame)

    frame.locals[counter] = start
    rounds = Rounds(body, is_open, bool(node.orelse), may_grow=may_grow)
    out = _go_round(interp, frame, rounds, must_roll=True)
    for leaf in leaves(out):
        leaf.locals.pop(counter, None)
    return _finish(interp, frame, out, node.orelse)


# ---- while


def loop_while(interp: Interpreter, node: ast.While, frame: Frame) -> Outcome:
    """``while test``: unrolled while the test is static, a While from the round on where it is not.
    ``while True`` with a break on a tensor is a While, too."""
    rounds = Rounds(
        lambda: interp.block(node.body, frame),
        lambda: interp.as_bool(interp.evaluate(node.test, frame)),
        bool(node.orelse),
        isinstance(node.test, ast.Constant) and bool(node.test.value),
    )
    must_roll = rounds.is_endless and _leaves_on_tensor(interp, node, frame)
    return _finish(interp, frame, _go_round(interp, frame, rounds, must_roll), node.orelse)


def _leaves_on_tensor(interp: Interpreter, node: ast.While, frame: Frame) -> bool:
    """Whether a round of an endless loop is left on a condition known at run time. Tried out in a
    region that is thrown away."""
    names = frame.locals
    frame.locals = dict(names)
    mark, params = interp.journal.mark(), interp.builder.params()
    depth = len(interp.frames)
    try:
        with interp.survey.trial(), interp.builder.inside(interp.builder.new_region()):
            out = interp.block(node.body, frame)
    finally:
        del interp.frames[depth:]
        interp.cut(mark, frame, names)
        interp.builder.undo_params(params)
        frame.locals = names
    stay = (Status.NORMAL, Status.CONTINUE, Status.DEAD)
    return isinstance(out, Fork) and any(leaf.status not in stay for leaf in leaves(out))


def _go_round(
    interp: Interpreter, frame: Frame, rounds: Rounds, must_roll: bool = False
) -> Outcome:
    """Tests and runs rounds until the test is known to fail or known at run time only."""
    count = 0
    while True:
        truth = interp.condition_of(rounds.test())
        if truth is False:
            return interp.leaf(frame)
        if isinstance(truth, Tensor) or must_roll:
            return roll(interp, frame, rounds, truth)
        count += 1
        if count > _MOST_ROUNDS:
            raise _too_many(interp)
        out = renamed(rounds.body(), Status.CONTINUE, Status.NORMAL)
        if isinstance(out, Fork):
            return interp.resume(frame, out, lambda _: _go_round(interp, frame, rounds))
        frame.locals = out.locals
        if out.status is not Status.NORMAL:
            return out
