"""An example program of examples/c learns, and both modes print the same losses.

    examples.py PROGRAM

Closes like a C test. Without Fashion-MNIST the tests on it are skipped (exit status 77); the text
of the character model is a page of our own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# Tests run side by side: threads that wait for each other at barriers would take ten times as long.
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}
FASHION = "/usr/share/datasets/fashion-mnist"
PAGE = str(Path(__file__).parents[2] / "docs" / "ops.md")

# program: data, epochs, steps; what is read off the output; its legal range
RUNS = {
    "fashion_mlp": ([FASHION, "1"], r"test accuracy ([\d.]+) %", (82, 90)),  # measured 84 to 85
    "lenet": ([FASHION, "1", "300"], r"test accuracy ([\d.]+) %", (65, 90)),
    "char_lstm": ([PAGE, "1"], r"last loss ([\d.]+)", (1.5, 3.5)),  # measured 3.2; it starts at 4.5
}


def fails(program: str, arguments: list[str], pattern: str, legal: tuple[float, float]) -> list:
    """What is wrong with the runs of a program in both modes."""
    losses, wrong = [], []
    for mode in ("eager", "graph"):
        done = subprocess.run([program, mode, *arguments], capture_output=True, text=True,
                              errors="replace", env=ONE_THREAD, check=False)  # fmt: skip
        found = re.findall(pattern, done.stdout)
        if done.returncode or not found or not legal[0] <= float(found[-1]) <= legal[1]:
            wrong.append(f"{mode}: {done.stdout[-500:]} {done.stderr} {pattern} not in {legal}")
        losses.append(re.findall(r"last loss (\S+)", done.stdout))
    if losses[0] != losses[1]:
        wrong.append(f"eager and graph differ: {losses}")
    return wrong


def main() -> int:
    program = sys.argv[1]
    name = Path(program).name
    arguments, pattern, legal = RUNS[name]
    if FASHION in arguments and not any(Path(FASHION).glob("t10k-images*")):
        print(f"skipped: no data in {FASHION}")
        return 77
    wrong = fails(program, arguments, pattern, legal)
    for text in wrong:
        print(text, file=sys.stderr)
    print(f"{name}: {2 - len(wrong)} passed, {len(wrong)} failed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
