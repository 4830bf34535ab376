"""From a function object to its syntax tree.

A file is read through linecache and parsed once; functions are found by first line, name and, for
lambdas, column. CPython's own code object tells which names are local, shared or free.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import site
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Source", "code_for", "find", "is_library", "mentioned"]

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """A function's tree.

    Attributes:
        node: the definition.
        body: its statements; of a lambda one return.
        filename: the file, as linecache knows it.
        global_names: names declared global.
    """

    node: FunctionNode
    body: list[ast.stmt]
    filename: str
    global_names: frozenset[str]


_LIBRARIES = tuple(
    os.path.abspath(folder) + os.sep
    for folder in (os.path.dirname(os.__file__), *site.getsitepackages())
)
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_library(filename: str) -> bool:
    """Whether a file belongs to Python, an installed package, or this one: code that does not
    change, neither between calls nor while it is loaded."""
    return filename.startswith((*_LIBRARIES, _HERE, "<frozen"))


_NAMES = {ast.Attribute: "attr", ast.Name: "id", ast.arg: "arg", ast.keyword: "arg"}


def _mangle_private_names(function: FunctionNode, owner: str) -> None:
    """``__name`` inside ``class C`` means ``_C__name``."""
    todo: list[tuple[ast.AST, str]] = [(function, owner)]
    while todo:
        node, owner = todo.pop()
        if isinstance(node, ast.ClassDef):
            owner = node.name.lstrip("_")
        field = _NAMES.get(type(node), "")
        name = getattr(node, field, None)
        if owner and name and name.startswith("__") and not name.endswith("__"):
            setattr(node, field, f"_{owner}{name}")
        todo.extend((child, owner) for child in ast.iter_child_nodes(node))


class _File:
    """A parsed file."""

    def __init__(self, filename: str, lines: list[str]) -> None:
        self.filename = filename
        self.lines = lines
        self._tree = ast.parse("".join(lines), filename)

    def functions(self, line: int) -> Iterator[FunctionNode]:
        """Those that begin at this line, with their names mangled. Only what stands around it is
        looked at."""
        todo: list[tuple[ast.AST, str]] = [(self._tree, "")]
        while todo:
            node, owner = todo.pop()
            if isinstance(node, ast.ClassDef):
                owner = node.name.lstrip("_")
            if isinstance(node, FunctionNode) and _first_line(node) == line:
                _mangle_private_names(node, owner)
                yield node
            todo.extend((n, owner) for n in ast.iter_child_nodes(node) if _is_around(n, line))

    @functools.cached_property
    def codes(self) -> list[types.CodeType]:
        """What the text compiles to now, all code objects."""
        text = "".join(self.lines)
        return list(_codes(compile(text, self.filename, "exec", dont_inherit=True)))


_files: dict[str, _File] = {}
_found: dict[tuple[types.CodeType, str], Source | None] = {}  # equal code is in many files


def _first_line(node: ast.AST) -> int:
    """What ``co_firstlineno`` says: the line of the first decorator, if there is one."""
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _is_around(node: ast.AST, line: int) -> bool:
    """Nodes without a place (arguments, clauses) are, too."""
    return not hasattr(node, "lineno") or _first_line(node) <= line <= node.end_lineno


def _file(filename: str) -> _File | None:
    lines = linecache.getlines(filename)
    if not lines:
        return None
    known = _files.get(filename)
    if known is None or known.lines != lines:
        try:
            known = _files[filename] = _File(filename, lines)
        except SyntaxError:
            return None
    return known


def _covers(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether the code's instructions come from the lambda's body."""
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    for line, end_line, column, end_column in code.co_positions():
        if line is None or column is None or (line, column, end_column) == (node.lineno, 0, 0):
            continue
        if start <= (line, column) and (end_line, end_column) <= end:
            return True
    return False


def _same_function(node: FunctionNode, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and _covers(node, code)
    return code.co_name == node.name


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def mentioned(code: types.CodeType) -> list[str]:
    """Global names and attributes that a function and those inside it mention."""
    return [name for one in (code, *_codes(code)) for name in one.co_names]


def code_for(parent: types.CodeType, node: FunctionNode | ast.ClassDef) -> types.CodeType:
    """The code object that CPython made for a definition inside ``parent``."""
    line = _first_line(node)
    matches = [
        code
        for code in _codes(parent)
        if code.co_firstlineno == line
        and (
            code.co_name == node.name
            if isinstance(node, ast.ClassDef)
            else _same_function(node, code)
        )
    ]
    return min(matches, key=lambda code: len(list(_codes(code))))


def _is_same_constant(a: Any, b: Any) -> bool:
    """``==`` takes 1 for 1.0 and 0.0 for -0.0."""
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return _does_the_same(a, b)
    return a == b if isinstance(a, frozenset) else repr(a) == repr(b)


def _does_the_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Equal up to the flags of the module around, which ``==`` looks at."""
    return (
        (one.co_code, one.co_names) == (other.co_code, other.co_names)
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_is_same_constant, one.co_consts, other.co_consts))
    )


def _is_stale(source: Source, code: types.CodeType) -> bool:
    """Whether the file has changed since the function was made: what its text compiles to is not
    what runs. Functions with assert are not judged, test runners rewrite them."""
    if is_library(source.filename) or any(isinstance(n, ast.Assert) for n in ast.walk(source.node)):
        return False
    same = [
        c
        for c in _files[source.filename].codes
        if c.co_name == code.co_name and c.co_firstlineno == code.co_firstlineno
    ]
    return bool(same) and not any(_does_the_same(c, code) for c in same)


def _global_names(node: FunctionNode) -> frozenset[str]:
    if isinstance(node, ast.Lambda):
        return frozenset()
    names = (n.names for n in ast.walk(node) if isinstance(n, ast.Global))
    return frozenset(name for group in names for name in group)


def _search(code: types.CodeType) -> Source | None:
    file = _file(code.co_filename)
    if file is None:
        return None
    matches = [n for n in file.functions(code.co_firstlineno) if _same_function(n, code)]
    if not matches:
        return None
    node = min(matches, key=_size)  # of lambdas inside one another the innermost
    body = node.body
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(node.body), node.body)]
    source = Source(node, body, code.co_filename, _global_names(node))
    if _is_stale(source, code):
        warnings.warn(
            f"source of {code.co_qualname} changed after import; it is called as Python "
            "instead of being staged",
            stacklevel=2,
        )
        return None
    return source


def find(code: types.CodeType) -> Source | None:
    """The source of a code object; None: there is none (C, exec, a shell, an edited file)."""
    key = code, code.co_filename
    if key not in _found:
        _found[key] = _search(code)
    return _found[key]
