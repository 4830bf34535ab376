"""Run the golden tests of the passes: text in, one pass, text out.

    golden.py DIP_OPT FOLDER          compare
    golden.py --write DIP_OPT FOLDER  write what comes out now into the files

A file, FOLDER/*.txt, has cases: a line `== PASS[,PASS...] what it shows`, the graph before, a line
`->`, the graph after. Prints `golden: N passed, N failed`.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

CASE = re.compile(r"^== (\S+) *(.*?)\n(.*?)^->\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)


def run(dip_opt: str, passes: str, text: str) -> str:
    """What dip-opt prints for a graph; its complaint where it refuses."""
    wrapper = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # an emulator, when crossing
    command = [*wrapper, dip_opt, "-p", passes]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def check(dip_opt: str, path: Path, write: bool) -> tuple[int, int]:
    """Passed and failed cases of one file."""
    text = path.read_text()
    passed = failed = 0
    head = text[: text.index("== ")]
    made = []
    for passes, title, before, after in CASE.findall(text):
        got = run(dip_opt, passes, before)
        made.append(f"== {passes} {title}\n{before}->\n{got}\n")
        if got.strip() == after.strip():
            passed += 1
            continue
        failed += 1
        if not write:
            print(f"{path.name}: {passes} {title}\n--- expected\n{after.strip()}\n--- got\n{got}")
    if passed + failed != len(re.findall(r"^== ", text, re.MULTILINE)):
        print(f"{path.name}: a case cannot be read")
        failed += 1
    elif write:
        path.write_text(head + "".join(made).rstrip("\n") + "\n")
    return passed, failed


def main() -> int:
    arguments = sys.argv[1:]
    write = arguments[0] == "--write"
    dip_opt, folder = arguments[write:]
    counts = [check(dip_opt, path, write) for path in sorted(Path(folder).glob("*.txt"))]
    passed, failed = (sum(c) for c in zip(*counts, strict=True))
    print(f"golden: {passed} passed, {failed} failed")
    return int(bool(failed and not write))


if __name__ == "__main__":
    sys.exit(main())
