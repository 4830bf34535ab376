"""Check that includes point down the folder order.

A file may include headers of its own folder and of the folders it is allowed to see (SEES); the
public header may be included from everywhere. Foreign headers have one home each (HOMES).
Prints each violation as `file:line: what` and exits with 1 when there is one.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
CODE = {".c", ".h", ".def", ".inc"}

ORDER = ["base", "tensor", "ops", "kernels", "graph", "eager", "passes", "plan", "jit", "run",
         "dist"]

# Every folder sees those before it in ORDER, but for these rows: kernels and graph do not see each
# other, io knows tensors only, the communicator needs nothing that computes, and the public calls
# stand on top.
SEES = {name: set(ORDER[:i]) for i, name in enumerate(ORDER)} | {
    "graph": {"base", "tensor", "ops"},
    "dist": {"base", "tensor"},
    "io": {"base", "tensor"},
    "api": {*ORDER, "io"},
}

# header name pattern -> path patterns (relative to the root) of the files that may include it
HOMES = [
    (re.compile(r"(.*/)?dnnl[\w.]*$"), ["src/kernels/dnn_*"]),
    (re.compile(r"llvm(-c)?/"), ["src/jit/*"]),
    (re.compile(r"mpi\.h$"), ["src/dist/*"]),
    (re.compile(r"(Python|structmember|numpy/.*)\.?h?$"), ["python/ext/*"]),
    (re.compile(r"zlib\.h$"), ["src/io/*"]),
]


def folder_of(path: Path) -> str | None:
    """Name of the layer a file under src/ stands in; None for files beside the folders."""
    parts = path.relative_to(ROOT / "src").parts
    return parts[0] if len(parts) > 1 else None


def home_error(path: Path, header: str) -> str | None:
    """Why a foreign header may not be included here."""
    for pattern, homes in HOMES:
        if pattern.match(header):
            rel = path.relative_to(ROOT)
            if not any(rel.match(h) for h in homes):
                return f"<{header}> belongs to {', '.join(homes)} only"
    return None


def layer_error(path: Path, header: str) -> str | None:
    """Why a header of ours may not be included here."""
    if ROOT / "src" not in path.parents:
        return None
    mine = folder_of(path)
    beside = (path.parent / header).resolve()
    if beside.exists() and ROOT / "src" in beside.parents:
        other = folder_of(beside)
    elif "/" in header:
        other = header.split("/")[0]
    else:
        return None
    if mine is None or other is None or other == mine or other not in SEES:
        return None
    if mine not in SEES:
        return f"folder src/{mine} is not in the order of tools/layers.py"
    if other not in SEES[mine]:
        return f'"{header}": {mine} may not see {other}'
    return None


def check(path: Path) -> list[str]:
    """All violations of one file."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = INCLUDE.match(line)
        if not m:
            continue
        quoted, header = m.group(1) == '"', m.group(2)
        error = home_error(path, header) or (layer_error(path, header) if quoted else None)
        if error:
            found.append(f"{path.relative_to(ROOT)}:{number}: {error}")
    return found


def main() -> int:
    files = [p for d in ("src", "include", "python/ext", "tests/c", "examples/c", "bench")
             for p in sorted((ROOT / d).rglob("*")) if p.suffix in CODE]
    unknown = {p.parent.name for p in (ROOT / "src").glob("*/*") if p.suffix in CODE} - set(SEES)
    errors = [f"src/{d}: not in the order of tools/layers.py" for d in sorted(unknown)]
    errors += [e for p in files for e in check(p)]
    print("\n".join(errors) if errors else f"layers: {len(files)} files, all includes point down")
    return bool(errors)


if __name__ == "__main__":
    sys.exit(main())
