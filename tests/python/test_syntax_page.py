"""docs/syntax.md is what tools/syntax.py prints."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_page_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "syntax.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
