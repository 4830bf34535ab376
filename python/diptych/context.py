"""set_context and get_context: every key is checked; one that changes nothing here says so.

Keys that steer other devices or parallel training, and those of graph compilation that change
nothing here, are kept for get_context and answered with a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import _core, compile

__all__ = [
    "COMPATIBLE",
    "GRAPH_MODE",
    "LAX",
    "PYNATIVE_MODE",
    "STRICT",
    "ParallelMode",
    "get_context",
    "set_context",
]

GRAPH_MODE = 0
PYNATIVE_MODE = 1
# Levels of what a compiled function may hold (jit_syntax_level).
STRICT, COMPATIBLE, LAX = 0, 1, 2

_PREFIX = "The context configuration is invalid"


class ParallelMode:
    """Names of the parallel modes."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = [STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL]


def _typed(*types: type) -> Callable[[str, Any], Any]:
    names = " or ".join(t.__name__ for t in types)

    def check(key: str, value: Any) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise TypeError(
                f"{_PREFIX}: '{key}' is {value!r} ({type(value).__name__}); it must be {names}"
            )
        return value

    return check


def _one_of(*legal: Any) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        if value not in legal or isinstance(value, bool) != isinstance(legal[0], bool):
            raise ValueError(f"{_PREFIX}: '{key}' must be one of {list(legal)}, but got {value!r}")
        return value

    return check


def _number(low: int, high: int = 2**31 - 1) -> Callable[[str, Any], Any]:
    def check(key: str, value: Any) -> Any:
        _typed(int)(key, value)
        if not low <= value <= high:
            raise ValueError(f"{_PREFIX}: '{key}' must be in [{low}, {high}], but got {value}")
        return value

    return check


def _gigabytes(key: str, value: Any) -> str:
    _typed(str)(key, value)
    try:
        good = value.endswith("GB") and float(value[:-2]) > 0
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"{_PREFIX}: '{key}' must be like '1GB' or '0.5GB', but got {value!r}")
    return value


def _mode(key: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(
            f"{_PREFIX}: the parameter 'mode' must be <class 'int'>, but got {type(value)}"
        )
    if value not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            f"{_PREFIX}: For 'context.set_context', the argument 'mode' should be "
            f"context.GRAPH_MODE (0) or context.PYNATIVE_MODE (1), but got {value}."
        )
    return value


_FUSION = "each node of a graph runs its own kernel"
_SYNTAX = "a compiled function stages all it can and refuses the rest, at every level"
_PARALLEL = "it steers parallel training, which one process does not do"

# key: (default, check, why it changes nothing; "" when it works)
_KEYS: dict[str, tuple[Any, Callable[[str, Any], Any], str]] = {
    "mode": (PYNATIVE_MODE, _mode, ""),
    "jit": (True, _typed(bool), ""),
    "device_target": ("CPU", _one_of("CPU", "GPU", "Ascend", "Davinci"), ""),
    "device_id": (0, _number(0, 4095), ""),
    "max_device_memory": ("0GB", _gigabytes, ""),
    "runtime_num_threads": (0, _number(0, 1024), ""),
    "deterministic": ("ON", _one_of("ON", "OFF"), ""),
    "pynative_synchronize": (True, _typed(bool), ""),
    "mempool_block_size": ("1GB", _gigabytes, "the pool grows as needed, by its own size classes"),
    "max_call_depth": (1000, _number(1), ""),
    "enable_graph_kernel": (False, _typed(bool), _FUSION),
    "graph_kernel_flags": ("", _typed(str), _FUSION),
    "enable_mem_reuse": (True, _typed(bool), ""),
    "memory_optimize_level": ("O0", _one_of("O0", "O1", "O2"), ""),
    "save_graphs": (0, _one_of(0, 1, 2, 3, False, True), ""),
    "save_graphs_path": (".", _typed(str), ""),
    "inter_op_parallel_num": (0, _number(0, 1024), ""),
    "enable_compile_cache": (False, _typed(bool), "functions are captured anew in each process"),
    "compile_cache_path": ("", _typed(str), "functions are captured anew in each process"),
    "jit_level": ("O0", _one_of("O0", "O1", "O2"), ""),
    "jit_syntax_level": (LAX, _one_of(STRICT, COMPATIBLE, LAX), _SYNTAX),
    "jit_config": ({}, _typed(dict), "the options of a compiled function are those of jit"),
    "enable_parallel_optimizer": (False, _typed(bool), _PARALLEL),
    "parallel_mode": (ParallelMode.STAND_ALONE, _one_of(*ParallelMode.MODE_LIST), _PARALLEL),
    "gradients_mean": (False, _typed(bool), _PARALLEL),
}
_values: dict[str, Any] = {key: row[0] for key, row in _KEYS.items()}


def _unknown(key: str) -> ValueError:
    import difflib

    near = difflib.get_close_matches(key, _KEYS, 1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; the keys are {', '.join(_KEYS)}"
    return ValueError(
        f"{_PREFIX}: For 'context.set_context', the keyword argument {key} is not recognized!{hint}"
    )


def _apply(key: str, value: Any) -> Any:
    """Makes the setting true; returns what get_context will say."""
    if key == "device_target" and value != "CPU":
        warnings.warn(f"device_target={value!r} is not present; the CPU is used", stacklevel=3)
        return "CPU"
    if key == "device_id" and value:
        warnings.warn("device_id: the CPU is one device, 0", stacklevel=3)
        return 0
    if key == "mode":
        compile.set_graph_mode(value == GRAPH_MODE)
    if key == "jit":
        compile.set_jit(value)
    if key == "runtime_num_threads":
        _core.set_threads(value)
    if key == "jit_level":
        if value == "O2":
            warnings.warn("jit_level='O2' does what O1 does", stacklevel=3)
            value = "O1"
        compile.set_jit_level(value)
    if key == "memory_optimize_level":
        compile.set_memory_level(value)
    if key == "inter_op_parallel_num":
        _core.run_branches(value)
    if key == "enable_mem_reuse":
        _core.share_memory(value)
    if key == "max_device_memory":
        _core.set_memory_limit(int(float(value[:-2]) * 2**30))
    if key == "deterministic" and value == "OFF":
        warnings.warn("deterministic='OFF': results are deterministic anyway", stacklevel=3)
        return "ON"
    if key == "pynative_synchronize" and not value:
        warnings.warn("pynative_synchronize=False: calls are synchronous anyway", stacklevel=3)
        return True
    return value


def _check_fixed(settings: dict[str, Any]) -> None:
    for key in ("mempool_block_size",):
        if key in settings and settings[key] != _values[key] and compile.has_compiled():
            raise RuntimeError(
                f"SetContext before running the cell in GRAPH_MODE: '{key}' is {_values[key]!r} "
                "since the first compiled call; move the line before it"
            )


def set_context(**kwargs: Any) -> None:
    """Changes settings, all or none of them.

    mode: PYNATIVE_MODE runs every call at once; in GRAPH_MODE the outermost call of a Cell, and
    each function given to grad, value_and_grad, vjp or jvp, is compiled into one graph. jit: False
    runs everything as plain Python. runtime_num_threads: compute threads, 0 for all.
    max_device_memory: such as "8GB", a limit on tensors. max_call_depth: of calls while a function
    is compiled. save_graphs: 1 writes the text of each compiled graph to save_graphs_path, 2 and 3
    also what it was before the passes. Other keys are those of MindSpore; see get_context.

    jit_level: "O1" lets graphs compiled from then on round differently where that is faster; jit
    tells what it does. memory_optimize_level: "O1" runs their nodes in the order that needs least
    memory, "O2" also computes cheap ones twice where that saves some. enable_mem_reuse: False gives
    each value of a graph memory of its own, as f.memory_plan() shows (does a wrong value come from
    shared memory?). inter_op_parallel_num: up to so many small independent parts of a graph run at
    once (docs/graph-mode.md); 0, 1: none.

    Raises:
        ValueError, TypeError: an unknown key or a bad value; nothing is changed then.
    """
    for key in kwargs:
        if key not in _KEYS:
            raise _unknown(key)
    checked = {key: _KEYS[key][1](key, value) for key, value in kwargs.items()}
    _check_fixed(checked)
    for key, value in checked.items():
        why = _KEYS[key][2]
        if why and value != _KEYS[key][0]:
            warnings.warn(f"set_context({key}={value!r}) is kept, but {why}", stacklevel=2)
        _values[key] = _apply(key, value)


def get_context(attr_key: str) -> Any:
    """The value of a setting."""
    if attr_key not in _KEYS:
        raise _unknown(attr_key)
    return _values[attr_key]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Where ops run, the newer name of two settings: set_context(device_target=, device_id=).

    >>> import diptych as ms
    >>> ms.set_device("CPU")
    """
    more = {} if device_id is None else {"device_id": device_id}
    set_context(device_target=device_target, **more)
