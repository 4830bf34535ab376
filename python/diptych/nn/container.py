"""Cells that hold Cells: SequentialCell, CellList and CellDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any

from .cell import Cell

__all__ = ["CellDict", "CellList", "SequentialCell"]


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


def _items(owner: str, args: tuple[Any, ...]) -> Iterable[Cell]:
    """The Cells of a constructor: one list or tuple of them, or each an argument."""
    if len(args) == 1 and not isinstance(args[0], Cell):
        if not isinstance(args[0], list | tuple):
            raise TypeError(f"{owner} takes Cells or a list of them, got {type(args[0]).__name__}")
        return args[0]
    return args


class SequentialCell(_CellSequence):
    """Calls its Cells one after the other: ``SequentialCell(a, b)``, a list, or an OrderedDict.

    Children are called "0", "1" ..., or as the OrderedDict names them; ``net[i]`` reads, replaces
    and, with ``del``, removes one.

    >>> import diptych as ms
    >>> net = ms.nn.SequentialCell(ms.nn.Dense(3, 4), ms.nn.ReLU())
    >>> net.append(ms.nn.Dense(4, 2))(ms.ops.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            self._set_items(args[0].items())
        else:
            self._renumber(_items("SequentialCell", args))

    def construct(self, x: Any) -> Any:
        for cell in self._items:
            x = cell(x)
        return x


class CellList(_CellSequence):
    """A list of Cells whose parameters belong to the owner; it is not called itself.

    >>> import diptych as ms
    >>> cells = ms.nn.CellList([ms.nn.Dense(2, 2), ms.nn.ReLU()])
    >>> cells += [ms.nn.Dense(2, 1)]
    >>> len(cells), [p.name for p in cells.trainable_params()]
    (3, ['0.weight', '0.bias', '2.weight', '2.bias'])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._renumber(_items("CellList", args))

    def __iadd__(self, cells: Iterable[Cell]) -> CellList:
        return self.extend(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("CellList is a list of Cells; call its items")


class CellDict(Cell):
    """A dict of Cells whose parameters belong to the owner; it is not called itself.

    Made from a mapping or from pairs (key, Cell). Keys are non-empty str without dots that no
    attribute of Cell has.

    >>> import diptych as ms
    >>> cells = ms.nn.CellDict({"linear": ms.nn.Dense(2, 1), "act": ms.nn.ReLU()})
    >>> list(cells), [p.name for p in cells.trainable_params()]
    (['linear', 'act'], ['linear.weight', 'linear.bias'])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) > 1:
            raise TypeError(f"CellDict takes one mapping or iterable of pairs, got {len(args)}")
        for cells in args:
            self.update(cells)

    def _check_key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(f"CellDict: key {key!r} is of type {type(key).__name__}, not str")
        if not key or "." in key:
            raise KeyError(f"CellDict: key {key!r} must not be empty or contain a dot")
        if key not in self._cells and hasattr(self, key):
            raise KeyError(f"CellDict: key {key!r} is the name of an attribute of Cell")
        return key

    def __getitem__(self, key: str) -> Cell:
        return self._cells[key]

    def __setitem__(self, key: str, cell: Cell) -> None:
        setattr(self, self._check_key(key), _check_cell("CellDict", cell))

    def __delitem__(self, key: str) -> None:
        if key not in self._cells:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __contains__(self, key: object) -> bool:
        return key in self._cells

    def keys(self) -> KeysView[str]:
        """The keys, in the order in which they came."""
        return self._cells.keys()

    def values(self) -> Iterable[Cell]:
        """The Cells."""
        return self._cells.values()

    def items(self) -> Iterable[tuple[str, Cell]]:
        """Pairs (key, Cell)."""
        return self._cells.items()

    def clear(self) -> None:
        """Removes all."""
        for key in list(self._cells):
            delattr(self, key)

    def pop(self, key: str) -> Cell:
        """Removes the Cell of a key and returns it."""
        cell = self[key]
        del self[key]
        return cell

    def update(self, cells: Any) -> None:
        """Takes in a mapping or pairs (key, Cell); keys that are there get new Cells."""
        if isinstance(cells, Mapping | CellDict):
            cells = cells.items()
        if not isinstance(cells, Iterable):
            raise TypeError(
                f"CellDict: cells are of type {type(cells).__name__}; they must be a mapping or "
                "pairs (key, Cell)"
            )
        for pair in cells:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(f"CellDict: {pair!r} is not a pair (key, Cell)")
            self[pair[0]] = pair[1]

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("CellDict is a dict of Cells; call its values")
