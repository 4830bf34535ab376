"""Builtin functions, and methods of tensors and strings, that mean something of their own while
staging: ``rule(interp, args, kwargs) -> value``."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor, op_table
from .access import get_attribute, iterate, set_attribute
from .errors import GraphTypeError
from .operators import binary
from .result import Place
from .text import is_late, print_later
from .values import Choice, LazyText, Scalar

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["FUNCTIONS", "TENSOR_METHODS", "TEXT_METHODS", "LateRange"]


@dataclass(frozen=True)
class LateRange:
    """A range of which a bound is known at run time."""

    start: Any
    stop: Any
    step: int


def _native(fn: Callable, interp: Interpreter, args: tuple[Any, ...], kwargs: dict) -> Any:
    from .calls import native

    return native(interp, fn, args, kwargs)


def _lifted(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that sees no choices among its positional arguments."""

    def lifted(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return interp.lift(lambda *plain: rule(interp, plain, kwargs), *args)

    return lifted


# ---- numbers


def _number(kind: type) -> Callable[..., Any]:
    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) != 1 or kwargs:
            return _native(kind, interp, args, kwargs)
        value = args[0]
        if kind is bool:
            return interp.as_bool(value)
        if type(value) is _core.Size:
            if isinstance(value, kind):
                return value
            return value * 1.0 if kind is float else int(value)
        if isinstance(value, Scalar):
            value = value.tensor
        if not interp.builder.is_symbolic(value):
            method = getattr(type(value), f"__{kind.__name__}__", None)
            if isinstance(method, types.FunctionType) and not isinstance(value, Tensor):
                return interp.call(types.MethodType(method, value), (), {})
            return kind(value)
        if value.size != 1:
            raise TypeError(f"only tensors of one element can be converted to {kind.__name__}")
        return Scalar(op_table["cast"](value.reshape(()), interp.builder.dtype_of(kind)), kind)

    return _lifted(rule)


def _of_scalar(fn: Callable, op: str) -> Callable[..., Any]:
    """abs and round: ops on Scalars, native otherwise."""

    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = args[0] if args else None
        if not isinstance(value, Scalar):
            return _native(fn, interp, args, kwargs)
        number = value.tensor
        if value.kind is bool:
            number = op_table["cast"](number, interp.builder.dtype_of(int))
        made = op_table[op](number)
        if fn is abs:
            return Scalar(made, float if value.kind is float else int)
        if len(args) > 1 or kwargs:
            raise interp.static_needed("a number known at run time", "round to a whole number only")
        return Scalar(op_table["cast"](made, interp.builder.dtype_of(int)), int)

    return _lifted(rule)


def _divmod(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not any(isinstance(a, Scalar) for a in args):
        return _native(divmod, interp, args, kwargs)
    return tuple(binary(interp, fn, *args) for fn in (operator.floordiv, operator.mod))


def _pow(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) != 2 or not any(isinstance(a, Scalar) for a in args):
        return _native(pow, interp, args, kwargs)
    return binary(interp, operator.pow, *args)


def _sum(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    start = kwargs.get("start", args[1] if len(args) > 1 else 0)
    total = start
    for item in iterate(interp, args[0]):
        total = binary(interp, operator.add, total, item)
    return total


def _extreme(fn: Callable, is_better: Callable) -> Callable[..., Any]:
    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items = iterate(interp, args[0]) if len(args) == 1 else list(args)
        key = kwargs.get("key")
        if not items or (key is None and not any(map(_is_late, items))):
            return _native(fn, interp, (items,) if len(args) == 1 else args, kwargs)
        ranks = items if key is None else [interp.call(key, (item,), {}) for item in items]
        best, rank = items[0], ranks[0]
        for item, other in zip(items[1:], ranks[1:], strict=True):
            truth = interp.truth(binary(interp, is_better, other, rank))
            if isinstance(truth, bool):
                best, rank = (item, other) if truth else (best, rank)
                continue
            pair = interp.fork_value(
                truth, lambda i=item, o=other: (i, o), lambda b=best, r=rank: (b, r)
            )
            best, rank = pair
        return best

    return rule


def _is_late(value: Any) -> bool:
    return is_late(value) or type(value) is Choice


# ---- sequences


def _range(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    late = [isinstance(a, Scalar) or interp.builder.is_symbolic(a) for a in args]
    if not any(late):
        return range(*args)
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else 1
    if not isinstance(step, int):
        raise interp.static_needed("the step of range", "its sign decides when the loop ends")
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    bounds = [
        v if isinstance(v, int | Scalar) else _number(int)(interp, (v,), {}) for v in (start, stop)
    ]
    return LateRange(bounds[0], bounds[1], step)


def _len(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    value = args[0]
    method = getattr(type(value), "__len__", None)
    if isinstance(method, types.FunctionType) and not isinstance(value, Tensor):
        return interp.call(types.MethodType(method, value), (), {})
    if isinstance(value, LateRange):
        span = binary(interp, operator.sub, value.stop, value.start)
        rounds = binary(
            interp,
            operator.floordiv,
            binary(interp, operator.add, span, value.step - (value.step > 0 or -1)),
            value.step,
        )
        return FUNCTIONS[max](interp, (rounds, 0), {})
    if isinstance(value, Tensor) and value.ndim:
        return value.shape[0]
    return len(value)


def _any_or_all(stop_at: bool) -> Callable[..., Any]:
    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def go_on(items: list[Any]) -> Any:
            if not items:
                return not stop_at
            truth = interp.truth(items[0])
            if isinstance(truth, bool):
                return stop_at if truth is stop_at else go_on(items[1:])
            rest = functools.partial(go_on, items[1:])
            sides = (lambda: stop_at, rest) if stop_at else (rest, lambda: stop_at)
            return interp.fork_value(truth, *sides)

        return go_on(iterate(interp, args[0]))

    return rule


def _map(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    columns = [iterate(interp, a) for a in args[1:]]
    rows = zip(*columns, strict=False)
    return iter([interp.call(args[0], row, {}) for row in rows])


def _filter(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kept = []
    for item in iterate(interp, args[1]):
        value = item if args[0] is None else interp.call(args[0], (item,), {})
        truth = interp.truth(value)
        if not isinstance(truth, bool):
            raise interp.static_needed(
                "a condition known at run time",
                "the number of items that filter keeps is static",
                "use ops.where or a mask over all items",
            )
        if truth:
            kept.append(item)
    return iter(kept)


def _reduce(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    items = iterate(interp, args[1])
    if len(args) > 2:
        items = [args[2], *items]
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    return functools.reduce(lambda a, b: interp.call(args[0], (a, b), {}), items)


def _sorted(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    items = iterate(interp, args[0])
    key = kwargs.get("key")
    ranks = items if key is None else [interp.call(key, (item,), {}) for item in items]
    if any(map(_is_late, ranks)):
        raise interp.static_needed(
            "a key known at run time", "the order of a list is static", "use ops.sort"
        )
    order = sorted(range(len(items)), key=ranks.__getitem__, reverse=kwargs.get("reverse", False))
    return [items[i] for i in order]


# ---- objects


def _isinstance(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    value, kinds = args
    if isinstance(value, Scalar):
        return issubclass(value.kind, kinds)
    return issubclass(str, kinds) if isinstance(value, LazyText) else isinstance(value, kinds)


def _type(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) == 1 and isinstance(args[0], Scalar):
        return args[0].kind
    if len(args) == 1 and type(args[0]) is _core.Size:
        return args[0].__class__
    return str if len(args) == 1 and isinstance(args[0], LazyText) else type(*args, **kwargs)


def _getattr(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if len(args) < 3:
        return get_attribute(interp, *args)
    try:
        return get_attribute(interp, *args[:2])
    except AttributeError:
        _see_absence(interp, *args[:2])
        return args[2]


def _hasattr(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        get_attribute(interp, *args)
    except AttributeError:
        _see_absence(interp, *args)
        return False
    return True


def _see_absence(interp: Interpreter, owner: Any, name: str) -> None:
    """That an object outside lacks an attribute is guarded too."""
    if interp.observer.is_known(owner):
        interp.observer.see_absence(Place("attr", owner, name))


def _setattr(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    set_attribute(interp, *args)


def _object_setattr(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner, name, value = args
    interp.journal.save(Place("attr", owner, name))
    object.__setattr__(owner, name, value)


def _super(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if args:
        return super(*args)
    frame = interp.frames[-1]
    first = frame.code.co_varnames[0]
    return super(frame.cells["__class__"].cell_contents, frame.lookup(first)[0])


def _print(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    print_later(interp, args, kwargs)


def _locals(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return dict(interp.frames[-1].locals)


def _globals(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return interp.frames[-1].globals


def _text(fn: Callable) -> Callable[..., Any]:
    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and isinstance(args[0], LazyText) and fn is str:
            return args[0]
        if args and is_late(args[0]) and fn is not format:
            return LazyText([(args[0], fn, "")])
        if args and is_late(args[0]):
            return LazyText([(args[0], None, *(args[1:] or ("",)))])
        return fn(*args, **kwargs)

    return rule


def _container(kind: type) -> Callable[..., Any]:
    def rule(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        made = kind(iterate(interp, args[0])) if args else kind()
        return made if kind is tuple else interp.frames[-1].remember(made)

    return _lifted(rule)


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    abs: _of_scalar(abs, "abs"),
    all: _lifted(_any_or_all(False)),
    any: _lifted(_any_or_all(True)),
    bool: _number(bool),
    divmod: _lifted(_divmod),
    filter: _lifted(_filter),
    float: _number(float),
    format: _text(format),
    functools.reduce: _lifted(_reduce),
    getattr: _lifted(_getattr),
    globals: _globals,
    hasattr: _lifted(_hasattr),
    int: _number(int),
    isinstance: _lifted(_isinstance),
    len: _lifted(_len),
    list: _container(list),
    locals: _locals,
    map: _lifted(_map),
    max: _lifted(_extreme(max, operator.gt)),
    min: _lifted(_extreme(min, operator.lt)),
    object.__setattr__: _object_setattr,
    pow: _lifted(_pow),
    print: _print,
    range: _lifted(_range),
    repr: _text(repr),
    round: _of_scalar(round, "round"),
    setattr: _setattr,
    sorted: _lifted(_sorted),
    str: _text(str),
    sum: _lifted(_sum),
    super: _super,
    tuple: _container(tuple),
    type: _lifted(_type),
}


# ---- methods


def _needs_numbers(name: str) -> Callable[..., Any]:
    def rule(
        interp: Interpreter, owner: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if not interp.builder.is_symbolic(owner):
            return getattr(owner, name)(*args, **kwargs)
        raise interp.error(
            GraphTypeError,
            "Unsupported type in Graph mode",
            "DP301",
            f"Tensor{list(owner.shape)} {owner.dtype.name}, known only at run time",
            why=f"{name}() needs the numbers while the graph is still being built",
            fix="use ops of ms.ops, or return the tensor and convert it outside",
        )

    return rule


def _item(interp: Interpreter, owner: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not interp.builder.is_symbolic(owner):
        return owner.item(*args)
    part = owner[args if len(args) > 1 else args[0]] if args else owner
    if part.size != 1:
        raise ValueError(f"item: the tensor has shape {part.shape}; it must have one element")
    kind = float if part.dtype.is_floating_point else bool if part.dtype.name == "bool" else int
    return Scalar(op_table["cast"](part.reshape(()), interp.builder.dtype_of(kind)), kind)


TENSOR_METHODS: dict[str, Callable[..., Any]] = {
    "asnumpy": _needs_numbers("asnumpy"),
    "numpy": _needs_numbers("numpy"),
    "tolist": _needs_numbers("tolist"),
    "item": _item,
}


def _format_method(
    interp: Interpreter, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``"...".format(...)``."""
    if not any(map(is_late, (*args, *kwargs.values()))):
        return owner.format(*args, **kwargs)
    return LazyText([((args, kwargs), lambda given: owner.format(*given[0], **given[1]), "")])


def _join(interp: Interpreter, owner: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    items = iterate(interp, args[0])
    if not any(map(is_late, items)):
        return owner.join(items)
    return LazyText([(items, owner.join, "")])


TEXT_METHODS: dict[str, Callable[..., Any]] = {"format": _format_method, "join": _join}
