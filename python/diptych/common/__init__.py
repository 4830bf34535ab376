"""What every part of the package uses: tensors, dtypes, parameters, gradients, random state.

``from diptych.common import Parameter`` gives the public names, as MindSpore has them here too.
"""

from __future__ import annotations

import importlib
from typing import Any

_PUBLIC = {
    "Parameter": ".parameter",
    "ParameterTuple": ".parameter",
    "Tensor": ".tensor",
    "jit": "..compile",
    "mutable": ".mutables",
    "set_seed": "..runtime",
    "get_seed": "..runtime",
}


def __getattr__(name: str) -> Any:
    """The parts import each other: a name is looked up when it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name], __name__), name)
