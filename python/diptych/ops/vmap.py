"""vmap: a function of single samples as one of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor, op_table
from ..common.grad import alias

__all__ = ["vmap"]

_unstack, _stack = op_table["unstack"], op_table["stack"]


def vmap(fn: Any, in_axes: Any = 0, out_axes: Any = 0, chunk_size: int | None = None) -> Callable:
    """``fn`` mapped over an axis of its inputs; the results are stacked along ``out_axes``.

    Samples are taken one after the other (eagerly a loop, compiled a graph with the ops of every
    sample), so that any ``fn`` works, gradients and vmaps of vmaps included. A Parameter (or other
    Tensor) takes over what ``fn`` writes into its samples, by ``ops.assign`` or in-place operators.

    Args:
        fn: a function or Cell; or a list of Cells, one a sample.
        in_axes: the axis to map over, None for an input that all samples share; one for all inputs,
            or a tuple with one for each, nested as the inputs are.
        out_axes: where the new axis of the results stands; None for a result that is the same for
            all samples; one for all results, or nested as they are.
        chunk_size: the most samples at a time; one is taken, whatever this allows.

    Raises:
        TypeError, ValueError: axes do not fit the inputs, or mapped sizes differ.

    >>> import diptych as ms
    >>> x, w = ms.ops.arange(6).reshape((3, 2)), ms.Tensor([1, 10])
    >>> ms.ops.vmap(lambda a, b: (a * b).sum(), in_axes=(0, None))(x, w).tolist()
    [10, 32, 54]
    """
    from ..nn.container import CellList

    models = None
    if isinstance(fn, CellList | tuple | list):
        models = list(fn)
    elif not callable(fn):
        raise TypeError(f"vmap: fn is of type {type(fn).__name__}; it must be a Cell or function")
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size <= 0):
        raise ValueError(f"vmap: chunk_size is {chunk_size!r}; it must be a positive int")

    def mapped(*args: Any) -> Any:
        sizes: set[int] = set()
        cut: list[_Cut] = []
        slots = [_slices(x, axis, sizes, cut) for x, axis in _paired("in_axes", in_axes, args)]
        if models is not None:
            sizes.add(len(models))
        if len(sizes) != 1:
            raise ValueError(
                f"vmap: the mapped axes of the inputs have the sizes {sorted(sizes)}; there must "
                "be one size"
            )
        results = [
            (fn if models is None else models[i])(*(slot(i) for slot in slots))
            for i in range(sizes.pop())
        ]
        for whole in cut:
            whole.take_back()
        return _joined(results, out_axes)

    return mapped


def _paired(what: str, axes: Any, values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each value with its axis (or nested axes)."""
    if axes is None or isinstance(axes, int):
        return [(v, axes) for v in values]
    if not isinstance(axes, tuple | list) or len(axes) != len(values):
        raise ValueError(
            f"vmap: {what} is {axes!r}; it must be an int, None or {len(values)} of them"
        )
    return list(zip(values, axes, strict=True))


class _Cut:
    """A Tensor in its samples, and what they were before the calls."""

    def __init__(self, whole: Tensor, axis: int) -> None:
        self.whole, self.axis = whole, axis
        self._before = _unstack(whole, axis)
        self.pieces = [alias(p) for p in self._before]

    def take_back(self) -> None:
        """The whole takes over what was written into its samples."""
        pairs = zip(self.pieces, self._before, strict=True)
        if any(_core.value_id(now) != _core.value_id(before) for now, before in pairs):
            _core.repoint(self.whole, _stack(self.pieces, self.axis))


def _slices(x: Any, axis: Any, sizes: set[int], cut: list[_Cut]) -> Callable[[int], Any]:
    """What gives sample i of an input; ``sizes`` takes in how many there are."""
    if isinstance(x, tuple | list):
        parts = [_slices(v, a, sizes, cut) for v, a in _paired("in_axes", axis, x)]
        return lambda i: type(x)(part(i) for part in parts)
    if axis is None or not isinstance(x, Tensor):
        return lambda i: x
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"vmap: in_axes holds {axis!r}; it must hold ints and None")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"vmap: in_axes holds {axis}, but the input has shape {x.shape}")
    sizes.add(x.shape[axis])
    cut.append(_Cut(x, axis))
    pieces = cut[-1].pieces
    return lambda i: pieces[i]


def _joined(results: list[Any], axis: Any) -> Any:
    """The samples' results as one, nested as they are."""
    first = results[0]
    if isinstance(first, tuple | list):
        pairs = _paired("out_axes", axis, first)
        return type(first)(_joined([r[k] for r in results], a) for k, (_, a) in enumerate(pairs))
    if axis is None:
        return first
    return _stack([r if isinstance(r, Tensor) else Tensor(r) for r in results], axis)
