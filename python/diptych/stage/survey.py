"""Going on after an error, so that one staging reports several: what the failing statement would
have named is poisoned, and what reads it fails without being told again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .access import store
from .errors import GraphError, GraphTypeError, Poisoned
from .values import Undef

if TYPE_CHECKING:
    from .frame import Frame
    from .interpreter import Interpreter

__all__ = ["Survey"]

MOST_ERRORS = 5


class Survey:
    """The errors of one staging."""

    def __init__(self) -> None:
        self.errors: list[GraphError] = []
        self._trials = 0

    @property
    def is_trying(self) -> bool:
        """Whether what is staged now may be staged again."""
        return self._trials > 0

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Inside, an error ends the attempt: the same may be staged again in another way."""
        self._trials += 1
        try:
            yield
        finally:
            self._trials -= 1

    def survive(self, interp: Interpreter, error: GraphError, node: ast.stmt, frame: Frame) -> None:
        """Notes the error of a statement and poisons its names; raises it where staging cannot go
        on, or where there are enough."""
        names = _names(node)
        if self._trials or names is None or not isinstance(error, GraphTypeError):
            raise error
        if not isinstance(error, Poisoned):
            self.errors.append(error)
        if len(self.errors) == MOST_ERRORS:
            raise error
        for name in names:
            store(interp, frame, name, Undef(name, Poisoned))


def _names(node: ast.stmt) -> list[str] | None:
    """The names that a statement assigns; None: it does something else, too."""
    if isinstance(node, ast.Expr):
        return []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    else:
        return None
    names: list[str] = []
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        for part in parts:
            if not isinstance(part, ast.Name):
                return None
            names.append(part.id)
    return names
