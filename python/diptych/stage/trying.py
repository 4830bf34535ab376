"""try and with: exceptions that are known while staging, and those of one path of a fork."""

from __future__ import annotations

import ast
import types
from typing import TYPE_CHECKING, Any

from .access import assign
from .errors import DeadPath, GraphError, GraphTypeError
from .frame import Frame
from .outcome import Fork, Leaf, Outcome, Status, leaves

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["try_block", "with_block"]


def _kinds(interp: Interpreter, handler: ast.ExceptHandler, frame: Frame) -> tuple[type, ...]:
    """The exception classes that a handler takes."""
    if handler.type is None:
        return (BaseException,)
    kinds = interp.evaluate(handler.type, frame)
    return kinds if isinstance(kinds, tuple) else (kinds,)


def _caught(interp: Interpreter, frame: Frame, body: list[ast.stmt]) -> Outcome:
    """The ends of a block; what it raises is an end."""
    depth = len(interp.frames)
    try:
        return interp.block(body, frame)
    except (GraphError, DeadPath):
        raise
    except Exception as error:
        del interp.frames[depth:]
        return interp.leaf(frame, Status.RAISE, error)


def try_block(interp: Interpreter, node: ast.Try, frame: Frame) -> Outcome:
    """try, except, else, finally."""
    frame.tries.append(
        (BaseException,)
        if node.finalbody
        else tuple(kind for handler in node.handlers for kind in _kinds(interp, handler, frame))
    )
    try:
        out = _caught(interp, frame, node.body)
        if node.orelse:
            out = interp.resume(frame, out, lambda _: _protected(interp, frame, node.orelse))
        handled = [0]
        out = interp.resume(
            frame, out, lambda leaf: _handle(interp, frame, node, leaf, handled), Status.RAISE
        )
        if node.finalbody:
            out = _each(interp, frame, out, lambda leaf: _finally(interp, frame, node, leaf))
    finally:
        frame.tries.pop()
    return settle(interp, frame, out)


def _protected(interp: Interpreter, frame: Frame, body: list[ast.stmt]) -> Outcome:
    """The else block: what it raises is not for this try's handlers."""
    out = _caught(interp, frame, body)
    for leaf in leaves(out):
        if leaf.status is Status.RAISE:
            leaf.value = _Passing(leaf.value)
    return out


class _Passing(Exception):
    """Wraps an exception that the handlers of this try must not see."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def _handle(
    interp: Interpreter, frame: Frame, node: ast.Try, leaf: Leaf, handled: list[int]
) -> Outcome:
    """The first handler that fits; the same end if none does."""
    error = leaf.value
    if isinstance(error, _Passing):
        return interp.leaf(frame, Status.RAISE, error.error)
    for handler in node.handlers:
        if not isinstance(error, _kinds(interp, handler, frame)):
            continue
        if handler.name:
            assign(interp, frame, ast.Name(handler.name, ast.Store()), error)
        frame.handling.append(error)
        try:
            out = _caught(interp, frame, handler.body)
        finally:
            frame.handling.pop()
        for end in leaves(out):
            if handler.name:
                end.locals.pop(handler.name, None)
        return out
    return leaf


def _finally(interp: Interpreter, frame: Frame, node: ast.Try, leaf: Leaf) -> Outcome:
    """The final block in one end: it goes on as the end was, unless the block leaves itself."""
    out = _caught(interp, frame, node.finalbody)
    for end in leaves(out):
        if end.status is Status.NORMAL:
            end.status, end.value = leaf.status, leaf.value
    return out


def _each(interp: Interpreter, frame: Frame, out: Outcome, go_on: Any) -> Outcome:
    """Goes on in every end but dead ones, whatever its status."""
    if isinstance(out, Leaf):
        return out if out.status is Status.DEAD else go_on(out)
    for truth, end in ((True, out.then), (False, out.orelse)):

        def run(end: Outcome = end) -> Outcome:
            if isinstance(end, Leaf):
                frame.locals = end.locals
            return _each(interp, frame, end, go_on)

        out.set_side(truth, interp.on_side(frame, out, truth, end, run))
    return interp.simplify(frame, out)


def settle(interp: Interpreter, frame: Frame, out: Outcome) -> Outcome:
    """Exceptions that no handler here took: they go on to the next one, or happen."""
    if isinstance(out, Leaf):
        if out.status is Status.RAISE:
            raise out.value
        return out
    if frame.tries:
        return out

    def raise_now(leaf: Leaf) -> Outcome:
        interp.raise_later(leaf.value)
        return interp.leaf(frame, Status.DEAD)

    return interp.resume(frame, out, raise_now, Status.RAISE)


# ---- with


def with_block(interp: Interpreter, node: ast.With, frame: Frame) -> Outcome:
    """Managers are entered and left while staging, around the staged body."""
    return _with(interp, node.items, node.body, frame)


def _method(manager: Any, name: str) -> Any:
    method = getattr(type(manager), name, None)
    if method is None:
        raise TypeError(
            f"'{type(manager).__name__}' object does not support the context manager protocol"
        )
    return types.MethodType(method, manager)


def _with(
    interp: Interpreter, items: list[ast.withitem], body: list[ast.stmt], frame: Frame
) -> Outcome:
    if not items:
        return _caught(interp, frame, body)
    manager = interp.evaluate(items[0].context_expr, frame)
    frame.held.append(manager)
    try:
        return _entered(interp, manager, items, body, frame)
    finally:
        frame.held.pop()


def _entered(
    interp: Interpreter,
    manager: Any,
    items: list[ast.withitem],
    body: list[ast.stmt],
    frame: Frame,
) -> Outcome:
    leave = _method(manager, "__exit__")
    value = interp.call(_method(manager, "__enter__"), (), {})
    frame.tries.append(())
    try:
        if items[0].optional_vars is not None:
            assign(interp, frame, items[0].optional_vars, value)
        out = _with(interp, items[1:], body, frame)
    except BaseException:
        frame.tries.pop()
        leave(None, None, None)
        raise
    frame.tries.pop()
    out = _leave(interp, frame, out, leave)
    return settle(interp, frame, out)


def _leave(interp: Interpreter, frame: Frame, out: Outcome, leave: Any) -> Outcome:
    """Calls ``__exit__``: one written in Python in every end, another once."""

    def in_end(leaf: Leaf) -> Outcome:
        error = leaf.value if leaf.status is Status.RAISE else None
        kind = None if error is None else type(error)
        if interp.truth(interp.call(leave, (kind, error, None), {})) is True and error is not None:
            return interp.leaf(frame)
        return Leaf(leaf.status, frame.locals, interp.builder.region, leaf.value)

    if isinstance(out, Leaf) and out.status is not Status.DEAD:
        return in_end(out)
    if isinstance(leave.__func__, types.FunctionType) and isinstance(out, Fork):
        return _each(interp, frame, out, in_end)
    if any(leaf.status is Status.RAISE for leaf in leaves(out)):
        raise interp.error(
            GraphTypeError,
            "An exception that depends on a tensor leaves a with block",
            "DP306",
            f"of {type(leave.__self__).__name__}",
            fix="raise after the block",
        )
    leave(None, None, None)
    return out
