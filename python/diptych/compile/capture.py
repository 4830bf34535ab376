"""From a call to an Entry: capture by staging or tracing, and the gradient where one is wanted."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import _core
from .._core import Tensor
from ..context import get_context
from ..stage.builder import Free
from ..stage.lengths import Lengths
from ..stage.result import Staged
from ..stage.stage import Seal, stage
from . import mode
from .entry import Entry
from .gradient import Gradient
from .signature import Signature
from .sizetext import text_for_any_size
from .trace import trace

__all__ = ["Again", "capture"]


class Again:
    """Makes a captured function for other sizes of the axes that are free."""

    def __init__(self, staged: Staged, signature: Signature) -> None:
        self._staged, self._records = staged, signature.records
        self._levels = mode.levels()
        self._types = [(t.dtype, t.shape) for t in staged.gather(signature.leaves)]
        self._places = [(staged.inputs.index(leaf), axis) for leaf, axis in signature.places]

    def entry(self, leaves: list[Any]) -> Entry | str:
        """For leaves of other sizes; or why it cannot be made."""
        return self._made(self._staged.gather(leaves))

    def text(self, sizes: Sequence[int]) -> str | None:
        """The graph's text for these sizes; None: it cannot be made."""
        shapes = [list(shape) for _, shape in self._types]
        for (i, axis), n in zip(self._places, sizes, strict=True):
            shapes[i][axis] = n
        dtypes = [dtype for dtype, _ in self._types]
        likes = [_core.placeholder(d, tuple(s)) for d, s in zip(dtypes, shapes, strict=True)]
        made = self._made(likes)
        return None if isinstance(made, str) else made.staged.graph.text()

    def _made(self, given: list[Tensor]) -> Entry | str:
        """What was recorded is done once more, for inputs like these."""
        graph = _core.Graph()
        seal, gradients = _sealing(self._records, None)
        before = _core.set_grad_enabled(self._records)
        graph.begin()
        try:
            made = graph.again(self._staged.recording, given)
            if isinstance(made, str):
                return made
            inputs, outputs = map(list, made)
            graph.outputs([*outputs, *seal(graph, inputs, outputs)], *self._levels)
        except (ValueError, TypeError, RuntimeError) as error:
            return str(error)
        finally:
            if _core.is_capturing():
                graph.end()
            _core.set_grad_enabled(before)
        return Entry(replace(self._staged, graph=graph), gradients[0] if gradients else None)


def capture(
    capture_mode: str,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    signature: Signature,
    for_any_size: bool,
    lengths: Lengths,
) -> tuple[Entry, Again | None, str | None]:
    """The function for arguments like these; ``capture_mode``: "ast" or "trace". ``for_any_size``:
    also what makes it for other sizes of the axes that are free, or None and why not. ``lengths``:
    see ``stage``."""
    free = signature.free if for_any_size else None
    staged, gradient = _captured(capture_mode, fn, args, kwargs, signature, free, lengths)
    why = staged.bound_to_sizes
    if for_any_size and staged.raises:
        plain, plain_gradient = _captured(capture_mode, fn, args, kwargs, signature, None, lengths)
        if plain.raises != staged.raises:  # Python code that takes no Sizes for ints
            staged, gradient = plain, plain_gradient
            why = "it raises other exceptions while sizes are not known"
    entry = Entry(staged, gradient)
    again = None if staged.recording is None else Again(staged, signature)
    if get_context("save_graphs"):
        name = getattr(fn, "__qualname__", type(fn).__name__)
        text = staged.graph.text() if again is None else _text(signature, again)
        _save(text, name, get_context("save_graphs_path"))
    return entry, again, why


def _text(signature: Signature, again: Again) -> str:
    return text_for_any_size(signature.sizes, again.text)


def _captured(
    capture_mode: str,
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    signature: Signature,
    free: Free | None,
    lengths: Lengths,
) -> tuple[Staged, Gradient | None]:
    name = getattr(fn, "__qualname__", type(fn).__name__)
    is_saved = get_context("save_graphs") >= 2
    seal, gradients = _sealing(signature.records, f"{name}_captured" if is_saved else None)
    records, leaves, numbers = signature.records, signature.leaves, signature.numbers
    if capture_mode == "trace":
        staged = trace(fn, args, kwargs, leaves, records=records, seal=seal, free=free)
    else:
        staged = stage(
            fn,
            args,
            kwargs,
            records=records,
            seal=seal,
            numbers=numbers,
            free=free,
            lengths=lengths,
        )
    return staged, gradients[0] if gradients else None


def _sealing(records: bool, name: str | None) -> tuple[Seal, list[Gradient]]:
    """What closes a graph: captures its gradient, which goes to the list."""
    gradients: list[Gradient] = []

    def seal(graph: Any, inputs: list[Tensor], outputs: list[Tensor]) -> list[Tensor]:
        if name is not None:
            _save(graph.text(), name, get_context("save_graphs_path"))
        if not records:
            return []
        made = Gradient(graph, inputs, outputs)
        gradients[:] = [made] if made.results else []
        return made.saved

    return seal, gradients


_numbers = itertools.count()


def _save(text: str, name: str, folder: str) -> None:
    """Writes a graph's text to ``FOLDER/NUMBER_NAME.txt``."""
    os.makedirs(folder, exist_ok=True)
    name = re.sub(r"\W+", "_", name).strip("_")
    with open(os.path.join(folder, f"{next(_numbers):03d}_{name}.txt"), "w") as file:
        file.write(text)
