"""Check the size limits of the house style and print totals.

C: lines a file (tables apart), a header, a function; parameters; nesting; width. Python: lines a
file and a function, nesting, width (parameter lists there follow MindSpore's, so they are free).
Prints each violation as `file:line: what` and exits with 1 when there is one.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "python", "tests", "tools", "bench", "examples")
# Public headers are manuals too: one file a C programmer reads from top to bottom.
PUBLIC_HEADER = 600
FILE, HEADER, FUNCTION, PARAMETERS, NESTING, WIDTH, TABLE_WIDTH = 800, 250, 80, 7, 4, 120, 140
C_KINDS = {".c", ".h", ".def", ".inc"}
TABLES = {".def"}


@dataclass
class Function:
    """One function definition: where it stands and how big it is."""

    name: str
    line: int
    lines: int
    parameters: int
    nesting: int


def blank(text: str) -> str:
    """The C text with comments, literals and preprocessor lines blanked, newlines kept."""
    token = re.compile(
        r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
    text = token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    directive = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
    return directive.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def split_parameters(text: str) -> int:
    """Number of parameters in the text between a definition's parentheses."""
    if text.strip() in ("", "void"):
        return 0
    depth = commas = 0
    for ch in text:
        depth += (ch in "([{") - (ch in ")]}")
        commas += ch == "," and depth == 0
    return commas + 1


def body_end(text: str, start: int) -> tuple[int, int]:
    """End of the block that opens at start, and the deepest control nesting inside it."""
    stack: list[bool] = []
    deepest = 0
    for i in range(start, len(text)):
        if text[i] == "{":
            before = text[:i].rstrip()[-8:]
            control = bool(stack) and (before.endswith((")", ";", "{", "}", ":"))
                                       or re.search(r"\b(else|do)$", before) is not None)
            literal = before.endswith(")") and re.search(
                r"[=,(?:]\s*\([^()]*\)$", text[:i].rstrip()[-60:])
            stack.append(control and not literal)
            deepest = max(deepest, sum(stack))
        elif text[i] == "}":
            stack.pop()
            if not stack:
                return i, deepest
    return len(text) - 1, deepest


def last_list(head: str) -> int:
    """Where the parentheses open that close the text; 0 when it does not end with any."""
    depth = 0
    for i in range(len(head.rstrip()) - 1, -1, -1):
        depth += (head[i] == ")") - (head[i] == "(")
        if depth == 0:
            return i if head[i] == "(" else 0
    return 0


def c_functions(text: str) -> Iterator[Function]:
    """All function definitions of a C file, found at brace depth 0."""
    text = blank(text)
    i = 0
    while (i := text.find("{", i)) >= 0:
        end, nesting = body_end(text, i)
        head_start = max(text.rfind(";", 0, i), text.rfind("}", 0, i)) + 1
        head = text[head_start:i]
        m = re.search(r"(\w+)\s*$", head[:(opening := last_list(head))])
        if m and "=" not in head[m.start():]:
            inner = head[opening + 1:head.rstrip().rfind(")")]
            line = text.count("\n", 0, head_start + m.start()) + 1
            lines = text.count("\n", 0, end) + 2 - line
            yield Function(m.group(1), line, lines, split_parameters(inner), nesting)
        i = end + 1


def python_nesting(node: ast.AST) -> int:
    """Deepest control nesting below a node, not entering inner functions."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        block = isinstance(child, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.Match)
        chained = isinstance(node, ast.If) and node.orelse == [child] and isinstance(child, ast.If)
        deepest = max(deepest, python_nesting(child) + (block and not chained))
    return deepest


def python_functions(text: str) -> Iterator[Function]:
    """All functions of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(node.name, node.lineno, lines, 0, python_nesting(node))


def file_errors(path: Path, text: str, functions: list[Function]) -> list[str]:
    """All violations of one file."""
    name = path.relative_to(ROOT)
    lines = text.splitlines()
    table = path.suffix in TABLES
    errors = []
    public = name.parts[0] == "include"
    # A header without a guard is code that is read more than once, with other definitions.
    header = path.suffix == ".h" and "#ifndef DIP_" in text
    limit = PUBLIC_HEADER if public else HEADER if header else FILE
    if len(lines) > limit and not table:
        errors.append(f"{name}:1: {len(lines)} lines, limit {limit}")
    width = TABLE_WIDTH if table else WIDTH
    errors += [f"{name}:{i}: {len(s)} columns, limit {width}"
               for i, s in enumerate(lines, 1) if len(s) > width]
    for f in functions:
        for what, value, most in (("lines", f.lines, FUNCTION),
                                  ("parameters", f.parameters, PARAMETERS),
                                  ("levels of nesting", f.nesting, NESTING)):
            if value > most:
                errors.append(f"{name}:{f.line}: {f.name} has {value} {what}, limit {most}")
    return errors


def summary(kind: str, files: int, lines: int, lengths: list[int]) -> str:
    """One line of totals."""
    text = f"{kind:8} {files:4} files {lines:7} lines"
    if lengths:
        lengths.sort()
        text += (f"  {len(lengths):5} functions, median {statistics.median(lengths):.0f}, "
                 f"90th percentile {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]}")
    return text


def main() -> int:
    totals: dict[str, tuple[int, int, list[int]]] = {}
    errors = []
    for path in sorted(p for d in FOLDERS for p in (ROOT / d).rglob("*")):
        if path.suffix not in C_KINDS | {".py", ".pyi"} or not path.is_file():
            continue
        text = path.read_text()
        parse = c_functions if path.suffix in C_KINDS - TABLES else python_functions
        functions = [] if path.suffix in TABLES | {".pyi"} else list(parse(text))
        if path.suffix != ".pyi":
            errors += file_errors(path, text, functions)
        area = str(path.relative_to(ROOT)).split("/")[0]
        files, lines, lengths = totals.get(area, (0, 0, []))
        totals[area] = (files + 1, lines + text.count("\n"), lengths + [f.lines for f in functions])
    for area, (files, lines, lengths) in totals.items():
        print(summary(area, files, lines, lengths))
    print("\n".join(errors) if errors else "size: all within the limits")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
