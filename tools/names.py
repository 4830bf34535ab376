"""The MindSpore names of docs/names.txt that Diptych has and has not, as a page.

    names.py            prints docs/names.md
    names.py --check    exits with 1 when the page is stale

A section of names.txt is "[module] title" and words "name" or "name:files"; "[why not]" has lines
"module.name: reason".
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import diptych

ROOT = Path(__file__).resolve().parent.parent
FACTS, PAGE = ROOT / "docs" / "names.txt", ROOT / "docs" / "names.md"
HEAD = """# Names

MindSpore 2.x names by use (docs/names.txt tells how they were counted), and whether Diptych has
them under the same name. Written by tools/names.py; `make docs` prints it anew. A number says how
many of 5,929 files use a name.

| | there | of |
| --- | --- | --- |
"""


@dataclass
class Section:
    """Names of one module and how often each is used (0: not counted)."""

    module: str
    title: str
    names: dict[str, int]

    def split(self) -> tuple[list[str], list[str]]:
        """The names that are there and those that are not."""
        place = holder(self.module)
        there = [name for name in self.names if hasattr(place, name)]
        return there, [name for name in self.names if name not in there]


def holder(module: str) -> Any:
    """The module or class that a section is about."""
    place: Any = diptych
    for part in module.split(".") if module != "mindspore" else ():
        place = getattr(place, part)
    return place


def read_facts() -> tuple[list[Section], dict[str, str]]:
    """The sections and the reasons of docs/names.txt."""
    sections: list[Section] = []
    reasons: dict[str, str] = {}
    body, why = FACTS.read_text().split("[why not]")
    for block in re.split(r"^(?=\[)", body, flags=re.MULTILINE)[1:]:
        head, words = block.split("\n", 1)
        module, title = re.fullmatch(r"\[(.+)\] (.+)", head).groups()
        pairs = [word.partition(":") for word in words.split()]
        sections.append(Section(module, title, {name: int(n or 0) for name, _, n in pairs}))
    for line in why.strip().splitlines():
        name, _, reason = line.partition(": ")
        reasons[name] = reason
    return sections, reasons


def listed(section: Section, names: list[str]) -> str:
    """The names with their numbers, in the order of the file."""
    return ", ".join(
        f"`{name}`" + (f" {section.names[name]}" if section.names[name] else "") for name in names
    )


def page() -> str:
    """The text of docs/names.md."""
    sections, reasons = read_facts()
    parts, rows = [], []
    for section in sections:
        there, missing = section.split()
        title = f"{section.module}: {section.title}"
        rows.append(f"| {title} | {len(there)} | {len(section.names)} |")
        part = [f"\n## {title}\n", listed(section, there) + "."]
        if missing:
            part.append("\nNot there:\n")
        for name in missing:
            reason = reasons.get(f"{section.module}.{name}", "")
            part.append(f"- {listed(section, [name])}" + (f": {reason}" if reason else ""))
        parts.append("\n".join(part) + "\n")
    return HEAD + "\n".join(rows) + "\n" + "".join(parts)


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        stale = PAGE.read_text() != page()
        if stale:
            print(f"{PAGE} is stale: run tools/names.py > {PAGE.relative_to(ROOT)}")
        return int(stale)
    sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
