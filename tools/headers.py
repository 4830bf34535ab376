"""Compile every header alone: each must bring in what it needs.

    headers.py [BUILD]

Headers that are read once a compute type are compiled for f32.
BUILD is a configured build folder whose generated headers are found too. $CC is used, or cc.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu17", "-DCT_f32", "-DCT=f32", "-DISA=base", "-fsyntax-only", "-fmax-errors=2",
         "-Wall", "-Wextra", "-Wshadow", "-Werror",
         "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wno-unused-function", "-x", "c", "-"]


def is_alone(path: Path) -> bool:
    """Word lists of the op tables are no headers: they are read many times, inside a reading."""
    text = path.read_text()
    return "#ifndef DIP" in text and '#error "define' not in text


def main() -> int:
    build = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    folders = ["src", "include", "python/ext", "tests/c"]
    places = [ROOT / f for f in folders] + [Path(sysconfig.get_path("include"))]
    if build:
        places += sorted({h.parent for h in build.rglob("*.h")} | {build / f for f in folders})
    headers = sorted(h for f in folders for h in (ROOT / f).rglob("*.h") if is_alone(h))
    bad = 0
    for h in headers:
        command = [os.environ.get("CC", "cc"), *(f"-I{p}" for p in places), *FLAGS]
        text = f'#include "{h}"\nint headers_end;\n'
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            bad += 1
            print(f"{h.relative_to(ROOT)} does not stand alone:\n{done.stderr}")
    print(f"headers: {len(headers) - bad} of {len(headers)} stand alone")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
