"""The blocks of the documents marked ``python`` run as they stand, each document as one program.
Fragments are marked ``py`` and do not run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def documents() -> list[Path]:
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    return sorted(p for p in paths if BLOCK.search(p.read_text()))


@pytest.mark.parametrize("path", documents(), ids=lambda p: p.name)
def test_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    text = path.read_text()
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        code = compile("\n" * line + block[1], str(path), "exec")
        exec(code, names)


def test_links_lead_somewhere() -> None:
    """Relative links of the documents name files that exist."""
    missing = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text()):
            if not target.startswith(("http:", "https:", "mailto:")):
                if not (path.parent / target).exists():
                    missing.append(f"{path.relative_to(ROOT)}: {target}")
    assert not missing
