"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import diptych as ms
from diptych import models, nn, numpy, train

MODULES = ["diptych.common.initializer", "diptych.common.mutables"]
MODULES += [f"diptych.ops.{name}" for name in ("detect", "loss", "neural", "vmap")]
MODULES += [
    m.name
    for part in (models, nn, numpy, train)
    for m in pkgutil.walk_packages(part.__path__, f"{part.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    ms.set_seed(1)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_layer_has_an_example() -> None:
    bare = []
    for name in MODULES:
        module = importlib.import_module(name)
        if name.startswith("diptych.nn."):
            public = [vars(module).get(n) for n in getattr(module, "__all__", ())]
            bare += [c for c in public if isinstance(c, type) and ">>>" not in (c.__doc__ or "")]
    assert not bare
