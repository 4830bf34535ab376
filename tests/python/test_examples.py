"""The programs of examples/python learn, each by a shortened run with its figure."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import diptych as ms
import diptych.dataset as ds

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"
CLOTHES = Path("/usr/share/datasets/fashion-mnist")
needs_clothes = pytest.mark.skipif(not CLOTHES.is_dir(), reason="needs dataset-fashion-mnist")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder on the path, and the settings that a program changes put back."""
    monkeypatch.syspath_prepend(str(FOLDER))
    mode, seed = ms.get_context("mode"), ds.config._seed
    yield
    ms.set_context(mode=mode)
    ds.config._seed = seed


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


def figure_in(folder: Path) -> list[str]:
    """Arguments for a figure, where matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return []
    return ["--figure", str(folder / "figure.png")]


def drawn(folder: Path) -> bool:
    file = folder / "figure.png"
    return not figure_in(folder) or file.stat().st_size > 5000


@needs_clothes
def test_lenet_learns_the_same_in_both_modes(tmp_path: Path) -> None:
    results = example("lenet_fashion").main(
        ["--epochs", "1", "--images", "6400", *figure_in(tmp_path)]
    )
    eager, graph = results.values()
    assert eager.losses == graph.losses and len(eager.losses) == 200
    assert eager.accuracy == graph.accuracy > 0.6
    assert drawn(tmp_path)


@needs_clothes
def test_lenet_example_trains_an_mlp() -> None:
    results = example("lenet_fashion").main(
        ["--net", "mlp", "--mode", "graph", "--epochs", "1", "--images", "6400"]
    )
    assert results[ms.GRAPH_MODE].accuracy > 0.65
