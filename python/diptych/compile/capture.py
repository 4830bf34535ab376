"""From a call to an Entry: capture by staging or tracing, and the gradient where one is wanted."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
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

    def seal(graph: Any, inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        if not signature.records:
            return []
        made = Gradient(graph, inputs, outputs)
        if made.results:
            gradients[:] = [made]
        return made.saved

    if mode == "trace":
        staged = trace(fn, args, kwargs, signature.leaves, records=signature.records, seal=seal)
    else:
        staged = stage(fn, args, kwargs, records=signature.records, seal=seal)
    return Entry(staged, gradients[0] if gradients else None)
