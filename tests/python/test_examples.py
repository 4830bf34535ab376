"""The programs of examples/python learn, each by a shortened run with its figure."""

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import diptych as ms
import diptych.dataset as ds

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "python"
CLOTHES = Path("/usr/share/datasets/fashion-mnist")
needs_clothes = pytest.mark.skipif(not CLOTHES.is_dir(), reason="needs dataset-fashion-mnist")
needs_bible = pytest.mark.skipif(shutil.which("bible") is None, reason="needs bible-kjv-text")


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


@needs_clothes
def test_resnet(tmp_path: Path) -> None:
    call = ["--epochs", "2", "--images", "1280", "--test-images", "500", "--width", "8"]
    call += ["--batch", "32"]
    result = example("resnet_fashion").main([*call, *figure_in(tmp_path)])
    assert len(result.losses) == 80 and len(result.accuracy) == 2
    assert result.accuracy[-1] > 0.6
    assert result.confusion.sum() == 500
    assert result.confusion.trace() == pytest.approx(500 * result.accuracy[-1])
    assert drawn(tmp_path)


GPT = "--steps 200 --lr 0.005 --length 32 --width 96 --layers 1 --heads 2 --every 100"


@needs_bible
def test_gpt_learns_the_same_in_both_modes(tmp_path: Path) -> None:
    program = example("char_gpt")
    call = [*GPT.split(), "--valid-batches", "2", "--sample", "20"]
    graph = program.main([*call, *figure_in(tmp_path)])
    eager = program.main([*call, "--mode", "eager"])
    assert graph == eager
    assert graph[0] > 4 and sum(graph[-10:]) / 10 < 2.85  # frequencies alone give 3.15
    assert drawn(tmp_path)


LSTM = "--steps 60 --length 32 --width 64 --lr 0.01 --sample 20"


@needs_bible
def test_lstm_learns_the_same_in_both_modes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = example("char_lstm")
    graph = program.main([*LSTM.split(), *figure_in(tmp_path)])
    assert "Ge1:1 In the beginning" in capsys.readouterr().out
    eager = program.main([*LSTM.split(), "--mode", "eager"])
    assert graph == eager
    assert graph[0] > 4 and sum(graph[-10:]) / 10 < 2.7
    assert drawn(tmp_path)


def test_a_text_of_ones_own(tmp_path: Path) -> None:
    """Whatever the text: abababab... leaves nothing to guess."""
    file = tmp_path / "text.txt"
    file.write_text("ab" * 20000)
    call = ["--text", str(file), "--steps", "12", "--length", "16", "--lr", "0.02"]
    losses = example("char_lstm").main([*call, "--width", "16", "--sample", "4"])
    assert losses[-1] < 0.2
    file.write_text("short")
    with pytest.raises(SystemExit, match="5 characters are too few|too few for 32 x 16"):
        example("char_lstm").main(call)


@needs_clothes
def test_autoencoder(tmp_path: Path) -> None:
    error = example("autoencoder").main(["--epochs", "1", "--images", "3200", *figure_in(tmp_path)])
    assert error < 0.07  # the variance of the pixels is 0.12
    assert drawn(tmp_path)


@needs_clothes
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_vae(mode: str, tmp_path: Path) -> None:
    means, loss = example("vae").main(
        ["--epochs", "2", "--images", "6400", "--mode", mode, *figure_in(tmp_path)]
    )
    assert means[1] < means[0]
    assert loss < 350  # 784 log 2, 543, is a guess of one half for each pixel
    assert drawn(tmp_path)


def test_diabetes(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    r_squared = example("diabetes").main(figure_in(tmp_path))
    assert r_squared["net"] > 0.35
    assert drawn(tmp_path)


@needs_clothes
def test_transfer(tmp_path: Path) -> None:
    call = ["--epochs", "1", "--images", "8000", "--head-epochs", "6", "--all-epochs", "4"]
    call += ["--test-images", "1000", "--checkpoint", str(tmp_path / "five.ckpt")]
    program = example("transfer")
    curves = program.main([*call, *figure_in(tmp_path)])
    moved, fresh = curves.values()
    assert len(moved) == len(fresh) == 10
    assert moved[2] > fresh[2] and moved[-1] > 0.6
    assert drawn(tmp_path)
    taken = ms.load_checkpoint(tmp_path / "five.ckpt", name_map=program.new_names)
    assert list(taken)[0] == "features.0.weight" and len(taken) == 4


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, no program that prints the text, no matplotlib, no scikit-learn."""
    with pytest.raises(SystemExit, match="apt-get install dataset-fashion-mnist"):
        example("vae").main(["--data", str(tmp_path / "nowhere")])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt-get install bible-kjv bible-kjv-text"):
        example("char_gpt").main([])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        example("vae").main(["--figure", "vae.png"])
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        example("diabetes").main([])
