"""From a call to an Entry: capture by staging or tracing, and the gradient where one is wanted."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from .._core import Tensor
from ..context import get_context
from ..stage.stage import stage
from .entry import Entry
from .gradient import Gradient
from .signature import Signature
from .trace import trace

__all__ = ["capture"]


def capture(
    mode: str, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
) -> Entry:
    """The function for arguments like these; ``mode``: "ast" or "trace"."""
    gradients: list[Gradient] = []
    name = getattr(fn, "__qualname__", type(fn).__name__)
    level, folder = get_context("save_graphs"), get_context("save_graphs_path")

    def seal(graph: Any, inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        if level >= 2:
            _save(graph, f"{name}_captured", folder)
        if not signature.records:
            return []
        made = Gradient(graph, inputs, outputs)
        gradients[:] = [made] if made.results else []
        return made.saved

    if mode == "trace":
        staged = trace(fn, args, kwargs, signature.leaves, records=signature.records, seal=seal)
    else:
        staged = stage(
            fn, args, kwargs, records=signature.records, seal=seal, numbers=signature.numbers
        )
    if level:
        _save(staged.graph, name, folder)
    return Entry(staged, gradients[0] if gradients else None)


_numbers = itertools.count()


def _save(graph: Any, name: str, folder: str) -> None:
    """Writes a graph's text to ``FOLDER/NUMBER_NAME.txt``."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", name).strip("_")
    (place / f"{next(_numbers):03d}_{name}.txt").write_text(graph.text())
