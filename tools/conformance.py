"""Print docs/conformance.md: how MindSpore's own tests do on this library.

    conformance.py RUN.jsonl... >docs/conformance.md

A run is a file of JSON lines with `id`, `outcome` and `error`; of a test in several runs the last
one counts. tests/conformance/reasons.txt says why tests are left failing, a line each:

    id-pattern | reason

where the pattern is that of a shell, over ids without the leading `tests/`. Of several that fit the
first one counts. Patterns that fit no failing test are named on stderr.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

REASONS = Path(__file__).parent.parent / "tests" / "conformance" / "reasons.txt"

DIRECTORIES = (
    "st/compiler/control",
    "st/compiler/syntax",
    "st/numpy_native",
    "st/ops/cpu",
    "st/optimizer",
    "ut/python/metrics",
    "ut/python/mutable",
    "ut/python/nn",
)

HEAD = """# MindSpore's own tests

The tests that MindSpore's authors wrote for MindSpore (github.com/mindspore-ai/mindspore_test), run
on Diptych with `import mindspore` standing for `import diptych`. Listed are those that MindSpore
itself passes on a CPU and that check results through public names. `tools/conformance.py` prints
this page from a run; the reasons are those of `tests/conformance/reasons.txt`.
"""

_PATH = re.compile(r"(?:/[\w.+-]+){2,}")


@dataclass
class Directory:
    """The outcomes of one directory."""

    passed: int = 0
    failing: dict[str, str] = field(default_factory=dict)  # id: what it said

    @property
    def listed(self) -> int:
        return self.passed + len(self.failing)


def read_reasons(path: Path) -> list[tuple[str, str]]:
    """Pairs of pattern and reason, in the order of the file."""
    reasons = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, bar, reason = line.partition("|")
        if not bar or not pattern.strip() or not reason.strip():
            raise SystemExit(f"{path.name}:{number}: not of the form `id-pattern | reason`")
        reasons.append((pattern.strip(), reason.strip()))
    return reasons


def read_runs(paths: list[Path]) -> dict[str, Directory]:
    """Outcomes by directory, in the order of DIRECTORIES."""
    last = {}
    for path in paths:
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "::" in record["id"]:
                last[record["id"].removeprefix("tests/")] = record
    made = {name: Directory() for name in DIRECTORIES}
    for test, record in sorted(last.items()):
        name = next((d for d in DIRECTORIES if test.startswith(d + "/")), None)
        if name is None:
            raise SystemExit(f"{test}: lies in none of the directories that this page is about")
        if record["outcome"] == "passed":
            made[name].passed += 1
        else:
            made[name].failing[test] = said(record)
    return {name: directory for name, directory in made.items() if directory.listed}


def said(record: dict[str, str]) -> str:
    """The first line of a failure, without paths and addresses."""
    text = record["error"].strip().split("\n")[0] or record["outcome"]
    text = re.sub(r"0x[0-9a-f]+", "0x...", _PATH.sub("...", text))
    return text if len(text) <= 120 else text[:117] + "..."


def table(directories: dict[str, Directory]) -> list[str]:
    """Listed and passed tests."""
    lines = ["| directory | listed | passed | % |", "|---|---:|---:|---:|"]
    rows = [(f"`{name}`", d.listed, d.passed) for name, d in directories.items()]
    rows.append(("all", sum(r[1] for r in rows), sum(r[2] for r in rows)))
    for name, listed, passed in rows:
        lines.append(f"| {name} | {listed} | {passed} | {100 * passed / listed:.1f} |")
    return lines


def kinds(directory: Directory, reasons: list[tuple[str, str]], used: Counter[str]) -> list[str]:
    """Failing tests by reason, largest kind first; then those without, by what they said."""
    explained: dict[str, list[str]] = defaultdict(list)
    bare: dict[str, list[str]] = defaultdict(list)
    for test, error in directory.failing.items():
        found = next(((p, r) for p, r in reasons if fnmatchcase(test, p)), None)
        if found is None:
            bare[error].append(test)
        else:
            used[found[0]] += 1
            explained[found[1]].append(test)
    lines = []
    for reason, tests in sorted(explained.items(), key=lambda kind: -len(kind[1])):
        lines.append(f"* {len(tests)}: {reason} ({names(tests)})")
    for error, tests in sorted(bare.items(), key=lambda kind: -len(kind[1])):
        text = error.replace("`", "'")
        lines.append(f"* {len(tests)}, not looked into: `{text}` ({names(tests)})")
    return lines


def names(tests: list[str]) -> str:
    """The names of the functions, the first few."""
    short = list(dict.fromkeys(test.split("::")[1].split("[")[0] for test in tests))
    more = f" and {len(short) - 4} more" if len(short) > 4 else ""
    return ", ".join(f"`{name}`" for name in short[:4]) + more


def page(
    directories: dict[str, Directory], reasons: list[tuple[str, str]]
) -> tuple[str, list[str]]:
    """The text, and the patterns that fit nothing."""
    used: Counter[str] = Counter()
    lines = [HEAD, *table(directories)]
    for name, directory in directories.items():
        if directory.failing:
            lines += ["", f"## {name}", "", *kinds(directory, reasons, used)]
    return "\n".join(lines) + "\n", [p for p, _ in reasons if not used[p]]


def main(paths: list[str]) -> None:
    if not paths:
        raise SystemExit(__doc__)
    text, idle = page(read_runs([Path(p) for p in paths]), read_reasons(REASONS))
    sys.stdout.write(text)
    for pattern in idle:
        print(f"reasons.txt: {pattern} fits no failing test", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
