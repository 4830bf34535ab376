"""Cells that hold Cells: SequentialCell and CellList."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from .cell import Cell

__all__ = ["CellList", "SequentialCell"]


def _check_cell(owner: str, cell: Any) -> Cell:
    if not isinstance(cell, Cell):
        raise TypeError(f"{owner} holds Cells, but got {type(cell).__name__}")
    return cell


class _CellSequence(Cell):
    """Numbered child Cells, kept as the attributes "0", "1" ...: the numbers are part of the names
    of parameters."""

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Cell] = []

    def _set_items(self, cells: Iterable[tuple[str, Cell]]) -> None:
        named = [(name, _check_cell(type(self).__name__, cell)) for name, cell in cells]
        for name in self._cells:
            delattr(self, name)
        self._items = [cell for _, cell in named]
        for name, cell in named:
            setattr(self, name, cell)

    def _renumber(self, cells: Iterable[Cell]) -> None:
        self._set_items([(str(i), cell) for i, cell in enumerate(cells)])

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._items)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._items[index]))
        return self._items[index]

    def __setitem__(self, index: int, cell: Cell) -> None:
        cells = list(self._items)
        cells[index] = _check_cell(type(self).__name__, cell)
        self._renumber(cells)

    def __delitem__(self, index: int | slice) -> None:
        cells = list(self._items)
        del cells[index]
        self._renumber(cells)

    def append(self, cell: Cell) -> Any:
        """Adds a Cell at the end; returns self."""
        self.insert(len(self._items), cell)
        return self

    def insert(self, index: int, cell: Cell) -> None:
        """Puts a Cell before position ``index``."""
        cells = list(self._items)
        cells.insert(index, _check_cell(type(self).__name__, cell))
        self._renumber(cells)

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Adds Cells at the end; returns self."""
        self._renumber([*self._items, *cells])
        return self


class SequentialCell(_CellSequence):
    """Calls its Cells one after the other: ``SequentialCell(a, b)``, a list, or an OrderedDict."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            self._set_items(args[0].items())
        else:
            cells = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
            self._renumber(cells)

    def construct(self, x: Any) -> Any:
        for cell in self._items:
            x = cell(x)
        return x


class CellList(_CellSequence):
    """A list of Cells whose parameters belong to the owner; it is not called itself."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        cells = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        self._renumber(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("CellList is a list of Cells; call its items")
