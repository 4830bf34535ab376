"""docs/names.md says which names of MindSpore are there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "names.md"


def missing_names(page: str) -> set[tuple[str, str]]:
    """(section, name) of what a page calls not there."""
    found, section = set(), ""
    for line in page.splitlines():
        section = line if line.startswith("## ") else section
        if line.startswith("- `"):
            found.add((section, line.split("`")[1]))
    return found


def test_the_page_is_fresh():
    """A name that the page promises is there; one more than it promises makes it stale."""
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "names.py")],
                          capture_output=True, text=True, check=True)  # fmt: skip
    now, told = missing_names(done.stdout), missing_names(PAGE.read_text())
    assert not now - told, "names are gone"
    if done.stdout != PAGE.read_text():
        pytest.skip("docs/names.md is stale: run `make docs` (tools/names.py)")
