"""A C program of the blocks marked ``c`` of a document.

    doc_program.py DOCUMENT > PROGRAM

Each block becomes the body of a function over the names that tests/c/doc_context.h declares, with
the document's line numbers. The program calls them in order; a block fails when a call in it failed
or when it returned.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main() -> None:
    path = Path(sys.argv[1])
    text = path.read_text()
    print('#include "doc_context.h"')
    names = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        names.append(f"block_{line}")
        print(f"static int {names[-1]}(Context s) {{\nCONTEXT(s)\n{{")
        print(f'#line {line} "{path.name}"\n{block[1]}\n}}\nreturn 0;\n}}')
    print("int main(void) {")
    for name in names:
        print(f"run_block({name}, \"{name}\");")
    print(f'return test_done("{path.stem.replace("-", "_")}");\n}}')


if __name__ == "__main__":
    main()
