"""Gradients of a compiled call: one node of the eager tape.

While the function is captured with recording on, its results hang on a tape of symbolic tensors.
Walking that tape back is captured into a graph of its own, whose inputs are the gradients of the
results and the values of the first graph that the walk reads; the first graph returns those beside
its results. Loops over tensors have no such second graph: there, and for gradients of gradients,
the first graph runs again node by node on the eager tape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from . import mode

__all__ = ["Gradient"]


class Gradient:
    """The captured walk back through one graph.

    Attributes:
        results: numbers of the outputs that have gradients: of those that the function itself has
            walked back, in full or in part, none can be taken.
        saved: values of the forward graph that the walk reads, as symbolic tensors.
    """

    def __init__(self, forward: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Captures the walk; ``forward`` is being captured and recorded, ``inputs`` are its
        symbolic inputs."""
        self.results = [i for i, out in enumerate(outputs) if _core.has_whole_tape(out)]
        self._forward = forward
        self._inputs = [i for i, x in enumerate(inputs) if x.requires_grad]
        parameters = [p for p, *_ in forward.params()]
        self._trained = [i for i, p in enumerate(parameters) if p.requires_grad]
        self._parameters = [parameters[i] for i in self._trained]
        self._types = [(outputs[i].dtype, outputs[i].shape) for i in self.results]
        self.saved: list[Tensor] = []
        self._graph: Any = None
        self._given: list[int] = []
        if self.results:
            self._capture(inputs, [outputs[i] for i in self.results])

    def _capture(self, inputs: Sequence[Tensor], roots: list[Tensor]) -> None:
        wrt: list[Tensor] = [inputs[i] for i in self._inputs]
        wrt.extend(self._parameters)
        graph = _core.Graph()
        graph.begin(True)
        try:
            seeds: list[Tensor | None] = [graph.input(dtype, shape) for dtype, shape in self._types]
            grads = _core.gradients(roots, seeds, wrt, False, False)
            self.saved = graph.lent()
            self._given = [i for i, g in enumerate(grads) if g is not None]
            graph.outputs([grads[i] for i in self._given], *mode.levels())
        except NotImplementedError:
            graph.end()
            return
        except BaseException:
            graph.end()
            raise
        self._graph = graph

    def attach(
        self,
        inputs: tuple[Tensor, ...],
        outputs: list[Tensor],
        kept: tuple[Tensor, ...],
        state: tuple[int, int],
    ) -> None:
        """Hangs the node on the results of one run: replaces entries of ``outputs``, and takes the
        saved values off their end. ``inputs``, ``kept``, ``state``: inputs, parameters and random
        state before it."""
        n = len(outputs) - len(self.saved)
        saved = outputs[n:]
        del outputs[n:]
        wrt: list[Tensor] = [inputs[i] for i in self._inputs]
        wrt.extend(self._parameters)

        def walk(grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
            records = _core.grad_enabled()
            if records or self._graph is None:
                return self._again(inputs, kept, state, grads, records)
            seeds = [self._seed(k, g) for k, g in enumerate(grads)]
            found: list[Tensor | None] = [None] * len(wrt)
            for i, g in zip(self._given, self._graph.run(seeds + saved), strict=True):
                found[i] = g
            return tuple(found)

        made = _core.record("jit", wrt, [outputs[i] for i in self.results], walk)
        for i, out in zip(self.results, made, strict=True):
            outputs[i] = out

    def _seed(self, k: int, grad: Tensor | None) -> Tensor:
        from .. import ops

        dtype, shape = self._types[k]
        return ops.zeros(shape, dtype) if grad is None else grad

    def _again(
        self,
        inputs: tuple[Tensor, ...],
        kept: tuple[Tensor, ...],
        state: tuple[int, int],
        grads: tuple[Tensor | None, ...],
        records: bool,
    ) -> tuple[Tensor | None, ...]:
        """The forward graph runs once more, on the eager tape, with the same random numbers;
        ``records``: the walk is recorded itself. It starts from variables of its own: the walk
        ends there, also where one of them was made from another."""
        given, values = list(inputs), list(kept)
        wrt = _variables(given, self._inputs) + _variables(values, self._trained)
        now = _core.rng_state()
        _core.set_rng_state(*state)
        try:
            outputs = self._forward.record(given, values)
        finally:
            _core.set_rng_state(*now)
        used = [k for k, g in enumerate(grads) if g is not None]
        roots = [outputs[self.results[k]] for k in used]
        return tuple(_core.gradients(roots, [grads[k] for k in used], wrt, records, records))


def _variables(values: list[Tensor], places: list[int]) -> list[Tensor]:
    """Replaces values at places by variables."""
    for i in places:
        values[i] = _core.variable(values[i])
    return [values[i] for i in places]
