"""The King James Bible as a text of characters, for the language models beside this file."""

import argparse
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HELP = """no text: Debian has the King James Bible,
    apt-get install bible-kjv bible-kjv-text
and --text FILE takes any other text"""


@dataclass
class Text:
    """A text as numbers of characters."""

    characters: str  # the characters there are, in the order of their numbers
    train: np.ndarray  # int32, what to learn from
    valid: np.ndarray  # int32, the last twentieth (Colossians to Revelation)

    def encode(self, text: str) -> np.ndarray:
        """The numbers of the characters, int32; those that the text lacks are left out."""
        numbers = {c: i for i, c in enumerate(self.characters)}
        return np.array([numbers[c] for c in text if c in numbers], np.int32)

    def decode(self, numbers: np.ndarray) -> str:
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


def load(file: Path | None) -> Text:
    """The text in numbers; its last twentieth is held out."""
    text = Text("", *[np.zeros(0, np.int32)] * 2)
    found = read(file)
    text.characters = "".join(sorted(set(found)))
    numbers = text.encode(found)
    split = len(numbers) - len(numbers) // 20
    text.train, text.valid = numbers[:split], numbers[split:]
    return text
