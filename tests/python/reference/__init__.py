"""References of the ops in NumPy and double, one function an op under the op's own name.

A reference takes the inputs as arrays (floats in double, None for an absent tensor, a Python number
for a weak one) and the attributes by keyword; it returns an array, or a tuple for several results.
For a random op it returns a function instead, which gets the results and asserts about them.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any


def _load() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{module_info.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("_") or function.__module__ != module.__name__:
                continue
            if name in found:
                raise ValueError(
                    f"two references of {name}: {found[name].__module__} and {module.__name__}"
                )
            found[name] = function
    return found


REFERENCES = _load()
