"""All functions of ops under the name of MindSpore's package: ``function.relu(x)``. Its division
into files is kept as names for the whole: ``function.nn_func.relu(x)``."""

from __future__ import annotations

import sys
from typing import Any

from .. import functional

array_func = clip_func = linalg_func = math_func = nn_func = random_func = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    return getattr(functional, name)


def __dir__() -> list[str]:
    return dir(functional)
