"""Reading and writing names, attributes and items; going through iterables."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Parameter, Tensor
from ..common.indexing import index_get, index_set
from .errors import GraphTypeError, describe
from .frame import Frame
from .operators import plain
from .result import ABSENT, Place
from .slices import settled_key
from .source import is_library
from .values import Choice, LazyText, Scalar, Undef, map_items

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = [
    "assign",
    "delete",
    "get_attribute",
    "get_item",
    "iterate",
    "set_attribute",
    "set_item",
    "store",
    "writable",
]

_MOST_ENTRIES = 64  # of a static container that is indexed by a number known at run time


def _class_value(owner: Any, name: str) -> Any:
    """What the class itself, not the instance, says about an attribute."""
    for cls in type(owner).__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return ABSENT


def _is_python(fn: Any) -> bool:
    return isinstance(fn, types.FunctionType)


# ---- attributes


def get_attribute(interp: Interpreter, owner: Any, name: str) -> Any:
    """``owner.name``; properties and ``__getattr__`` written in Python are staged."""
    if type(owner) in (Choice, Undef):
        return interp.lift(lambda o: get_attribute(interp, o, name), owner)
    if isinstance(owner, Tensor):
        return getattr(owner, name)
    if isinstance(owner, Scalar):
        return (
            getattr(owner.kind(), name)
            if callable(getattr(owner.kind, name, None))
            else (getattr(owner.tensor, name))
        )
    if isinstance(owner, LazyText):
        return types.MethodType(_text_method(interp, name), owner)
    if isinstance(owner, types.ModuleType):
        return _module_value(interp, owner, name)
    if isinstance(owner, type | super):
        value = getattr(owner, name)
    else:
        found = _class_value(owner, name)
        if isinstance(found, property) and _is_python(found.fget):
            return interp.call(found.fget, (owner,), {})
        if found is ABSENT or not hasattr(type(found), "__set__"):
            value = _instance_value(interp, owner, name)
        else:
            value = getattr(owner, name)
    is_outside = interp.observer.is_known(owner) or isinstance(owner, type)
    return interp.read(Place("attr", owner, name), value) if is_outside else value


def _instance_value(interp: Interpreter, owner: Any, name: str) -> Any:
    """The value in the instance or class; a Python ``__getattr__`` is staged."""
    hook = _class_value(owner, "__getattr__")
    if not _is_python(hook):
        return getattr(owner, name)
    try:
        return object.__getattribute__(owner, name)
    except AttributeError:
        return interp.call(hook, (owner, name), {})


def _module_value(interp: Interpreter, module: types.ModuleType, name: str) -> Any:
    value = getattr(module, name)
    if is_library(getattr(module, "__file__", None) or "<frozen"):
        return value
    return interp.read(Place("global", module.__dict__, name), value)


def _text_method(interp: Interpreter, name: str) -> Callable[..., Any]:
    raise interp.static_needed(
        f"str.{name} of a text with values known at run time",
        "such a text can be printed, raised and joined, nothing else",
    )


def set_attribute(interp: Interpreter, owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``; property setters and ``__setattr__`` written in Python are staged."""
    if type(owner) in (Choice, Undef):
        interp.lift(lambda o: set_attribute(interp, o, name, value), owner)
        return
    found = _class_value(owner, name)
    if isinstance(found, property) and _is_python(found.fset):
        interp.call(found.fset, (owner, value), {})
        return
    hook = _class_value(owner, "__setattr__")
    if _is_python(hook):
        interp.call(hook, (owner, name, value), {})
        return
    old = getattr(owner, "__dict__", {}).get(name)
    if isinstance(old, Parameter):
        interp.builder.touch(old)
    interp.journal.save(Place("attr", owner, name))
    setattr(owner, name, value)


def delete_attribute(interp: Interpreter, owner: Any, name: str) -> None:
    """``del owner.name``."""
    interp.journal.save(Place("attr", owner, name))
    delattr(owner, name)


# ---- items


def _plain_key(interp: Interpreter, owner: Tensor, key: Any) -> Any:
    key = tuple(map(_plain_item, key)) if isinstance(key, tuple) else _plain_item(key)
    return settled_key(interp, owner, key)


def _plain_item(item: Any) -> Any:
    if isinstance(item, slice):
        return slice(plain(item.start), plain(item.stop), plain(item.step))
    return map_items(item, plain) if isinstance(item, list) else plain(item)


def get_item(interp: Interpreter, owner: Any, key: Any) -> Any:
    """``owner[key]``."""
    if type(owner) in (Choice, Undef) or type(key) in (Choice, Undef):
        return interp.lift(lambda o, k: get_item(interp, o, k), owner, key)
    if isinstance(key, tuple) and any(type(k) is Choice for k in key):
        return interp.lift(lambda *ks: get_item(interp, owner, ks), *key)
    if isinstance(owner, Tensor):
        key = _plain_key(interp, owner, key)
        return index_get(owner, key) if _has_late_int(interp, key) else owner[key]
    method = getattr(type(owner), "__getitem__", None)
    if _is_python(method) and not _is_late_index(interp, key):
        return interp.call(types.MethodType(method, owner), (key,), {})
    if _is_late_index(interp, key):
        return _pick(interp, owner, key)
    if method is None and not isinstance(owner, type):
        raise interp.error(
            GraphTypeError,
            "The object is not subscriptable in graph mode",
            "DP201",
            f"{describe(owner)} has no __getitem__",
        )
    value = owner[key]
    return interp.observer.resolve(value) if isinstance(value, Tensor) else value


def _is_late_index(interp: Interpreter, key: Any) -> bool:
    return isinstance(key, Scalar) or interp.builder.is_symbolic(key)


def _pick(interp: Interpreter, owner: Any, key: Any) -> Any:
    """An entry of a static sequence by a number known at run time: one branch an entry."""
    items = _entries(interp, owner, key)
    index = plain(key)
    n = len(items)
    index = (index < 0) * n + index

    def entry(i: int) -> Any:
        if i == n:
            raise IndexError(f"{type(owner).__name__} index out of range")
        cond = interp.truth(index == i)
        return interp.fork_value(cond, lambda: items[i], lambda: entry(i + 1))

    return entry(0)


def _entries(interp: Interpreter, owner: Any, key: Any) -> list[Any]:
    items = iterate(interp, owner) if not isinstance(owner, dict) else None
    if items is None or len(items) > _MOST_ENTRIES:
        raise interp.static_needed(
            f"the key of a {type(owner).__name__} is known at run time only",
            f"only sequences of at most {_MOST_ENTRIES} entries can be indexed so",
            "use a Tensor, or a key known while staging",
        )
    return items


def set_item(interp: Interpreter, owner: Any, key: Any, value: Any) -> None:
    """``owner[key] = value``."""
    if type(owner) in (Choice, Undef) or type(key) in (Choice, Undef):
        interp.lift(lambda o, k: set_item(interp, o, k, value), owner, key)
        return
    if isinstance(owner, Tensor):
        interp.lift(lambda v: _set_in_tensor(interp, owner, key, v), value)
        return
    method = getattr(type(owner), "__setitem__", None)
    if _is_python(method):
        interp.call(types.MethodType(method, owner), (key, value), {})
        return
    writable(interp, owner)
    if _is_late_index(interp, key) and isinstance(owner, list):
        items = _entries(interp, owner, key)
        index = plain(key)
        index = (index < 0) * len(items) + index
        for i, old in enumerate(items):
            cond = interp.truth(index == i)
            owner[i] = interp.fork_value(cond, lambda: value, lambda old=old: old)
        return
    owner[key] = value


def _set_in_tensor(interp: Interpreter, owner: Tensor, key: Any, value: Any) -> None:
    writable(interp, owner)
    key = _plain_key(interp, owner, key)
    if _has_late_int(interp, key):
        _core.repoint(owner, index_set(owner, key, plain(value)))
    else:
        owner[key] = plain(value)


def _has_late_int(interp: Interpreter, key: Any) -> bool:
    """Whether a key has a 0-d index tensor, which stands for an int, without a value yet."""
    items = key if isinstance(key, tuple) else (key,)
    return any(interp.builder.is_symbolic(k) and k.ndim == 0 for k in items)


def writable(interp: Interpreter, owner: Any) -> None:
    """To be called before ``owner`` is changed in place: remembers what it held."""
    if isinstance(owner, Parameter):
        interp.builder.touch(owner)
    elif isinstance(owner, Tensor):
        interp.journal.save(Place("tensor", owner))
    elif hasattr(owner, "copy") or isinstance(owner, bytearray):
        interp.journal.save(Place("contents", owner))


def delete_item(interp: Interpreter, owner: Any, key: Any) -> None:
    """``del owner[key]``."""
    method = getattr(type(owner), "__delitem__", None)
    if _is_python(method):
        interp.call(types.MethodType(method, owner), (key,), {})
        return
    writable(interp, owner)
    del owner[key]


# ---- targets


def store(interp: Interpreter, frame: Frame, name: str, value: Any) -> None:
    """``name = value``."""
    place = frame.place(name)
    if place is None:
        frame.locals[name] = value
    else:
        interp.journal.write(place, value)


def assign(interp: Interpreter, frame: Frame, target: ast.expr, value: Any) -> None:
    """Stores into a name, attribute, item, or several of them."""
    if isinstance(target, ast.Name):
        store(interp, frame, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(interp, frame, target.elts, value)
    elif isinstance(target, ast.Attribute):
        set_attribute(interp, interp.evaluate(target.value, frame), target.attr, value)
    else:
        owner = interp.evaluate(target.value, frame)
        key = interp.evaluate(target.slice, frame)
        interp.mark_line(target, frame)
        set_item(interp, owner, key, value)


def _unpack(interp: Interpreter, frame: Frame, targets: list[ast.expr], value: Any) -> None:
    items = iterate(interp, value)
    starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    n = len(targets)
    if len(items) < n - len(starred):
        at_least = "at least " if starred else ""
        raise ValueError(
            f"not enough values to unpack (expected {at_least}{n - len(starred)}, got {len(items)})"
        )
    if not starred and len(items) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    if starred:
        i = starred[0]
        tail = len(items) - (n - i - 1)
        items = [*items[:i], frame.remember(items[i:tail]), *items[tail:]]
        targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
    for target, item in zip(targets, items, strict=True):
        assign(interp, frame, target, item)


def delete(interp: Interpreter, frame: Frame, target: ast.expr) -> None:
    """``del target``."""
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            delete(interp, frame, part)
    elif isinstance(target, ast.Attribute):
        delete_attribute(interp, interp.evaluate(target.value, frame), target.attr)
    elif isinstance(target, ast.Subscript):
        delete_item(
            interp, interp.evaluate(target.value, frame), interp.evaluate(target.slice, frame)
        )
    else:
        interp.evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), target), frame)
        place = frame.place(target.id)
        if place is None:
            del frame.locals[target.id]
        else:
            interp.journal.write(place, ABSENT)


# ---- iterables


def iterate(interp: Interpreter, value: Any) -> list[Any]:
    """The items of an iterable whose length is known now."""
    if type(value) is Undef:
        raise value.error()
    if type(value) is Choice:
        value = interp.lift(lambda v: tuple(iterate(interp, v)), value)
        if type(value) is Choice:
            raise interp.static_needed(
                "one of two iterables, by a condition known at run time",
                "their lengths differ, and the number of items is static here",
                "use a for statement",
            )
    if type(value) in (list, tuple):
        return [interp.observer.resolve(v) if isinstance(v, Tensor) else v for v in value]
    refuse_outside(interp, value)
    if isinstance(value, Scalar | LazyText):
        raise TypeError(f"'{_kind_name(value)}' object is not iterable")
    method = getattr(type(value), "__iter__", None)
    if _is_python(method) and not isinstance(value, _core.Tensor):
        return iterate(interp, interp.call(types.MethodType(method, value), (), {}))
    return [interp.observer.resolve(v) if isinstance(v, Tensor) else v for v in value]


def refuse_outside(interp: Interpreter, value: Any) -> None:
    """An iterator that was there before gives other items in each run."""
    if isinstance(value, Iterator) and interp.observer.is_known(value) and not interp.may_freeze:
        raise interp.error(
            GraphTypeError,
            "Unsupported type in Graph mode",
            "DP307",
            describe(value),
            why="an item taken while staging would be the same in every run",
            fix="take it outside and pass it as an argument, or write ms.static(...) around it "
            "to keep one value for good",
        )


def _kind_name(value: Any) -> str:
    return value.kind.__name__ if isinstance(value, Scalar) else "str"
