"""Run the C tests of a build folder through `meson test` and print one closing line.

    ctests.py BUILD [meson test arguments]

Each test program closes with `name: N passed, N failed`; the sums of those lines are printed as
`C: N passed, N failed`. A program that crashed, hung or printed no such line counts as one failure.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

CLOSING = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed\b", re.MULTILINE)


def count(log: Path) -> tuple[int, int, list[str]]:
    """Passed, failed, and the names of the programs that failed, from meson's JSON log."""
    passed = failed = 0
    bad = []
    for line in log.read_text().splitlines():
        test = json.loads(line)
        found = CLOSING.findall(test.get("stdout") or "")
        passed += sum(int(p) for p, _ in found)
        failures = sum(int(f) for _, f in found)
        if test["result"] not in ("OK", "SKIP") or (not found and test["result"] != "SKIP"):
            failures = max(failures, 1)
            bad.append(f"{test['name']} ({test['result']})")
        failed += failures
    return passed, failed, bad


def main() -> int:
    build, *arguments = sys.argv[1:]
    log = Path(build) / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", build, "--print-errorlogs", "--num-processes", "1",
               *arguments]
    code = subprocess.run(command, check=False).returncode
    if not log.exists():
        print("meson test wrote no log: nothing ran", file=sys.stderr)
        return code or 1
    passed, failed, bad = count(log)
    if bad:
        print("failed programs:", ", ".join(bad))
    print(f"C: {passed} passed, {failed} failed")
    return int(bool(code or failed or not passed))


if __name__ == "__main__":
    sys.exit(main())
