"""Operators on values of which some are known at run time only."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core import Tensor, op_table
from .text import is_late
from .values import Choice, LazyText, Scalar, Undef, contains

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["BINARY", "COMPARE", "IN_PLACE", "UNARY", "binary", "plain", "unary"]

BINARY: dict[type, Callable] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
IN_PLACE: dict[type, Callable] = {
    kind: getattr(operator, f"i{fn.__name__.strip('_')}") for kind, fn in BINARY.items()
}
COMPARE: dict[type, Callable] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
UNARY: dict[type, Callable] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}

# The special methods that classes written in Python may define.
_METHODS = {
    fn: (f"__{fn.__name__.strip('_')}__", f"__r{fn.__name__.strip('_')}__")
    for fn in BINARY.values()
}
_METHODS.update(
    {
        operator.eq: ("__eq__", "__eq__"),
        operator.ne: ("__ne__", "__ne__"),
        operator.lt: ("__lt__", "__gt__"),
        operator.le: ("__le__", "__ge__"),
        operator.gt: ("__gt__", "__lt__"),
        operator.ge: ("__ge__", "__le__"),
    }
)
_COMPARISONS = frozenset(COMPARE.values())
_SIMPLE = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))


def binary(interp: Interpreter, fn: Callable, a: Any, b: Any) -> Any:
    """``fn(a, b)`` for a binary operator or comparison."""
    kinds = (type(a), type(b))
    if Choice in kinds or Undef in kinds:
        return interp.lift(lambda x, y: binary(interp, fn, x, y), a, b)
    if kinds[0] is str and fn is operator.mod and is_late(b):
        return LazyText([(b, lambda value: a % value, "")])
    if LazyText in kinds:
        return _text(interp, fn, a, b)
    if Scalar in kinds:
        return _scalars(interp, fn, a, b)
    if kinds[0] in _SIMPLE and kinds[1] in _SIMPLE:
        if kinds[0] is kinds[1] and kinds[0] in (list, tuple) and fn in (operator.eq, operator.ne):
            return _equal_items(interp, fn, a, b)
        return fn(a, b)
    return _special(interp, fn, a, b)


def _equal_items(interp: Interpreter, fn: Callable, a: Any, b: Any) -> Any:
    """Whether lists or tuples are equal: numbers in them may be known at run time only."""
    if len(a) != len(b) or not any(contains(v, (Scalar, Choice)) for v in (a, b)):
        return fn(a, b)
    equal: Any = True
    for x, y in zip(a, b, strict=True):
        same = binary(interp, operator.eq, x, y)
        if same is False:
            return fn is operator.ne
        if same is not True:
            equal = same if equal is True else binary(interp, operator.and_, equal, same)
    return equal if fn is operator.eq else binary(interp, operator.xor, equal, True)


def _special(interp: Interpreter, fn: Callable, a: Any, b: Any) -> Any:
    """Operators of classes written in Python are staged; others run natively."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return fn(interp.observer.resolve(a), interp.observer.resolve(b))
    forward, reflected = _METHODS[fn]
    for owner, name, other in ((a, forward, b), (b, reflected, a)):
        method = getattr(type(owner), name, None)
        if isinstance(method, types.FunctionType):
            value = interp.call(types.MethodType(method, owner), (other,), {})
            if value is not NotImplemented:
                return value
        elif owner is a and method is not None and getattr(object, name, None) is not method:
            break
    return fn(a, b)


def _text(interp: Interpreter, fn: Callable, a: Any, b: Any) -> LazyText:
    """Strings of which parts are known at run time can be added."""
    parts = [v.parts if isinstance(v, LazyText) else [v] for v in (a, b)]
    if fn is BINARY[ast.Add] and all(isinstance(v, LazyText | str) for v in (a, b)):
        return LazyText([*parts[0], *parts[1]])
    raise interp.static_needed(
        "a text with values known at run time",
        f"'{fn.__name__}' needs the characters now; such a text can be printed, raised and joined",
    )


def plain(value: Any) -> Any:
    """A Scalar as the tensor that it is; anything else itself."""
    return value.tensor if isinstance(value, Scalar) else value


def _scalars(interp: Interpreter, fn: Callable, a: Any, b: Any) -> Any:
    """A Python number known at run time, with a number or with a tensor."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        like = a if isinstance(a, Tensor) else b
        return fn(_as_operand(a, like), _as_operand(b, like))
    kinds = [v.kind if isinstance(v, Scalar) else v.__class__ for v in (a, b)]
    if not all(kind in (bool, int, float) for kind in kinds):
        return _odd_pair(interp, fn, a, b)
    if fn in _COMPARISONS:
        common = float if float in kinds else int
        return Scalar(fn(_widened(interp, a, common), _widened(interp, b, common)), bool)
    bits = fn in (operator.and_, operator.or_, operator.xor) and kinds == [bool, bool]
    kind = bool if bits else float if float in kinds or fn is operator.truediv else int
    made = fn(_widened(interp, a, kind), _widened(interp, b, kind))
    return Scalar(made, kind)


def _odd_pair(interp: Interpreter, fn: Callable, a: Any, b: Any) -> Any:
    """A number known at run time beside something that is no number."""
    other = b if isinstance(a, Scalar) else a
    if fn in (operator.eq, operator.ne) and not hasattr(other, "__array__"):
        return fn is operator.ne
    if fn is operator.mul and isinstance(other, str | list | tuple):
        raise interp.static_needed(
            "a count known at run time", f"it is the length of a {type(other).__name__}"
        )
    return fn(plain(a), plain(b))


def _widened(interp: Interpreter, value: Any, kind: type) -> Tensor:
    """A number as a tensor of int64, float64 or bool."""
    if not isinstance(value, Scalar):
        return interp.builder.constant(value, kind)
    if value.kind is kind:
        return value.tensor
    return op_table["cast"](value.tensor, interp.builder.dtype_of(kind))


def _as_operand(value: Any, like: Tensor) -> Any:
    """A number beside a tensor takes the tensor's dtype, unless it is of a higher category."""
    if not isinstance(value, Scalar):
        return value
    if like.dtype.is_floating_point:
        return op_table["cast"](value.tensor, like.dtype)
    if value.kind is float:
        return op_table["cast"](value.tensor, "float32")
    if like.dtype.name == "bool":
        return value.tensor
    return op_table["cast"](value.tensor, like.dtype)


def unary(interp: Interpreter, fn: Callable, value: Any) -> Any:
    """``fn(value)`` for ``-``, ``+`` and ``~``."""
    if type(value) in (Choice, Undef):
        return interp.lift(lambda v: unary(interp, fn, v), value)
    if isinstance(value, Scalar):
        kind = int if value.kind is bool else value.kind
        return Scalar(fn(_widened(interp, value, kind)), kind)
    method = getattr(type(value), f"__{fn.__name__.strip('_')}__", None)
    if isinstance(method, types.FunctionType) and not isinstance(value, Tensor):
        return interp.call(types.MethodType(method, value), (), {})
    return fn(value)
