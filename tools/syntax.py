"""Print docs/syntax.md: what Graph mode takes of Python, from the tests that show it.

    syntax.py >docs/syntax.md
    syntax.py --check          compares

A class in tests/python/test_syntax_*.py is a row: its docstring has the construct, and below the
behaviour. Its methods are the cells. `test_static` and `test_tensor` compare the compiled function
with eager mode, on values known while compiling and on tensors; a method `..._refused` shows that
there is an error instead.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "syntax.md"

HEAD = """# Python in Graph mode

What a compiled function may be written with. "Constants" are values known while the function is
compiled: numbers, strings, lists, attributes, shapes. They are computed by Python itself. "Tensors"
are values of a run, and numbers made of them. *yes*: tests compare compiled functions with eager
mode; *error*: refused with the line, the reason and what to do instead; *partly*: yes, but for what
the last column names.

`tools/syntax.py` prints this page from the tests in `tests/python/test_syntax_*.py`.
"""


def rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """``construct, constants, tensors, behaviour`` of each class of a test file."""
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.ClassDef) or not node.name.startswith("Test"):
            continue
        construct, _, behaviour = (ast.get_docstring(node) or "").partition("\n\n")
        if not behaviour:
            raise SystemExit(f"{path.name}: {node.name} needs a construct and how it behaves")
        names = [part.name for part in node.body if isinstance(part, ast.FunctionDef)]
        yield (
            construct,
            cell(names, "test_static"),
            cell(names, "test_tensor"),
            " ".join(behaviour.split()).rstrip("."),
        )


def cell(names: list[str], kind: str) -> str:
    """yes, error, partly, or nothing."""
    shown = kind in names
    refused = any(n.startswith(kind) and n.endswith("_refused") for n in names)
    return "partly" if shown and refused else "yes" if shown else "error" if refused else ""


def page() -> str:
    """The text of the page."""
    lines = [HEAD]
    for path, title in (("control", "Control flow"), ("values", "Values, calls and state")):
        lines += [f"## {title}", "", "| construct | constants | tensors | |", "|---|---|---|---|"]
        for row in rows(ROOT / "tests" / "python" / f"test_syntax_{path}.py"):
            lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.stdout.write(page())
    elif PAGE.read_text() != page():
        raise SystemExit("docs/syntax.md is stale: run tools/syntax.py >docs/syntax.md")
