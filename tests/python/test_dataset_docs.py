"""The examples in the docstrings of diptych.dataset."""

import doctest
import importlib
import pkgutil

import pytest

import diptych.dataset


def modules():
    package = diptych.dataset
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [package.__name__, *(info.name for info in found)]


@pytest.mark.parametrize("name", modules())
def test_examples(name, monkeypatch, tmp_path):
    monkeypatch.setattr(diptych.dataset.config, "_seed", None)
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0
