"""tools/conformance.py: the page of MindSpore's own tests, from a run and a list of reasons."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance", ROOT / "tools/conformance.py")
    assert spec and spec.loader
    module = sys.modules["conformance"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_file(folder: Path, *records: tuple[str, str, str]) -> Path:
    path = folder / "run.jsonl"
    keys = ("id", "outcome", "error")
    path.write_text("".join(json.dumps(dict(zip(keys, r, strict=True))) + "\n" for r in records))
    return path


def test_page_counts_and_explains(tool: ModuleType, tmp_path: Path) -> None:
    run = run_file(
        tmp_path,
        ("tests/st/ops/cpu/test_a.py::test_one", "failed", "old"),
        ("tests/st/ops/cpu/test_a.py::test_one", "passed", ""),
        ("tests/st/ops/cpu/test_a.py::test_two[1]", "failed", "ValueError: x"),
        ("tests/st/ops/cpu/test_b.py::test_b", "failed", "No file /home/me/x.py at 0x7f12\nmore"),
        ("tests/ut/python/nn/test_c.py::test_c", "passed", ""),
    )
    reasons = [("st/ops/cpu/test_a.py::*", "as in NumPy"), ("ut/*", "never")]
    text, idle = tool.page(tool.read_runs([run]), reasons)
    assert "| `st/ops/cpu` | 3 | 1 | 33.3 |" in text
    assert "| all | 4 | 2 | 50.0 |" in text
    assert "* 1: as in NumPy (`test_two`)" in text
    assert "* 1, not looked into: `No file ... at 0x...` (`test_b`)" in text
    assert idle == ["ut/*"]


def test_reasons_of_the_repository_are_well_formed(tool: ModuleType) -> None:
    for pattern, reason in tool.read_reasons(tool.REASONS):
        assert pattern.startswith(tool.DIRECTORIES) and "::" in pattern
        assert reason.endswith(".")


def test_a_line_without_a_reason_is_refused(tool: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "reasons.txt"
    path.write_text("# fine\nst/ops/cpu/test_a.py::test_one\n")
    with pytest.raises(SystemExit, match="reasons.txt:2"):
        tool.read_reasons(path)
