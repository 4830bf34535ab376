"""The King James Bible as a text of characters, for the language models beside this file."""

import argparse
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import numpy as np

HELP = """no text: Debian has the King James Bible,
    apt-get install bible-kjv bible-kjv-text
and --text FILE takes any other text"""


class Text:
    """A text as numbers of its characters.

    ``characters``: those there are, in the order of their numbers; ``train`` and ``valid``: int32,
    what to learn from, and the last twentieth (of the Bible Colossians to Revelation).
    """

    def __init__(self, text: str) -> None:
        self.characters = "".join(sorted(set(text)))
        self._numbers = {c: i for i, c in enumerate(self.characters)}
        numbers = self.encode(text)
        split = len(numbers) - len(numbers) // 20
        self.train, self.valid = numbers[:split], numbers[split:]

    def encode(self, text: str) -> np.ndarray:
        """The numbers of the characters, int32; those that the text lacks are left out."""
        return np.array([self._numbers[c] for c in text if c in self._numbers], np.int32)

    def decode(self, numbers: Iterable[int]) -> str:
        return "".join(self.characters[i] for i in numbers)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", type=Path, help="a text file; King James if left out")


def read(file: Path | None) -> str:
    """The text of a file, or the Bible, a verse a line: "Ge1:1 In the beginning ..."."""
    if file is not None:
        return file.read_text()
    if shutil.which("bible") is None:
        raise SystemExit(HELP)
    call = ["bible", "-f", "gen1:1-rev22:21"]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout
