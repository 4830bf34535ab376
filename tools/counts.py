"""Instructions that one call takes, counted by callgrind: a figure that no other load disturbs.

    counts.py PROGRAM > docs/counts.md

PROGRAM is bench/counts.c. Each way of calling is run with a few and with many calls; the difference
over the number of further calls is what one call takes.
"""

import os
import re
import subprocess
import sys

WAYS = {
    "typed": "`dip_add(x, y, &r)`",
    "named": '`dip_call("add", 2, in, NULL, 1, &r)`',
    "recorded": "`dip_add`, x a variable",
    "named-recorded": "`dip_call`, x a variable",
}
FEW, MANY = 100, 1100


def instructions(program: str, way: str, calls: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    env = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(
        [*command, program, way, str(calls)], capture_output=True, text=True, env=env, check=True
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if not found:
        raise SystemExit(f"callgrind printed no count:\n{done.stderr}")
    return int(found[1])


def main() -> None:
    program = sys.argv[1]
    print("# Instructions of a call\n")
    print("`x + y` on 16 floats, from the call to `dip_unref` of the result, counted by callgrind")
    print("on x86-64 with AVX2 loops. Written by `make counts` (`bench/counts.c`).\n")
    print("| call | instructions |\n| --- | --- |")
    for way, text in WAYS.items():
        count = instructions(program, way, MANY) - instructions(program, way, FEW)
        print(f"| {text} | {round(count / (MANY - FEW))} |")


if __name__ == "__main__":
    main()
