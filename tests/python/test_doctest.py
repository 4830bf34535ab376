"""The examples in docstrings run and print what they say, and each public name has one."""

import doctest
import functools
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import diptych as ms
from diptych import dataset, models, nn, numpy, ops, train

MODULES = [f"diptych.common.{name}" for name in ("grad", "initializer", "jacobian", "mutables")]
MODULES += ["diptych.context", "diptych.runtime"]
MODULES += [
    m.name
    for part in (models, nn, numpy, ops, train)
    for m in pkgutil.walk_packages(part.__path__, f"{part.__name__}.")
]
CASES = (Path(__file__).parents[1] / "cases.def").read_text()

# Why a name has no example of its own.
FILES = "reads files of a data set; docs/data.md has the way"
PILLOW = "needs Pillow, which is optional"
REASONS = {
    "dataset.Cifar10Dataset": FILES,
    "dataset.Cifar100Dataset": FILES,
    "dataset.FashionMnistDataset": FILES,
    "dataset.ImageFolderDataset": FILES,
    "dataset.MnistDataset": FILES,
    "dataset.vision.Decode": PILLOW,
    "dataset.vision.RandomCropDecodeResize": PILLOW,
    "dataset.vision.ToPIL": PILLOW,
    "ops.partial": "functools.partial",
}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    ms.set_seed(1)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def public_names(module) -> list[str]:
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    return [n for n in names if callable(getattr(module, n))]


def has_reason(name: str, thing: object) -> bool:
    """Rows of the op table are explained by the table and shown by their cases, which the tests
    run; a primitive class is its op called in two steps."""
    if type(thing).__name__ == "Op":
        row = next(n for n, op in ms._core.op_table.items() if op is thing)
        return f"({row}," in CASES
    if inspect.isclass(thing) and issubclass(thing, ops.Primitive):
        return True
    return name in REASONS


PARTS = (nn, ops, train, train.amp, dataset, dataset.vision, dataset.transforms, dataset.text,
         dataset.config)  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_public_name_is_explained_with_an_example(part) -> None:
    bare = []
    for n in public_names(part):
        thing, name = getattr(part, n), f"{part.__name__}.{n}".removeprefix("diptych.")
        text = inspect.getdoc(thing) or ""
        if not text or (">>>" not in text and not has_reason(name, thing)):
            bare.append(name)
    assert not bare


def test_the_reasons_are_needed() -> None:
    for name in REASONS:
        thing = functools.reduce(getattr, name.split("."), ms)
        assert ">>>" not in thing.__doc__, name
