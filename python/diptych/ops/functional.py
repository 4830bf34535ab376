"""All functions of ops under the name of MindSpore's older module: ``functional.relu(x)``."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module(__package__), name)


def __dir__() -> list[str]:
    return dir(importlib.import_module(__package__))
