"""Whole Jacobians, from products with unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._core import Tensor, op_table
from .grad import jvp, vjp

__all__ = ["jacfwd", "jacrev"]


def _positions(where: str, grad_position: Any) -> tuple[int, ...]:
    given = (grad_position,) if isinstance(grad_position, int) else grad_position
    if not isinstance(given, tuple | list) or not all(
        isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in given
    ):
        raise TypeError(
            f"{where}: grad_position is {grad_position!r}; it must be an int from 0 on, or a tuple "
            "of them"
        )
    return tuple(given)


def _chosen(where: str, args: Sequence[Any], positions: tuple[int, ...]) -> list[Tensor]:
    """The inputs that the Jacobian is for."""
    for i in positions:
        if i >= len(args) or not isinstance(args[i], Tensor):
            what = f"{len(args)} inputs" if i >= len(args) else type(args[i]).__name__
            raise TypeError(
                f"{where}: grad_position holds {i}; there must be a Tensor, but got {what}"
            )
        if not args[i].size:
            raise ValueError(f"{where}: input {i} has shape {args[i].shape}; it has no elements")
    return [args[i] for i in positions]


def _with(args: Sequence[Any], positions: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
    """args with other values at the positions."""
    made = list(args)
    for i, value in zip(positions, values, strict=True):
        made[i] = value
    return made


def _units(x: Tensor) -> Iterator[Tensor]:
    """For each element of x: 1 there and 0 elsewhere, in x's shape."""
    flat = op_table["eye"](x.size, x.size, x.dtype)
    return (flat[i].reshape(x.shape) for i in range(x.size))


def _rows(parts: list[Tensor], y: Tensor, x: Tensor, axis: int) -> Tensor:
    """The parts stacked along the first or last axis, as (*y.shape, *x.shape)."""
    shape = (*y.shape, *x.shape)
    return op_table["stack"](parts, axis).reshape(shape) if y.size else op_table["zeros"](shape)


def _packed(jacobians: list[list[Tensor]], one_output: bool, one_position: bool) -> Any:
    """[output][position] without the levels that nobody asked for."""
    rows: list[Any] = [row[0] if one_position else tuple(row) for row in jacobians]
    return rows[0] if one_output else tuple(rows)


def jacrev(
    fn: Callable, grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """A function of the Jacobian of ``fn``, row by row: one backward pass an element of the result.

    Its result has the shape (*output.shape, *input.shape); a tuple over the outputs where fn has
    several, and over the inputs where grad_position is a tuple.

    Args:
        fn: a function or Cell of Tensors.
        grad_position: which inputs.
        has_aux: fn gives (output, *others); the Jacobian function gives (Jacobian, *others).

    >>> import diptych as ms
    >>> print(ms.jacrev(lambda x: x * x)(ms.Tensor([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    positions = _positions("jacrev", grad_position)

    def jacobian(*args: Any) -> Any:
        chosen = _chosen("jacrev", args, positions)
        found = vjp(lambda *x: fn(*_with(args, positions, x)), *chosen, has_aux=has_aux)
        head, pull, aux = found[0], found[1], found[2:]
        outputs = [head] if isinstance(head, Tensor) else list(head)
        zeros = [op_table["zeros_like"](y) for y in outputs]
        made = []
        for i, y in enumerate(outputs):
            pulled = [pull(*zeros[:i], unit, *zeros[i + 1 :]) for unit in _units(y)]
            lines = [[row] if isinstance(row, Tensor) else list(row) for row in pulled]
            made.append([_rows([row[k] for row in lines], y, x, 0) for k, x in enumerate(chosen)])
        result = _packed(made, isinstance(head, Tensor), isinstance(grad_position, int))
        return (result, *aux) if has_aux else result

    return jacobian


def jacfwd(
    fn: Callable, grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """A function of the Jacobian of ``fn``, column by column: one product an element of the inputs.

    Arguments and result are those of jacrev; few inputs and many outputs are quicker here.

    >>> import diptych as ms
    >>> hessian = ms.jacfwd(ms.jacrev(lambda x: (x * x * x).sum()))
    >>> print(hessian(ms.Tensor([1.0, 2.0])))
    [[ 6.  0.]
     [ 0. 12.]]
    """
    positions = _positions("jacfwd", grad_position)

    def jacobian(*args: Any) -> Any:
        chosen = _chosen("jacfwd", args, positions)
        zeros = tuple(op_table["zeros_like"](x) for x in chosen)
        columns: list[list[list[Tensor]]] = []  # [position][element][output]
        for i, x in enumerate(chosen):
            columns.append([])
            for unit in _units(x):
                vectors = (*zeros[:i], unit, *zeros[i + 1 :])
                found = jvp(
                    lambda *x: fn(*_with(args, positions, x)), tuple(chosen), vectors, has_aux
                )
                head, slopes, aux = found[0], found[1], found[2:]
                columns[-1].append([slopes] if isinstance(slopes, Tensor) else list(slopes))
        outputs = [head] if isinstance(head, Tensor) else list(head)
        made = [
            [
                _rows([parts[k] for parts in column], y, x, -1)
                for x, column in zip(chosen, columns, strict=True)
            ]
            for k, y in enumerate(outputs)
        ]
        result = _packed(made, isinstance(head, Tensor), isinstance(grad_position, int))
        return (result, *aux) if has_aux else result

    return jacobian
