"""Classes defined inside a staged function."""

from __future__ import annotations
import __future__

import ast
import types
from typing import TYPE_CHECKING, Any

from .frame import Frame
from .source import Source, code_for

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["make_class"]


def make_class(interp: Interpreter, node: ast.ClassDef, frame: Frame) -> Any:
    """The class, its body staged like a function's and its names taken as the namespace."""
    decorators = [interp.evaluate(d, frame) for d in node.decorator_list]
    bases = tuple(interp.evaluate(base, frame) for base in node.bases)
    keywords = {k.arg: interp.evaluate(k.value, frame) for k in node.keywords if k.arg}
    body = code_for(frame.code, node)
    source = Source(node, node.body, frame.source.filename, frame.source.global_names)
    closure = tuple(frame.cell(name) for name in body.co_freevars)
    inner = Frame(body, source, {}, frame.globals, closure, interp.made_cells)
    inner.own = frozenset()
    interp.frames.append(inner)
    try:
        interp.block(node.body, inner)
    finally:
        interp.frames.pop()
    names = dict(inner.locals)
    names["__module__"] = frame.globals.get("__name__", "")
    names["__qualname__"] = body.co_qualname
    annotations = _annotations(interp, node, inner)
    if annotations:
        names["__annotations__"] = annotations
    own_class = inner.cells.get("__class__")
    if own_class is not None:
        names["__classcell__"] = own_class
    made: Any = types.new_class(node.name, bases, keywords, lambda space: space.update(names))
    for decorator in reversed(decorators):
        made = interp.call(decorator, (made,), {})
    return made


def _annotations(interp: Interpreter, node: ast.ClassDef, frame: Frame) -> dict[str, Any]:
    """What stands behind the colons of the class's fields, as dataclasses want it."""
    as_text = frame.code.co_flags & __future__.annotations.compiler_flag
    return {
        field.target.id: ast.unparse(field.annotation)
        if as_text
        else interp.evaluate(field.annotation, frame)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
