"""Gradients of functions and of tensors, over the tape in C.

``grad`` and ``value_and_grad`` call the function on fresh variables (handles on the same values)
and walk the tape back. Inside another recording the walk is recorded itself, so they nest to any
order.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Parameter, Tensor

__all__ = [
    "Function",
    "GradOperation",
    "enable_grad",
    "grad",
    "jvp",
    "no_grad",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


class _GradMode:
    """Context manager and decorator that switches recording."""

    _on: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        if not self._on:
            _core.note_cut()
        self._before.append(_core.set_grad_enabled(self._on))

    def __exit__(self, *exc: object) -> None:
        _core.set_grad_enabled(self._before.pop())

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with type(self)():
                return fn(*args, **kwargs)

        return wrapped


class no_grad(_GradMode):
    """``with no_grad():`` nothing is recorded on this thread; also a decorator."""

    _on = False


class enable_grad(_GradMode):
    """``with enable_grad():`` calls are recorded, also inside no_grad; also a decorator."""

    _on = True


def stop_gradient(value: Any) -> Any:
    """The same value as a constant: no gradient flows through it. Tuples and lists go item by item.

    >>> import diptych as ms
    >>> ms.grad(lambda x: x * ms.ops.stop_gradient(x))(ms.Tensor(3.0)).item()
    3.0
    """
    if isinstance(value, tuple | list):
        return type(value)(stop_gradient(v) for v in value)
    if not isinstance(value, Tensor):
        raise TypeError(f"stop_gradient: value is of type {type(value).__name__}, not Tensor")
    if value.requires_grad:
        _core.note_cut()
    return _core.copy_object(value)


# ---- the pieces


@contextmanager
def _recording() -> Iterator[bool]:
    """Records; gives whether an outer recording is active."""
    nested = _core.grad_depth() > 0
    before = _core.set_grad_enabled(True)
    _core.add_grad_depth(1)
    try:
        yield nested
    finally:
        _core.add_grad_depth(-1)
        _core.set_grad_enabled(before)


def alias(tensor: Tensor) -> Tensor:
    """Another handle on the same value: in-place operators on the one leave the other."""
    return _core.alias(tensor)


def _tensors(out: Any) -> list[Tensor]:
    """The tensors in a result, in order."""
    if isinstance(out, Tensor):
        return [out]
    if isinstance(out, tuple | list):
        return [t for o in out for t in _tensors(o)]
    if isinstance(out, dict):
        return [t for o in out.values() for t in _tensors(o)]
    return []


def _zeros(like: Tensor) -> Tensor:
    from .. import ops

    return ops.zeros_like(_core.copy_object(like))


def _ones(like: Tensor) -> Tensor:
    from .. import ops

    return ops.ones_like(_core.copy_object(like))


def _filled(grads: Sequence[Tensor | None], wrt: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(_zeros(x) if g is None else g for g, x in zip(grads, wrt, strict=True))


def _positions(grad_position: Any, n: int) -> tuple[int, ...]:
    one = isinstance(grad_position, int) and not isinstance(grad_position, bool)
    positions = (grad_position,) if one else grad_position
    if not isinstance(positions, tuple | list) or not all(type(i) is int for i in positions):
        raise TypeError(
            f"grad: grad_position is {grad_position!r}; it must be None, an int or a tuple of ints"
        )
    for i in positions:
        if not 0 <= i < n:
            raise ValueError(f"grad: grad_position {i} is out of range: {n} arguments were given")
    return tuple(positions)


def _weights(weights: Any) -> list[Tensor] | None:
    if weights is None:
        return None
    items = [weights] if isinstance(weights, Tensor) else list(weights)
    for w in items:
        if not isinstance(w, Tensor):
            raise TypeError(f"grad: weights holds a {type(w).__name__}; they must be Parameters")
    return items


def _compiled(kind: str, fn: Any, options: tuple[Any, ...], call: Callable) -> Callable:
    """GRAPH_MODE: the function and its derivative as one graph."""
    from ..compile import compiled_gradient

    return compiled_gradient(kind, fn, options, call)


class Differentiated:
    """What grad and value_and_grad return: calls the function and takes gradients."""

    def __init__(
        self, fn: Callable, grad_position: Any, weights: Any, has_aux: bool, with_value: bool
    ) -> None:
        if not callable(fn):
            raise TypeError(f"grad: fn is of type {type(fn).__name__}; it must be callable")
        if grad_position is None and weights is None:
            raise ValueError("grad: grad_position and weights are both None: nothing to do")
        self._fn = fn
        self._grad_position = grad_position
        self._weights = weights
        self._has_aux = has_aux
        self._with_value = with_value
        functools.update_wrapper(self, fn, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _core.in_graph_mode():
            return self._run(*args, **kwargs)
        options = (self._grad_position, self._weights, self._has_aux, self._with_value)
        return _compiled("grad", self._fn, options, self)(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        positions: tuple[int, ...] = ()
        if self._grad_position is not None:
            positions = _positions(self._grad_position, len(args))
        weights = _weights(self._weights)
        arguments = list(args)
        for i in positions:
            if not isinstance(args[i], Tensor):
                raise TypeError(
                    f"grad: argument {i} is of type {type(args[i]).__name__}; gradients are taken "
                    "for Tensors"
                )
        with _recording() as nested:
            for i in positions:
                arguments[i] = _core.variable(args[i])
            inputs = [alias(arguments[i]) for i in positions]
            out = self._fn(*arguments, **kwargs)
        head, aux = out, ()
        if self._has_aux:
            if not isinstance(out, tuple | list) or not out:
                raise ValueError("grad: has_aux needs a function that gives (value, aux, ...)")
            head, aux = out[0], tuple(stop_gradient_all(o) for o in out[1:])
        roots = _tensors(head)
        if not roots:
            raise TypeError("grad: the function gave no Tensor")
        wrt = inputs + (weights or [])
        grads = _filled(_core.gradients(roots, [None] * len(roots), wrt, nested, nested), wrt)
        result = self._arrange(grads, len(inputs))
        if self._with_value:
            value = head if nested else stop_gradient_all(head)
            return (value, *aux) if self._has_aux else value, result
        return (result, *aux) if self._has_aux else result

    def _arrange(self, grads: tuple[Tensor, ...], n: int) -> Any:
        """Gradients in the shape the caller asked for."""
        inputs: Any = grads[:n]
        if isinstance(self._grad_position, int):
            inputs = grads[0]
        if self._weights is None:
            return inputs
        weights: Any = grads[n:]
        if isinstance(self._weights, Tensor):
            weights = weights[0]
        return weights if self._grad_position is None else (inputs, weights)


def stop_gradient_all(out: Any) -> Any:
    """Results as constants; what is no tensor passes."""
    if isinstance(out, Tensor):
        return _core.copy_object(out) if out.requires_grad else out
    if type(out) in (tuple, list):
        return type(out)(stop_gradient_all(o) for o in out)
    if type(out) is dict:
        return {k: stop_gradient_all(o) for k, o in out.items()}
    return out


def grad(
    fn: Any,
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    *,
    retain_graph: bool = False,
    create_graph: bool | None = None,
) -> Any:
    """The function that gives the gradient of ``fn``; or the gradients of a tensor.

    Args:
        fn: a function or Cell whose results are summed; or a Tensor, then ``grad_position`` holds
            the Parameters (or tensors) to differentiate for, and a tuple of gradients comes back.
        grad_position: the argument to differentiate for, several, or None.
        weights: Parameters to differentiate for.
        has_aux: only the first result is differentiated; the others come back beside the gradient.
        retain_graph, create_graph: for a tensor: keep the tape; record the walk itself.

    >>> import diptych as ms
    >>> ms.grad(lambda x: x * x)(ms.Tensor(3.0)).item()
    6.0
    """
    if not isinstance(fn, Tensor):
        return Differentiated(fn, grad_position, weights, has_aux, with_value=False)
    wanted = weights if weights is not None else grad_position
    if not isinstance(wanted, Tensor | tuple | list):
        raise TypeError("grad: for a Tensor, give the Parameters to differentiate for")
    wrt = _weights(wanted) or []
    create = _core.grad_depth() > 0 if create_graph is None else create_graph
    keep = retain_graph or create
    grads = _filled(_core.gradients([fn], [None], wrt, create, keep), wrt)
    return grads[0] if isinstance(wanted, Tensor) else grads


def value_and_grad(
    fn: Callable, grad_position: Any = 0, weights: Any = None, has_aux: bool = False
) -> Callable:
    """Like grad, but the function gives ``(value, gradient)``; with aux ``((value, aux), ...)``.

    >>> import diptych as ms
    >>> value, slope = ms.value_and_grad(lambda x: x * x)(ms.Tensor(3.0))
    >>> value.item(), slope.item()
    (9.0, 6.0)
    """
    return Differentiated(fn, grad_position, weights, has_aux, with_value=True)


def _seeds(roots: Sequence[Tensor], given: tuple[Any, ...]) -> list[Tensor]:
    flat = _tensors(given)
    if len(flat) != len(roots):
        raise ValueError(f"vjp: {len(roots)} results, but {len(flat)} vectors were given")
    return [v.astype(r.dtype) for v, r in zip(flat, roots, strict=True)]


def vjp(
    fn: Callable, *inputs: Tensor, weights: Any = None, has_aux: bool = False
) -> tuple[Any, ...]:
    """``outputs, vjp_fn``: vjp_fn(*vectors) gives the vector-Jacobian products for the inputs.

    >>> import diptych as ms
    >>> out, pull = ms.vjp(lambda x: x * x, ms.Tensor([1.0, 2.0]))
    >>> pull(ms.Tensor([1.0, 10.0])).tolist()
    [2.0, 40.0]
    """
    with _recording():
        variables = [_core.variable(x) for x in inputs]
        call = _compiled("vjp", fn, (), fn) if _core.in_graph_mode() else fn
        out = call(*map(alias, variables))
    head, aux = (out[0], tuple(out[1:])) if has_aux else (out, ())
    roots = _tensors(head)
    wanted = _weights(weights) or []

    def vjp_fn(*vectors: Any) -> Any:
        nested = _core.grad_depth() > 0
        wrt = variables + wanted
        grads = _filled(_core.gradients(roots, _seeds(roots, vectors), wrt, nested, True), wrt)
        mine: Any = grads[: len(variables)]
        mine = mine[0] if len(mine) == 1 else mine
        return mine if weights is None else (mine, grads[len(variables) :])

    result = head if _core.grad_depth() else stop_gradient_all(head)
    return (result, vjp_fn, *aux) if has_aux else (result, vjp_fn)


def jvp(fn: Callable, inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``outputs, tangents``: the Jacobian of ``fn`` at ``inputs`` times ``v``.

    The products with vectors are linear in the vector; differentiating that map once more gives the
    Jacobian itself the other way round.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> value, change = ops.jvp(lambda x: x * x, ms.Tensor([3.0]), ms.Tensor([1.0]))
    >>> print(value, change)
    [9.] [6.]
    """
    if _core.in_graph_mode():
        return _compiled("jvp", fn, (has_aux,), functools.partial(_jvp, fn))(inputs, v, has_aux)
    return _jvp(fn, inputs, v, has_aux)


def _jvp(fn: Callable, inputs: Any, v: Any, has_aux: bool) -> tuple[Any, ...]:
    points, tangents = _tensors(inputs), _tensors(v)
    if len(points) != len(tangents):
        raise ValueError(f"jvp: {len(points)} inputs, but {len(tangents)} tangents")
    with _recording() as nested:
        variables = [_core.variable(x) for x in points]
        out = fn(*map(alias, variables))
        head, aux = (out[0], tuple(out[1:])) if has_aux else (out, ())
        roots = _tensors(head)
        dummies = [_core.variable(_ones(r)) for r in roots]
        pulled = _core.gradients(roots, list(dummies), variables, True, True)
        used = [(g, t) for g, t in zip(pulled, tangents, strict=True) if g is not None]
        seeds = [t.astype(g.dtype) for g, t in used]
        slopes = _core.gradients([g for g, _ in used], seeds, dummies, nested, nested)
    products: Any = _filled(slopes, dummies)
    products = products[0] if isinstance(head, Tensor) else products
    value = head if nested else stop_gradient_all(head)
    return (value, products, *aux) if has_aux else (value, products)


class GradOperation:
    """MindSpore's older form: ``GradOperation(get_all=True)(fn)(*inputs)``.

    Args:
        get_all: gradients for all Tensor inputs; otherwise for the first.
        get_by_list: gradients for ``weights``, given beside the function.
        sens_param: the last argument of a call is the gradient of the result.

    >>> import diptych as ms
    >>> from diptych import ops
    >>> slope = ops.GradOperation()(lambda x: x * x)
    >>> print(slope(ms.Tensor([3.0])))
    [6.]
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable, weights: Any = None) -> Callable:
        wanted = _weights(weights) or [] if self.get_by_list else []

        def gradient(*args: Any) -> Any:
            sens = args[-1] if self.sens_param else None
            inputs = list(args[:-1] if self.sens_param else args)
            places = [i for i, a in enumerate(inputs) if isinstance(a, Tensor)]

            def call(*tensors: Tensor) -> Any:
                for i, t in zip(places, tensors, strict=True):
                    inputs[i] = t
                return fn(*inputs)

            out, pull = vjp(call, *(inputs[i] for i in places), weights=wanted)
            if sens is None:
                sens = tuple(_ones(r) for r in _tensors(out))
            mine, by_weight = pull(sens)
            mine = mine if isinstance(mine, tuple) else (mine,)
            if self.get_by_list:
                return (mine, by_weight) if self.get_all else by_weight
            return mine if self.get_all else mine[0]

        return gradient


class Function:
    """A call with a gradient of one's own: subclass with static ``forward`` and ``backward``.

    ``forward(ctx, *args)`` computes (nothing in it is recorded) and may keep what it needs on
    ``ctx``; ``backward(ctx, *grads)`` gives one gradient or None an argument. Call it with
    ``apply(*args)``.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        raise NotImplementedError("a Function needs forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise NotImplementedError("a Function needs backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward and records backward."""
        ctx = cls()
        with no_grad():
            out = cls.forward(ctx, *args)
        return record_custom(cls.__name__, args, out, lambda *grads: cls.backward(ctx, *grads))

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keeps tensors for backward, as ``ctx.saved_tensors``: their values of now."""
        self.saved_tensors = tuple(map(present, tensors))


def present(x: Any) -> Any:
    """A tensor of its own with the value and gradient of x: what is written to x later in place
    does not reach it. Other things: themselves."""
    if isinstance(x, Parameter):
        return x.value()
    return copy.copy(x) if isinstance(x, Tensor) else x


def record_custom(name: str, args: Sequence[Any], out: Any, backward: Callable) -> Any:
    """``out`` with the gradient ``backward(*grads) -> one gradient an argument`` hung on it."""
    single = isinstance(out, Tensor)
    outputs = [out] if single else list(out)
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    kinds = [o.dtype for o in outputs]
    shapes = [o.shape for o in outputs]

    def run(grads: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        from .. import ops

        full = [
            ops.zeros(shape, dtype) if g is None else g
            for g, shape, dtype in zip(grads, shapes, kinds, strict=True)
        ]
        answer = backward(*full)
        answer = answer if isinstance(answer, tuple | list) else (answer,)
        if len(answer) != len(args) and len(answer) != len(places):
            raise ValueError(
                f"{name}: backward gave {len(answer)} gradients for {len(args)} arguments"
            )
        if len(answer) == len(args):
            answer = [answer[i] for i in places]
        return tuple(answer)

    made = _core.record(name, [args[i] for i in places], outputs, run)
    return made[0] if single else type(out)(made)
