"""Statements: one handler a kind of node, ``handler(interp, node, frame) -> outcome``; None is the
usual end, on to the next statement."""

from __future__ import annotations

import ast
import importlib
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .access import assign, delete, get_attribute, get_item, set_attribute, set_item, writable
from .expressions import make_function
from .frame import Frame
from .loops import loop_for, loop_while
from .matching import match
from .operators import IN_PLACE, binary
from .outcome import Outcome, Status
from .trying import try_block, with_block
from .values import Choice, LazyText, Scalar

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["STATEMENTS"]


def _expression(interp: Interpreter, node: ast.Expr, frame: Frame) -> None:
    interp.evaluate(node.value, frame)


def _nothing(interp: Interpreter, node: ast.stmt, frame: Frame) -> None:
    """pass, global, nonlocal: CPython's code object says what they mean."""


def _assign(interp: Interpreter, node: ast.Assign, frame: Frame) -> None:
    value = interp.evaluate(node.value, frame)
    for target in node.targets:
        assign(interp, frame, target, value)


def _annotated(interp: Interpreter, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(interp, frame, node.target, interp.evaluate(node.value, frame))


def _augmented(interp: Interpreter, node: ast.AugAssign, frame: Frame) -> None:
    """``target op= value``; the target's parts are evaluated once."""
    target = node.target
    write: Callable[[Any], None]
    if isinstance(target, ast.Name):
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        old = interp.evaluate(load, frame)

        def write(value: Any) -> None:
            assign(interp, frame, target, value)

    elif isinstance(target, ast.Attribute):
        owner = interp.evaluate(target.value, frame)
        old = get_attribute(interp, owner, target.attr)

        def write(value: Any) -> None:
            set_attribute(interp, owner, target.attr, value)

    else:
        owner = interp.evaluate(target.value, frame)
        key = interp.evaluate(target.slice, frame)
        old = get_item(interp, owner, key)

        def write(value: Any) -> None:
            set_item(interp, owner, key, value)

    value = interp.evaluate(node.value, frame)
    interp.mark_line(node, frame)
    fn = IN_PLACE[type(node.op)]
    if isinstance(target, ast.Subscript) and isinstance(old, Tensor):
        fn = _WITHOUT_PLACE[fn]  # a part of a tensor is a value of its own
        write(binary(interp, fn, old, value))
    else:
        write(in_place(interp, fn, old, value))


def in_place(interp: Interpreter, fn: Callable, old: Any, value: Any) -> Any:
    """``old op= value``: lists, sets and tensors change in place, others are replaced."""
    if type(old) is Choice or type(value) is Choice:
        return interp.lift(lambda a, b: in_place(interp, fn, a, b), old, value)
    name = fn.__name__
    method = getattr(type(old), f"__{name.strip('_')}__", None)
    if isinstance(method, types.FunctionType) and not isinstance(old, Tensor):
        return interp.call(types.MethodType(method, old), (value,), {})
    plain = _WITHOUT_PLACE[fn]
    if method is None or isinstance(value, Scalar | LazyText) or isinstance(old, Scalar | LazyText):
        return binary(interp, plain, old, value)
    writable(interp, old)
    return fn(old, interp.observer.resolve(value) if isinstance(value, Tensor) else value)


def _without_place() -> dict[Callable, Callable]:
    from .operators import BINARY

    return {IN_PLACE[kind]: fn for kind, fn in BINARY.items()}


_WITHOUT_PLACE = _without_place()


def _delete(interp: Interpreter, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        delete(interp, frame, target)


def _if(interp: Interpreter, node: ast.If, frame: Frame) -> Outcome | None:
    truth = interp.truth(interp.evaluate(node.test, frame))
    if isinstance(truth, bool):
        body = node.body if truth else node.orelse
        return interp.block(body, frame) if body else None
    interp.mark_line(node.test, frame)
    return interp.fork(
        frame,
        truth,
        lambda: interp.block(node.body, frame),
        lambda: interp.block(node.orelse, frame),
    )


def _return(interp: Interpreter, node: ast.Return, frame: Frame) -> Outcome:
    value = None if node.value is None else interp.evaluate(node.value, frame)
    return interp.leaf(frame, Status.RETURN, value)


def _break(interp: Interpreter, node: ast.Break, frame: Frame) -> Outcome:
    return interp.leaf(frame, Status.BREAK)


def _continue(interp: Interpreter, node: ast.Continue, frame: Frame) -> Outcome:
    return interp.leaf(frame, Status.CONTINUE)


def _raise(interp: Interpreter, node: ast.Raise, frame: Frame) -> Outcome | None:
    if node.exc is None:
        if not frame.handling:
            raise RuntimeError("No active exception to reraise")
        raise frame.handling[-1]
    error = interp.evaluate(node.exc, frame)
    if type(error) is Choice:
        return interp.fork(
            frame,
            error.cond,
            lambda: _raise_value(interp, frame, interp.resolve(error)),
            lambda: _raise_value(interp, frame, interp.resolve(error)),
        )
    if node.cause is not None and isinstance(error, BaseException):
        error.__cause__ = interp.evaluate(node.cause, frame)
    return _raise_value(interp, frame, error)


def _raise_value(interp: Interpreter, frame: Frame, error: Any) -> Outcome:
    if isinstance(error, type) and issubclass(error, BaseException):
        error = interp.call(error, (), {})
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    raise error


def _assert(interp: Interpreter, node: ast.Assert, frame: Frame) -> Outcome | None:
    if not __debug__:
        return None
    truth = interp.truth(interp.evaluate(node.test, frame))

    def fail() -> Outcome:
        args = () if node.msg is None else (interp.evaluate(node.msg, frame),)
        raise AssertionError(*args)

    if isinstance(truth, bool):
        return None if truth else fail()
    interp.mark_line(node, frame)
    return interp.fork(frame, truth, lambda: interp.leaf(frame), fail)


def _define(interp: Interpreter, node: ast.FunctionDef, frame: Frame) -> None:
    decorators = [interp.evaluate(d, frame) for d in node.decorator_list]
    value: Any = make_function(interp, node, frame)
    value.__doc__ = ast.get_docstring(node)
    for decorator in reversed(decorators):
        value = interp.call(decorator, (value,), {})
    assign(interp, frame, ast.Name(node.name, ast.Store()), value)


def _class(interp: Interpreter, node: ast.ClassDef, frame: Frame) -> None:
    from .classes import make_class

    assign(interp, frame, ast.Name(node.name, ast.Store()), make_class(interp, node, frame))


def _import(interp: Interpreter, node: ast.Import, frame: Frame) -> None:
    for alias in node.names:
        module = importlib.import_module(alias.name)
        name = alias.asname or alias.name.split(".")[0]
        if alias.asname is None:
            module = importlib.import_module(name)
        assign(interp, frame, ast.Name(name, ast.Store()), module)


def _import_from(interp: Interpreter, node: ast.ImportFrom, frame: Frame) -> None:
    package = frame.globals.get("__package__")
    module = importlib.import_module("." * node.level + (node.module or ""), package)
    for alias in node.names:
        try:
            value = getattr(module, alias.name)
        except AttributeError:
            value = importlib.import_module(f"{module.__name__}.{alias.name}")
        assign(interp, frame, ast.Name(alias.asname or alias.name, ast.Store()), value)


STATEMENTS: dict[type, Callable[[Any, Any, Frame], Outcome | None]] = {
    ast.AnnAssign: _annotated,
    ast.Assert: _assert,
    ast.Assign: _assign,
    ast.AugAssign: _augmented,
    ast.Break: _break,
    ast.ClassDef: _class,
    ast.Continue: _continue,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.For: loop_for,
    ast.FunctionDef: _define,
    ast.Global: _nothing,
    ast.If: _if,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: match,
    ast.Nonlocal: _nothing,
    ast.Pass: _nothing,
    ast.Raise: _raise,
    ast.Return: _return,
    ast.Try: try_block,
    ast.While: loop_while,
    ast.With: with_block,
}
