"""Check that a shared library exports dip_* and nothing else.

    symbols.py LIBRARY
"""

import subprocess
import sys


def main() -> int:
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", sys.argv[1]]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[0].split("@")[0] for line in lines if line.split()[1] != "A"}
    foreign = sorted(n for n in names if not n.startswith("dip_"))
    if foreign:
        print("exported, but not dip_*:", ", ".join(foreign))
    if not names:
        print("nothing is exported")
    bad = bool(foreign) or not names
    print(f"symbols: {int(not bad)} passed, {int(bad)} failed")
    return bad


if __name__ == "__main__":
    sys.exit(main())
