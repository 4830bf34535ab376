"""What a loop carries from round to round: how values are taken apart into tensors and built again.

A spec tells the type of a carried value: ``("tensor", dtype, shape)``, ``("number", kind)``,
``("const", value)``, ``("items", type, specs)``, ``("dict", keys, specs)``, ``("choice", specs)``,
``("object", class, names, specs)``: an instance, by its attributes,
``("unsettled", error)``: another type or object in each round, so nothing may read it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._core import Cell, Tensor, op_table
from .access import get_attribute
from .builder import value_id
from .errors import describe
from .result import ABSENT, PLAIN
from .values import Choice, Dead, Scalar, Undef

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = [
    "ChangesType",
    "Spec",
    "build",
    "is_absent",
    "is_opaque",
    "is_same",
    "object_spec",
    "spec_of",
    "take_apart",
    "zeros",
]

Spec = tuple[Any, ...]

_NUMBERS = (bool, int, float)


class ChangesType(Exception):
    """A value is of another type after a round than before it."""

    def __init__(self, before: Any, after: Any) -> None:
        super().__init__(f"{describe(before)} on entry, {describe(after)} after one round")
        self.is_length = _differ_in_length(before, after)


def _differ_in_length(a: Any, b: Any) -> bool:
    """Whether two values are of one type but for sizes and lengths."""
    if isinstance(b, Choice):
        return _differ_in_length(a, b.then) and _differ_in_length(a, b.orelse)
    if isinstance(a, Choice):
        return _differ_in_length(a.then, b) and _differ_in_length(a.orelse, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype is b.dtype
    return type(a) is type(b) and isinstance(a, list | tuple | dict)


def is_absent(value: Any) -> bool:
    """Whether there is no value to start with, on some path at least."""
    if isinstance(value, Choice):
        return is_absent(value.then) or is_absent(value.orelse)
    return value is ABSENT or isinstance(value, Undef | Dead)


def is_same(a: Any, b: Any) -> bool:
    """Whether a round left a value as it was."""
    if a is b:
        return True
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return value_id(a) == value_id(b)
    if isinstance(a, Undef) and isinstance(b, Undef):
        return True
    if type(a) in (list, tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(is_same, a, b))
    return type(a) is type(b) and isinstance(a, PLAIN) and a == b


def is_opaque(value: Any) -> bool:
    """Whether a value is an object that cannot be taken apart: a function, an instance."""
    known = (Tensor, Scalar, Choice, Undef, Dead, list, tuple, dict, *PLAIN)
    return not isinstance(value, known)


def _number_kind(value: Any) -> type | None:
    """The kind of a number, known now or at run time; None: no number."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, Choice):
        kinds = {_number_kind(value.then), _number_kind(value.orelse)}
        return kinds.pop() if len(kinds) == 1 else None
    return value.__class__ if value.__class__ in _NUMBERS else None  # of a Size, int or float


def spec_of(before: Any, after: Any) -> Spec:
    """The type of a value that a round changes from ``before`` to ``after``.

    Raises:
        ChangesType: there is none that fits both.
    """
    if is_absent(before):
        before = after
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        if before.dtype is after.dtype and before.shape == after.shape:
            return "tensor", before.dtype, before.shape
        raise ChangesType(before, after)
    kinds = (_number_kind(before), _number_kind(after))
    late = any(isinstance(v, Scalar | Choice) for v in (before, after))
    if None not in kinds and (late or not is_same(before, after)):
        if kinds[0] is kinds[1]:
            return "number", kinds[0]
        if set(kinds) == {int, float}:
            return "number", float
        raise ChangesType(before, after)
    if isinstance(after, Choice) and before is after:
        sides = ((v, v) for v in (after.cond, after.then, after.orelse))
        return "choice", tuple(spec_of(a, b) for a, b in sides)
    if type(before) in (list, tuple) and type(before) is type(after):
        if len(before) == len(after):
            return "items", type(before), tuple(map(spec_of, before, after))
    elif type(before) is dict and type(after) is dict and list(before) == list(after):
        specs = tuple(spec_of(before[k], after[k]) for k in before)
        return "dict", tuple(before), specs
    elif is_same(before, after):
        return "const", before
    raise ChangesType(before, after)


def object_spec(before: Any, after: Any) -> Spec | None:
    """The type of an object that a round replaces by another of its class; None: it cannot be taken
    apart into attributes."""
    names = getattr(after, "__dict__", None)
    if type(before) is not type(after) or not isinstance(names, dict) or not names:
        return None
    if isinstance(after, type | types.FunctionType | types.ModuleType | Cell):
        return None
    if list(vars(before)) != list(names):
        return None
    try:
        specs = tuple(spec_of(vars(before)[name], value) for name, value in names.items())
    except ChangesType:
        return None
    return "object", type(after), tuple(names), specs


def take_apart(interp: Interpreter, spec: Spec, value: Any) -> list[Tensor]:
    """The tensors of a value of this type."""
    kind = spec[0]
    if kind == "tensor":
        return [value]
    if kind == "number":
        return [interp.lift(lambda v: Scalar(_number(interp, v, spec[1]), spec[1]), value).tensor]
    if kind in ("const", "unsettled"):
        return []
    if kind == "choice":
        parts = (value.cond, value.then, value.orelse)
    elif kind == "object":
        parts = [get_attribute(interp, value, name) for name in spec[2]]
    else:
        parts = value.values() if kind == "dict" else value
    return [t for s, v in zip(spec[-1], parts, strict=True) for t in take_apart(interp, s, v)]


def _number(interp: Interpreter, value: Any, kind: type) -> Tensor:
    if not isinstance(value, Scalar):
        return interp.builder.constant(value, kind)
    if value.kind is kind:
        return value.tensor
    return op_table["cast"](value.tensor, interp.builder.dtype_of(kind))


def zeros(interp: Interpreter, spec: Spec) -> list[Tensor]:
    """Tensors to start with where there is no value yet."""
    kind = spec[0]
    if kind == "tensor":
        return [op_table["zeros"](spec[2], spec[1])]
    if kind == "number":
        return [interp.builder.constant(spec[1](0), spec[1])]
    if kind in ("const", "unsettled"):
        return []
    return [t for s in spec[-1] for t in zeros(interp, s)]


def build(spec: Spec, tensors: Iterator[Tensor]) -> Any:
    """The value of this type over the next tensors."""
    kind = spec[0]
    if kind == "tensor":
        return next(tensors)
    if kind == "number":
        return Scalar(next(tensors), spec[1])
    if kind == "const":
        return spec[1]
    if kind == "unsettled":
        return Undef("", spec[1])
    parts = [build(s, tensors) for s in spec[-1]]
    if kind == "choice":
        return Choice(*parts)
    if kind == "object":
        made = object.__new__(spec[1])
        made.__dict__.update(zip(spec[2], parts, strict=True))
        return made
    return dict(zip(spec[1], parts, strict=True)) if kind == "dict" else spec[1](parts)
