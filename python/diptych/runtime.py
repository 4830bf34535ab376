"""Random state, memory figures, threads."""

from __future__ import annotations

from typing import Any

from . import _core

__all__ = [
    "empty_cache",
    "get_rng_state",
    "get_seed",
    "launch_blocking",
    "manual_seed",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "memory_usage",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "run_check",
    "set_memory_limit",
    "set_rng_state",
    "set_seed",
    "synchronize",
]

_seed: int | None = None


def set_seed(seed: int) -> None:
    """Restarts the random numbers of all ops and initializers."""
    global _seed
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError(f"set_seed: seed is {seed!r}; it must be an int")
    if not 0 <= seed < 2**64:
        raise ValueError(f"set_seed: seed is {seed}; it must be in [0, 2**64)")
    _core.seed(seed)
    _seed = seed


manual_seed = set_seed


def get_seed() -> int | None:
    """What set_seed was last given, or None."""
    return _seed


def get_rng_state() -> Any:
    """The random state as an int64 Tensor of two numbers, for set_rng_state."""
    key, counter = _core.rng_state()
    return _core.copy_object([key, counter], "uint64")


def set_rng_state(state: Any) -> None:
    """Goes back to a state that get_rng_state gave."""
    key, counter = state.tolist()
    _core.set_rng_state(key, counter)


class MemoryUsage(dict):
    """Figures in bytes; prints as a table in MiB."""

    def __str__(self) -> str:
        return "\n".join(f"{name:<10} {n / 2**20:12.1f} MiB" for name, n in self.items())


def memory_usage() -> MemoryUsage:
    """allocated (in live tensors), reserved (from the system), peak, limit (0: none), in bytes."""
    return MemoryUsage(_core.memory_stats())


def memory_stats() -> dict[str, int]:
    """The same as memory_usage."""
    return memory_usage()


def memory_summary() -> str:
    """memory_usage as text."""
    return str(memory_usage())


def memory_allocated() -> int:
    """Bytes in live tensors."""
    return _core.memory_stats()["allocated"]


def max_memory_allocated() -> int:
    """The largest memory_allocated() since the last reset."""
    return _core.memory_stats()["peak"]


def memory_reserved() -> int:
    """Bytes taken from the system."""
    return _core.memory_stats()["reserved"]


def max_memory_reserved() -> int:
    """The present reserved bytes: kept pages are the peak until empty_cache()."""
    return _core.memory_stats()["reserved"]


def reset_peak_memory_stats() -> None:
    """Starts the peak anew."""
    _core.reset_peak()


reset_max_memory_allocated = reset_peak_memory_stats


def set_memory_limit(nbytes: int) -> None:
    """No more than this many bytes in tensors; 0 lifts the limit."""
    _core.set_memory_limit(nbytes)


def empty_cache() -> None:
    """Gives kept pages back to the system."""
    _core.trim()


def synchronize() -> None:
    """Calls are synchronous on the CPU: nothing to wait for."""


def launch_blocking() -> None:
    """Every call ends before it returns, as this asks for."""


def run_check() -> None:
    """Prints the version and multiplies two small matrices in both modes, to see that the
    installation works. Raises RuntimeError when a product is wrong.

    >>> import diptych as ms
    >>> ms.run_check()
    Diptych version: ...
    The result of multiplication calculation is correct, ...
    """
    from . import __version__, jit, ops

    def product() -> Any:
        return ops.matmul(ops.ones((2, 3)), ops.ones((3, 4)))

    print(f"Diptych version: {__version__}")
    for call in (product, jit(product)):
        if call().tolist() != [[3.0] * 4] * 2:
            raise RuntimeError("run_check: a product of two matrices is wrong")
    print(
        "The result of multiplication calculation is correct, Diptych has been installed on "
        "platform [CPU] successfully!"
    )
