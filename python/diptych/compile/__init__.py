"""Compiled functions: ``jit``, GRAPH_MODE, and what happens at a call.

A call looks for an entry made for arguments of these types (signature.py) whose guards hold
(entry.py); if there is none, the function is captured into a graph once (trace.py, or the staging
interpreter of diptych.stage), and its gradients into a second one (gradient.py). function.py holds
the cache and what users see of it.
"""

from __future__ import annotations

from .function import JitFunction, compiled_cell, compiled_gradient, jit
from .mode import (
    has_compiled,
    jit_disabled,
    set_graph_mode,
    set_jit,
    set_jit_level,
    set_memory_level,
)

__all__ = [
    "JitFunction",
    "compiled_cell",
    "compiled_gradient",
    "has_compiled",
    "jit",
    "jit_disabled",
    "set_graph_mode",
    "set_jit",
    "set_jit_level",
    "set_memory_level",
]
