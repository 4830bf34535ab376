"""examples/c/fashion_mlp.c learns: one epoch, then its test accuracy.

    fashion_mlp.py PROGRAM [FOLDER]

Closes like a C test. Without the data the test is skipped (exit status 77).
"""

import re
import subprocess
import sys
from pathlib import Path

LEAST = 82.0  # per cent after one epoch; measured 84 to 85


def main() -> int:
    program, *folder = sys.argv[1:]
    data = Path(folder[0] if folder else "/usr/share/datasets/fashion-mnist")
    if not any(data.glob("t10k-images*")):
        print(f"skipped: no data in {data}")
        return 77
    done = subprocess.run([program, str(data), "1"], capture_output=True, text=True, check=False)
    accuracy = re.search(r"test accuracy ([\d.]+) %", done.stdout)
    good = done.returncode == 0 and accuracy is not None and float(accuracy[1]) >= LEAST
    if not good:
        print(done.stdout[-500:], done.stderr, f"expected at least {LEAST} %", file=sys.stderr)
    print(f"fashion_mlp: {int(good)} passed, {int(not good)} failed")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
