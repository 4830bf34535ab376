"""Expressions: one handler a kind of node, ``handler(interp, node, frame) -> value``."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from ..common.static import static
from .access import get_attribute, get_item, iterate, store
from .comprehensions import COMPREHENSIONS
from .frame import Frame
from .growing import GROWS
from .operators import BINARY, COMPARE, UNARY, binary, unary
from .source import code_for
from .text import format_value, is_late, joined_text
from .values import Choice, Scalar, Undef

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["EXPRESSIONS", "make_function"]


def _constant(interp: Interpreter, node: ast.Constant, frame: Frame) -> Any:
    return node.value


def _has_undef(value: Any) -> bool:
    if isinstance(value, Choice):
        return _has_undef(value.then) or _has_undef(value.orelse)
    return isinstance(value, Undef)


def _name(interp: Interpreter, node: ast.Name, frame: Frame) -> Any:
    value, place = frame.lookup(node.id)
    if place is not None:
        value = interp.read(place, value)
    if type(value) in (Choice, Undef) and _has_undef(value):
        frame.node = node
        return interp.lift(lambda v: v, value)
    return value


def _attribute(interp: Interpreter, node: ast.Attribute, frame: Frame) -> Any:
    owner = interp.evaluate(node.value, frame, grows=node.attr in GROWS)
    frame.node = node
    return get_attribute(interp, owner, node.attr)


def _subscript(interp: Interpreter, node: ast.Subscript, frame: Frame) -> Any:
    owner = interp.evaluate(node.value, frame)
    key = interp.evaluate(node.slice, frame)
    interp.mark_line(node, frame)
    return get_item(interp, owner, key)


def _slice(interp: Interpreter, node: ast.Slice, frame: Frame) -> Any:
    parts = (
        None if part is None else interp.evaluate(part, frame)
        for part in (node.lower, node.upper, node.step)
    )
    return interp.lift(slice, *parts)


def _binary(interp: Interpreter, node: ast.BinOp, frame: Frame) -> Any:
    left = interp.evaluate(node.left, frame)
    right = interp.evaluate(node.right, frame)
    interp.mark_line(node, frame)
    return binary(interp, BINARY[type(node.op)], left, right)


def _unary(interp: Interpreter, node: ast.UnaryOp, frame: Frame) -> Any:
    value = interp.evaluate(node.operand, frame)
    interp.mark_line(node, frame)
    if isinstance(node.op, ast.Not):
        return negated(interp, value)
    return unary(interp, UNARY[type(node.op)], value)


def negated(interp: Interpreter, value: Any) -> Any:
    """``not value``."""
    truth = interp.truth(value)
    return (not truth) if isinstance(truth, bool) else Scalar(truth == False, bool)  # noqa: E712


def _bool_op(interp: Interpreter, node: ast.BoolOp, frame: Frame) -> Any:
    stop_at = isinstance(node.op, ast.Or)

    def go_on(values: list[ast.expr]) -> Any:
        value = interp.evaluate(values[0], frame)
        if len(values) == 1:
            return value
        return short_circuit(interp, value, stop_at, lambda: go_on(values[1:]))

    return go_on(node.values)


def short_circuit(interp: Interpreter, value: Any, stop_at: bool, rest: Callable[[], Any]) -> Any:
    """``value`` if its truth is ``stop_at``, else ``rest()``: one step of ``and`` or ``or``."""
    truth = interp.truth(value)
    if isinstance(truth, bool):
        return value if truth is stop_at else rest()
    sides = (lambda: value, rest) if stop_at else (rest, lambda: value)
    return interp.fork_value(truth, *sides)


def _compare(interp: Interpreter, node: ast.Compare, frame: Frame) -> Any:
    def go_on(left: Any, i: int) -> Any:
        right = interp.evaluate(node.comparators[i], frame)
        interp.mark_line(node, frame)
        value = compare(interp, node.ops[i], left, right)
        if i + 1 == len(node.ops):
            return value
        return short_circuit(interp, value, False, lambda: go_on(right, i + 1))

    return go_on(interp.evaluate(node.left, frame), 0)


def compare(interp: Interpreter, op: ast.cmpop, left: Any, right: Any) -> Any:
    """One comparison."""
    if type(op) in COMPARE:
        return binary(interp, COMPARE[type(op)], left, right)
    if isinstance(op, ast.Is | ast.IsNot):
        interp.observer.tells_apart |= isinstance(left, Tensor) and isinstance(right, Tensor)
        same = interp.lift(lambda a, b: a is b, left, right)
        return same if isinstance(op, ast.Is) else negated(interp, same)
    found = interp.lift(lambda a, b: _is_in(interp, a, b), left, right)
    return found if isinstance(op, ast.In) else negated(interp, found)


def _is_in(interp: Interpreter, value: Any, container: Any) -> Any:
    method = getattr(type(container), "__contains__", None)
    if isinstance(method, types.FunctionType) and not isinstance(container, Tensor):
        return interp.as_bool(interp.call(types.MethodType(method, container), (value,), {}))
    if interp.builder.is_symbolic(container):
        return Scalar(
            (container == (value.tensor if isinstance(value, Scalar) else value)).any(), bool
        )
    if not isinstance(value, Scalar | Tensor) and not isinstance(container, list | tuple):
        return value in container

    def go_on(items: list[Any]) -> Any:
        if not items:
            return False
        same = value is items[0] or interp.as_bool(compare(interp, ast.Eq(), value, items[0]))
        return short_circuit(interp, same, True, lambda: go_on(items[1:]))

    return go_on(iterate(interp, container))


def _if(interp: Interpreter, node: ast.IfExp, frame: Frame) -> Any:
    truth = interp.truth(interp.evaluate(node.test, frame))
    if isinstance(truth, bool):
        return interp.evaluate(node.body if truth else node.orelse, frame)
    return interp.fork_value(
        truth,
        lambda: interp.evaluate(node.body, frame),
        lambda: interp.evaluate(node.orelse, frame),
    )


def _items(interp: Interpreter, nodes: list[ast.expr], frame: Frame) -> list[Any]:
    """Values of items, starred ones spread out."""
    made: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            made += iterate(interp, interp.evaluate(node.value, frame))
        else:
            made.append(interp.evaluate(node, frame))
    return made


def _tuple(interp: Interpreter, node: ast.Tuple, frame: Frame) -> Any:
    return tuple(_items(interp, node.elts, frame))


def _list(interp: Interpreter, node: ast.List, frame: Frame) -> Any:
    return frame.remember(_items(interp, node.elts, frame))


def _set(interp: Interpreter, node: ast.Set, frame: Frame) -> Any:
    return frame.remember(set(_items(interp, node.elts, frame)))


def _dict(interp: Interpreter, node: ast.Dict, frame: Frame) -> Any:
    made: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            made.update(interp.evaluate(value, frame))
        else:
            made[interp.evaluate(key, frame)] = interp.evaluate(value, frame)
    return frame.remember(made)


def _call(interp: Interpreter, node: ast.Call, frame: Frame) -> Any:
    fn = interp.evaluate(node.func, frame)
    if fn is static:
        with interp.freezing():
            value = _called(interp, fn, node, frame)
        if is_late(value):
            raise interp.static_needed("known at run time only", "ms.static computes it now")
        return value
    return _called(interp, fn, node, frame)


def _called(interp: Interpreter, fn: Any, node: ast.Call, frame: Frame) -> Any:
    args = tuple(_items(interp, node.args, frame))
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        value = interp.evaluate(keyword.value, frame)
        if keyword.arg is None:
            value = dict(value)
            twice = kwargs.keys() & value.keys()
            if twice:
                raise TypeError(f"got multiple values for keyword argument '{twice.pop()}'")
            kwargs.update(value)
        else:
            kwargs[keyword.arg] = value
    interp.mark_line(node, frame)
    value = interp.call(fn, args, kwargs)
    frame.node = node
    return value


def _lambda(interp: Interpreter, node: ast.Lambda, frame: Frame) -> Any:
    return make_function(interp, node, frame)


def make_function(
    interp: Interpreter, node: ast.FunctionDef | ast.Lambda, frame: Frame
) -> types.FunctionType:
    """A real function over the frame's own cells, so it can be staged and called natively alike."""
    args = node.args
    code = code_for(frame.code, node)
    defaults = tuple(interp.evaluate(d, frame) for d in args.defaults)
    closure = tuple(frame.cell(name) for name in code.co_freevars)
    fn = types.FunctionType(code, frame.globals, code.co_name, defaults or None, closure)
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    fn.__kwdefaults__ = {
        a.arg: interp.evaluate(d, frame) for a, d in named if d is not None
    } or None
    fn.__qualname__ = code.co_qualname
    fn.__module__ = frame.globals.get("__name__", "")
    interp.made_functions[id(fn)] = fn
    return fn


_CONVERSIONS: dict[int, Callable[[Any], str] | None] = {
    -1: None,
    115: str,
    114: repr,
    97: ascii,
}


def _formatted(interp: Interpreter, node: ast.FormattedValue, frame: Frame) -> Any:
    value = interp.evaluate(node.value, frame)
    spec = "" if node.format_spec is None else interp.evaluate(node.format_spec, frame)
    return format_value(interp, value, _CONVERSIONS[node.conversion], spec)


def _joined(interp: Interpreter, node: ast.JoinedStr, frame: Frame) -> Any:
    return joined_text([interp.evaluate(part, frame) for part in node.values])


def _named(interp: Interpreter, node: ast.NamedExpr, frame: Frame) -> Any:
    value = interp.evaluate(node.value, frame)
    store(interp, frame, node.target.id, value)
    return value


EXPRESSIONS: dict[type, Callable[[Any, Any, Frame], Any]] = {
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.BoolOp: _bool_op,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.Dict: _dict,
    ast.FormattedValue: _formatted,
    ast.IfExp: _if,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.List: _list,
    ast.Name: _name,
    ast.NamedExpr: _named,
    ast.Set: _set,
    ast.Slice: _slice,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.UnaryOp: _unary,
    **COMPREHENSIONS,
}
