"""From a call to an Entry: capture by staging or tracing, and the gradient where one is wanted."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _core
from .._core import Tensor
from ..context import get_context
from ..stage.result import Staged
from ..stage.stage import Seal, stage
from . import mode
from .entry import Entry
from .gradient import Gradient
from .signature import Signature
from .trace import trace

__all__ = ["Again", "capture"]

# makes the entry for leaves of other sizes, or says why it cannot
Again = Callable[[list[Any]], Entry | str]


def capture(
    capture_mode: str,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    signature: Signature,
    for_any_size: bool,
) -> tuple[Entry, Again | None, str | None]:
    """The function for arguments like these; ``capture_mode``: "ast" or "trace". ``for_any_size``:
    also what makes it for other sizes of the axes that are free, or None and why not."""
    free = signature.free if for_any_size else None
    name = getattr(fn, "__qualname__", type(fn).__name__)
    level, folder = get_context("save_graphs"), get_context("save_graphs_path")
    seal, gradients = _sealing(signature.records, f"{name}_captured" if level >= 2 else None)
    if capture_mode == "trace":
        staged = trace(
            fn, args, kwargs, signature.leaves, records=signature.records, seal=seal, free=free
        )
    else:
        staged = stage(
            fn,
            args,
            kwargs,
            records=signature.records,
            seal=seal,
            numbers=signature.numbers,
            free=free,
        )
    if level:
        _save(staged.graph, name, folder)
    entry = Entry(staged, gradients[0] if gradients else None)
    if staged.recording is None:
        return entry, None, staged.bound_to_sizes
    levels = mode.levels()
    return entry, lambda leaves: _again(staged, signature.records, levels, leaves), None


def _sealing(records: bool, name: str | None) -> tuple[Seal, list[Gradient]]:
    """What closes a graph: captures its gradient, which goes to the list."""
    gradients: list[Gradient] = []

    def seal(graph: Any, inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        if name is not None:
            _save(graph, name, get_context("save_graphs_path"))
        if not records:
            return []
        made = Gradient(graph, inputs, outputs)
        gradients[:] = [made] if made.results else []
        return made.saved

    return seal, gradients


def _again(
    staged: Staged, records: bool, levels: tuple[bool, bool], leaves: list[Any]
) -> Entry | str:
    """The same function for leaves of other sizes: what was recorded is done once more."""
    graph = _core.Graph()
    seal, gradients = _sealing(records, None)
    given = staged.gather(leaves)
    before = _core.set_grad_enabled(records)
    graph.begin()
    try:
        made = graph.again(staged.recording, given)
        if isinstance(made, str):
            return made
        inputs, outputs = map(list, made)
        graph.outputs([*outputs, *seal(graph, inputs, outputs)], *levels)
    finally:
        if _core.is_capturing():
            graph.end()
        _core.set_grad_enabled(before)
    return Entry(replace(staged, graph=graph), gradients[0] if gradients else None)


_numbers = itertools.count()


def _save(graph: Any, name: str, folder: str) -> None:
    """Writes a graph's text to ``FOLDER/NUMBER_NAME.txt``."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", name).strip("_")
    (place / f"{next(_numbers):03d}_{name}.txt").write_text(graph.text())
