"""Random functions with control flow, and how a failing one is made small."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


class Program:
    """The text of a random function ``f(x, y)``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = [
            "import diptych as ms",
            "from diptych import ops",
            "class Box:",
            "    v = 1.0",
            "def f(x, y):",
            "    a = x + 1",
            "    n = 0",
            "    items = [x, y]",
            "    box = Box()",
            '    table = {"k": y}',
            "    t = ops.stack([x, y])",
        ]
        self.loops = 0
        self.block(1, 3, in_loop=False)
        self.lines.append("    return x, y, a, n, items, box.v, table, t")

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def value(self) -> str:
        """A tensor or number."""
        return self.pick(
            "x",
            "y",
            "a",
            "n",
            "x + y",
            "a - 1",
            "y * 2",
            "x - n",
            "items[0]",
            "items[-1] + x",
            "abs(y)",
            "max(x, a)",
            "(x if y > 1 else a)",
            "1.5",
            "-x",
            "len(items)",
            "box.v",
            'table["k"]',
            "t[0]",
            "t.sum()",
        )

    def test(self) -> str:
        return self.pick(
            "x > y",
            "a < 3",
            "y > 0",
            "x > 1 and y > 1",
            "x < 0 or a > 5",
            "not x > 2",
            "n > 1",
            "0 < x < 4",
            "len(items) > 2",
            "n % 2 == 0",
            "a is None",
            "x != 0",
        )

    def block(self, depth: int, budget: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(depth, budget, in_loop)

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int, budget: int, in_loop: bool) -> None:
        simple = [
            "assign",
            "assign",
            "augment",
            "append",
            "setitem",
            "print",
            "tuple",
            "call",
            "attribute",
            "key",
            "part",
            "context",
        ]
        nested = ["if", "if", "if", "for", "while", "try", "return"] if budget else []
        leaving = ["leave"] if in_loop else []
        kind = self.random.choice(simple + nested + leaving)
        getattr(self, "write_" + kind)(depth, budget, in_loop)

    def write_assign(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"{self.pick('x', 'y', 'a')} = {self.value()} + 0.5")

    def write_augment(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, self.pick("n += 1", "a = a * 0.5", f"a = a + {self.value()}", "n = n + 2"))

    def write_append(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, "pass" if self.loops else f"items.append({self.value()})")

    def write_setitem(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"items[0] = {self.pick('x', 'y', 'a')} * 1")

    def write_attribute(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"box.v = {self.pick('box.v * 0.5', 'x * 1', 'y + a')}")

    def write_key(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f'table["k"] = {self.pick("x + 1", "a * 2", "y - 0.5")}')

    def write_part(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, self.pick("t[0] = x", "t[1] = a * 2", "t += 1", "t *= 0.5", "t[0] += y"))

    def write_print(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, self.pick('print("here", n)', 'print(f"x={x}")'))

    def write_context(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, "with ms.no_grad():")
        self.emit(depth + 1, "y = y + 1")
        if self.random.random() < 0.5:
            self.write_if(depth + 1, 1, in_loop)

    def write_tuple(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, self.pick("x, y = y, x", "a, (x, y) = x, (y, a)"))

    def write_call(self, depth: int, budget: int, in_loop: bool) -> None:
        name = self.pick("x", "a")
        self.emit(depth, f"def g(v, w={name}):")
        self.emit(depth + 1, f"if {self.pick('v > 1', 'w < v')}:")
        self.emit(depth + 2, self.pick("return v - w", "w = w + 1"))
        self.emit(depth + 1, self.pick("return v", "return w * 2"))
        self.emit(depth, f"{name} = g({self.pick('x', 'y', 'a')})")

    def write_if(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.block(depth + 1, budget - 1, in_loop)
        if self.random.random() < 0.6:
            self.emit(depth, "else:")
            self.block(depth + 1, budget - 1, in_loop)

    def write_for(self, depth: int, budget: int, in_loop: bool) -> None:
        name = f"i{depth}"
        self.emit(
            depth, f"for {name} in {self.pick('range(3)', 'ms.static_range(1, 4)', '[1, 2]')}:"
        )
        self.emit(depth + 1, f"a = a + {name}")
        self.block(depth + 1, budget - 1, in_loop=True)
        if self.random.random() < 0.3:
            self.emit(depth, "else:")
            self.block(depth + 1, budget - 1, in_loop)

    def write_while(self, depth: int, budget: int, in_loop: bool) -> None:
        name = f"k{depth}"
        self.emit(depth, f"{name} = x * 0")
        self.emit(depth, f"while {name} < {self.pick('3', 'x', 'y + 1')} and {name} < 5:")
        self.emit(depth + 1, f"{name} = {name} + 1")
        self.loops += 1
        self.block(depth + 1, budget - 1, in_loop=True)
        self.loops -= 1

    def write_try(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, "try:")
        self.block(depth + 1, budget - 1, in_loop)
        self.emit(depth + 1, f"if {self.test()}:")
        self.emit(depth + 2, 'raise ValueError("drawn")')
        self.emit(depth, "except ValueError:")
        self.block(depth + 1, budget - 1, in_loop)

    def write_return(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.emit(depth + 1, f"return {self.pick('x', 'a, n', 'items', 'y + 1', 'n')}")

    def write_leave(self, depth: int, budget: int, in_loop: bool) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.emit(depth + 1, self.pick("break", "continue"))


# The function itself, and what makes loops end.
_NEEDED = re.compile(r"def f\(|\s+(k\d+) = \1 \+ 1$")


def _end_of(lines: list[str], at: int) -> int:
    """Where the statement of a line ends with all that stands below it."""
    depth = len(lines[at]) - len(lines[at].lstrip())
    end = at + 1
    while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > depth:
        end += 1
    return end


def _smaller(lines: list[str]) -> Iterator[list[str]]:
    """Programs with one statement less: it is left out, or its block stands in its place."""
    for at in reversed(range(len(lines))):
        if _NEEDED.match(lines[at]):
            continue
        end = _end_of(lines, at)
        yield lines[:at] + lines[end:]
        if end > at + 1:
            yield (
                lines[:at]
                + [line.removeprefix("    ") for line in lines[at + 1 : end]]
                + lines[end:]
            )


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """The smallest program that still fails, as far as leaving out statements leads."""
    lines = text.splitlines()
    found = True
    while found:
        found = False
        for fewer in _smaller(lines):
            try:
                compile("\n".join(fewer), "smaller", "exec")
            except SyntaxError:
                continue
            if fails("\n".join(fewer) + "\n"):
                lines, found = fewer, True
                break
    return "\n".join(lines) + "\n"


def load(text: str, folder: Path) -> Any:
    """The function of a program, in a file so that it has a source."""
    path = folder / f"program_{abs(hash(text))}.py"
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["f"]
