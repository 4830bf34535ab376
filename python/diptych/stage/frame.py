"""One staged call: its names, where it stands in the source, the handlers around it."""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any

from .errors import Position
from .result import ABSENT, Place
from .source import Source, is_library
from .values import Undef

__all__ = ["Frame"]


class Frame:
    """Names of a function while its body is staged.

    ``locals`` is replaced by a copy in each branch; names that inner functions share live in
    ``cells``, which are CPython's own cell objects and are journalled. ``made_cells`` collects
    those that came into being while staging.
    """

    def __init__(
        self,
        code: types.CodeType,
        source: Source,
        names: dict[str, Any],
        global_names: dict[str, Any],
        closure: tuple[types.CellType, ...],
        made_cells: dict[int, types.CellType],
    ) -> None:
        self.code = code
        self.source = source
        self.globals = global_names
        self.given = names
        self.locals = dict(names)
        self.cells = dict(zip(code.co_freevars, closure, strict=False))
        for name in code.co_cellvars:
            value = self.locals.pop(name, ABSENT)
            cell = types.CellType() if value is ABSENT else types.CellType(value)
            made_cells[id(cell)] = self.cells[name] = cell
        self._made_cells = made_cells
        self.is_library = is_library(source.filename)
        self.own = frozenset(code.co_varnames) | frozenset(code.co_cellvars)
        self.node: ast.AST = source.node
        self.made: list[Any] = []  # lists, dicts and sets written out in this call
        self.held: list[Any] = []  # context managers that are entered, lists that loops make longer
        self.tries: list[tuple[type, ...]] = []
        self.handling: list[BaseException] = []

    @property
    def name(self) -> str:
        """The function's name with its class."""
        return self.code.co_qualname.replace(".<locals>", "").rsplit("<locals>.", 1)[-1]

    def position(self) -> Position:
        """Where staging is."""
        node = self.node
        line = getattr(node, "lineno", self.code.co_firstlineno)
        column = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", column + 1)
        if getattr(node, "end_lineno", line) != line:
            end = column + 1
        return Position(self.source.filename, line, column, end, self.name)

    def lookup(self, name: str) -> tuple[Any, Place | None]:
        """``value, place``: the place for values that live outside the call (cells, globals)."""
        if name in self.locals:
            return self.locals[name], None
        cell = self.cells.get(name)
        if cell is not None:
            try:
                value = cell.cell_contents
            except ValueError:
                return Undef(name), None
            return value, None if id(cell) in self._made_cells else Place("cell", cell)
        if name in self.own and name not in self.source.global_names:
            return Undef(name), None
        if name in self.globals:
            place = None if self.is_library else Place("global", self.globals, name)
            return self.globals[name], place
        found = getattr(builtins, name, ABSENT)
        if found is ABSENT:
            raise NameError(f"name '{name}' is not defined", name=name)
        return found, None

    def cell(self, name: str) -> types.CellType:
        """The cell that an inner function shares."""
        return self.cells[name]

    def new_cell(self, name: str) -> None:
        """A fresh cell for a variable of a comprehension that inner functions share."""
        cell = types.CellType()
        self._made_cells[id(cell)] = self.cells[name] = cell

    def remember(self, container: Any) -> Any:
        """Notes that this call made the list, dict or set; returns it."""
        self.made.append(container)
        return container

    def place(self, name: str) -> Place | None:
        """Where an assignment to ``name`` goes; None: to ``locals``."""
        if name in self.cells:
            return Place("cell", self.cells[name])
        if name in self.source.global_names:
            return Place("global", self.globals, name)
        return None
