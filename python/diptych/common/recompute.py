"""Recomputed Cells: gradients run them again instead of keeping what they computed inside.

While a graph is captured the Cell's calls are marked, and a pass makes the copies
(src/passes/recompute.c). A call that runs at once is recorded as one node of the tape, whose
gradient runs the Cell again (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Parameter, Tensor
from .grad import enable_grad, no_grad, present

__all__ = ["run_recomputed", "tensors_in"]


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors of a value, through tuples, lists and dicts."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [t for item in value for t in tensors_in(item)]
    return []


def _replaced(value: Any, by: dict[int, Tensor]) -> Any:
    if isinstance(value, Tensor):
        return by.get(id(value), value)
    if isinstance(value, dict):
        return {k: _replaced(v, by) for k, v in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replaced(v, by) for v in value))
    if isinstance(value, tuple | list):
        return type(value)(_replaced(v, by) for v in value)
    return value


def run_recomputed(
    name: str,
    run: Callable[..., Any],
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    parameters: Sequence[Parameter],
) -> Any:
    """``run(*inputs, **kwargs)`` as one node of the tape. The second run has the parameters and
    random numbers of the first; what it writes to parameters is forgotten."""
    given = _distinct([x for x in (*inputs, *kwargs.values()) if isinstance(x, Tensor)])
    trained = [p for p in parameters if p.requires_grad]
    if not _core.grad_enabled() or not any(map(_core.has_tape, (*given, *trained))):
        return run(*inputs, **kwargs)
    state, kept = _core.rng_state(), [p.value() for p in parameters]
    held = {id(x): present(x) for x in given}  # the caller may write theirs in place
    with no_grad():
        out = run(*inputs, **kwargs)
    results = {id(t): t for t in tensors_in(out) if t.dtype.is_floating_point}
    if not results:
        return out

    def again(grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        records = _core.grad_enabled()
        now, values = _core.rng_state(), [p.value() for p in parameters]
        _core.set_rng_state(*state)
        _put(parameters, kept)
        try:
            with enable_grad():
                fresh = {i: _core.variable(x) for i, x in held.items()}
                made = run(*_replaced(inputs, fresh), **_replaced(kwargs, fresh))
        finally:
            _put(parameters, values)
            _core.set_rng_state(*now)
        roots = [t for t in tensors_in(made) if t.dtype.is_floating_point]
        pairs = {id(r): (r, g) for r, g in zip(_distinct(roots), grads, strict=True)}
        used = [(r, g) for r, g in pairs.values() if g is not None and _core.has_tape(r)]
        wrt = [fresh[id(x)] for x in given] + list(trained)
        if not used:
            return (None,) * len(wrt)
        roots, seeds = map(list, zip(*used, strict=True))
        return tuple(_core.gradients(roots, seeds, wrt, records, records, True))

    recorded = _core.record(name, [*given, *trained], list(results.values()), again)
    return _replaced(out, dict(zip(results, recorded, strict=True)))


def _distinct(tensors: list[Tensor]) -> list[Tensor]:
    return list({id(t): t for t in tensors}.values())


def _put(parameters: Sequence[Parameter], values: Sequence[Tensor]) -> None:
    for p, value in zip(parameters, values, strict=True):
        p.set_data(value)
