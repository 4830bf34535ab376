"""Comprehensions and generator expressions, of any depth, over iterables known while staging."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .access import assign, iterate
from .frame import Frame
from .result import ABSENT

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["COMPREHENSIONS"]

Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def _targets(node: Comprehension) -> set[str]:
    """The variables of the comprehension's own scope."""
    return {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}


def _run(interp: Interpreter, node: Comprehension, frame: Frame, emit: Callable[[], None]) -> None:
    """Calls ``emit`` for each combination of the variables that passes the conditions."""

    def level(i: int) -> None:
        if i == len(node.generators):
            emit()
            return
        generator = node.generators[i]
        source = first if i == 0 else interp.evaluate(generator.iter, frame)
        for item in iterate(interp, source):
            assign(interp, frame, generator.target, item)
            if all(_passes(interp, test, frame) for test in generator.ifs):
                level(i + 1)

    first = interp.evaluate(node.generators[0].iter, frame)
    names = _targets(node)
    before = {name: frame.locals.pop(name, ABSENT) for name in names}
    cells = {name: frame.cells.get(name, ABSENT) for name in names}
    is_shared = any(isinstance(n, ast.Lambda) for n in ast.walk(node))
    for name in names:
        frame.cells.pop(name, None)
        if is_shared:
            frame.new_cell(name)
    try:
        level(0)
    finally:
        _restore(frame.locals, before)
        _restore(frame.cells, cells)


def _restore(names: dict[str, Any], before: dict[str, Any]) -> None:
    for name, value in before.items():
        if value is ABSENT:
            names.pop(name, None)
        else:
            names[name] = value


def _passes(interp: Interpreter, test: ast.expr, frame: Frame) -> bool:
    truth = interp.truth(interp.evaluate(test, frame))
    if not isinstance(truth, bool):
        frame.node = test
        raise interp.static_needed(
            "a condition known at run time",
            "the number of items of a comprehension is static",
            "use ops.where or a mask over all items",
        )
    return truth


def _list(interp: Interpreter, node: ast.ListComp, frame: Frame) -> list[Any]:
    made: list[Any] = []
    _run(interp, node, frame, lambda: made.append(interp.evaluate(node.elt, frame)))
    return frame.remember(made)


def _set(interp: Interpreter, node: ast.SetComp, frame: Frame) -> set[Any]:
    made: set[Any] = set()
    _run(interp, node, frame, lambda: made.add(interp.evaluate(node.elt, frame)))
    return frame.remember(made)


def _dict(interp: Interpreter, node: ast.DictComp, frame: Frame) -> dict[Any, Any]:
    made: dict[Any, Any] = {}

    def emit() -> None:
        key = interp.evaluate(node.key, frame)
        made[key] = interp.evaluate(node.value, frame)

    _run(interp, node, frame, emit)
    return frame.remember(made)


def _generator(interp: Interpreter, node: ast.GeneratorExp, frame: Frame) -> Any:
    """All items at once: what consumes them sees the same values in the same order."""
    made: list[Any] = []
    _run(interp, node, frame, lambda: made.append(interp.evaluate(node.elt, frame)))
    return iter(made)


COMPREHENSIONS: dict[type, Callable[[Any, Any, Frame], Any]] = {
    ast.ListComp: _list,
    ast.SetComp: _set,
    ast.DictComp: _dict,
    ast.GeneratorExp: _generator,
}
