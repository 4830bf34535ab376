"""Binding the arguments of a call to the parameters of a Python function."""

from __future__ import annotations

import types
from typing import Any

__all__ = ["bind"]

_VARARGS, _VARKEYWORDS = 4, 8


def bind(fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """``{parameter: value}`` as Python binds them.

    Raises:
        TypeError: in Python's words, when they do not fit.
    """
    code = fn.__code__
    count, only = code.co_argcount, code.co_kwonlyargcount
    positional, names = code.co_varnames[:count], code.co_varnames[: count + only]
    bound = dict(zip(positional, args, strict=False))
    rest = dict(kwargs)
    for name in names[code.co_posonlyargcount :]:
        if name in rest:
            if name in bound:
                raise TypeError(f"{fn.__qualname__}() got multiple values for argument '{name}'")
            bound[name] = rest.pop(name)
    if len(args) > count and not code.co_flags & _VARARGS:
        raise TypeError(
            f"{fn.__qualname__}() takes {count} positional argument{'s' * (count != 1)} but "
            f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
        )
    if rest and not code.co_flags & _VARKEYWORDS:
        name = next(iter(rest))
        raise TypeError(f"{fn.__qualname__}() got an unexpected keyword argument '{name}'")
    _fill_defaults(fn, positional, names[count:], bound)
    last = count + only
    if code.co_flags & _VARARGS:
        bound[code.co_varnames[last]] = tuple(args[count:])
        last += 1
    if code.co_flags & _VARKEYWORDS:
        bound[code.co_varnames[last]] = rest
    return bound


def _fill_defaults(
    fn: types.FunctionType,
    positional: tuple[str, ...],
    only: tuple[str, ...],
    bound: dict[str, Any],
) -> None:
    defaults = fn.__defaults__ or ()
    bound_late = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    bound_late.update(fn.__kwdefaults__ or {})
    missing = []
    for name in (*positional, *only):
        if name in bound:
            continue
        if name in bound_late:
            bound[name] = bound_late[name]
        else:
            missing.append(name)
    if missing:
        kind = "positional" if missing[0] in positional else "keyword-only"
        text = " and ".join(f"'{name}'" for name in missing)
        raise TypeError(
            f"{fn.__qualname__}() missing {len(missing)} required {kind} "
            f"argument{'s' * (len(missing) != 1)}: {text}"
        )
