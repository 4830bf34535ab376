"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil

import pytest

import diptych as ms
from diptych import nn

MODULES = ["diptych.common.initializer", "diptych.ops.loss", "diptych.ops.neural"] + [
    m.name for m in pkgutil.walk_packages(nn.__path__, "diptych.nn.") if ".optim" not in m.name
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = importlib.import_module(name)
    ms.set_seed(1)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
