"""Calls: who is staged inline, who has a meaning of its own here, who runs natively."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime
import functools
import inspect
import operator
import os
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..common.grad import Differentiated, alias
from ..common.parameter import Parameter
from .access import get_attribute, refuse_outside, writable
from .builder import value_id
from .errors import GraphError, GraphTypeError, describe
from .functions import FUNCTIONS, TENSOR_METHODS, TEXT_METHODS
from .source import is_library
from .text import is_late
from .unseen import guard_reach
from .values import Choice, LazyText, Scalar, Undef, contains, map_items

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["call"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Parts of this package without branches on values or settings of a Cell: run natively.
_NATIVE = tuple(
    _PACKAGE + name
    for name in ("ops" + os.sep, "common" + os.sep, "context.py", "runtime.py", "io.py")
)
# Among those, what calls the user's functions or has conditions on values.
_STAGED = tuple(
    _PACKAGE + os.path.join(*name)
    for name in (("common", "grad.py"), ("common", "mutables.py"), ("ops", "higher.py"))
)

# Methods of list, dict, set ... that change nothing.
_PURE = frozenset(
    "copy count get index items keys values union difference intersection isdisjoint issubset "
    "issuperset symmetric_difference".split()
)
_MUTABLE = (list, dict, set, bytearray, collections.deque)

# What reads attributes of its arguments.
_LOOKING_INSIDE = (copy.copy, copy.deepcopy, vars, str, repr, format)
# What gives an object that others hold too.
_HANDING_OUT = (functools._lru_cache_wrapper, weakref.ref)

_RULED = (type, types.BuiltinFunctionType, types.WrapperDescriptorType)
_ASSIGNING = ("assign", "assign_add", "assign_sub")

# What is another value in each run, by module or by function.
_FROZEN: dict[Any, str] = {
    "time": "the time",
    "random": "a random number of Python's",
    "secrets": "a random number of Python's",
    "uuid": "a random number of Python's",
    os.urandom: "a random number of the system",
    datetime.date.today: "the time",
    datetime.datetime.now: "the time",
    datetime.datetime.today: "the time",
    input: "a line of the user's",
    open: "a file",
}


def call(interp: Interpreter, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fn(*args, **kwargs)``."""
    if type(fn) in (Choice, Undef):
        return interp.lift(lambda f: call(interp, f, args, kwargs), fn)
    rule = _rule(fn)
    if rule is not None:
        return rule(interp, args, kwargs)
    kind = type(fn)
    if kind is types.MethodType:
        return _bound(interp, fn, args, kwargs)
    if kind is types.FunctionType:
        return _function(interp, fn, args, kwargs)
    if kind is functools.partial:
        first, named = interp.partial(fn)
        return call(interp, fn.func, (*first, *args), {**named, **kwargs})
    if isinstance(fn, type):
        return _construct(interp, fn, args, kwargs)
    if isinstance(fn, _core.Jit):
        return call(interp, fn.__wrapped__, args, kwargs)
    if isinstance(fn, _core.Cell):
        name = "_call_special" if fn._is_special else "construct"
        return call(interp, get_attribute(interp, fn, name), args, kwargs)
    if kind is Differentiated and any(type(a) is Choice for a in args):
        return interp.lift(lambda *plain: call(interp, fn, plain, kwargs), *args)
    method = getattr(kind, "__call__", None)  # noqa: B004  not whether, but which
    if isinstance(method, types.FunctionType):
        return call(interp, types.MethodType(method, fn), args, kwargs)
    return native(interp, fn, args, kwargs)


def _rule(fn: Any) -> Callable[..., Any] | None:
    """The meaning of a builtin while staging."""
    return FUNCTIONS.get(fn) if isinstance(fn, _RULED) else None


def _bound(
    interp: Interpreter, fn: types.MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    owner, function = fn.__self__, fn.__func__
    if isinstance(owner, Tensor):
        rule = TENSOR_METHODS.get(function.__name__)
        if rule is not None:
            return rule(interp, owner, args, kwargs)
        _note_in_place(interp, owner, function.__name__)
    return call(interp, function, (owner, *args), kwargs)


def _note_in_place(interp: Interpreter, owner: Tensor, name: str) -> None:
    is_special = name in ("set_data", "assign_value")
    if is_special or (name.endswith("_") and not name.startswith("_")):
        writable(interp, owner)


def _function(
    interp: Interpreter, fn: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    filename = fn.__code__.co_filename
    flags = fn.__code__.co_flags
    is_native = filename.startswith(_NATIVE) and filename not in _STAGED
    if is_library(filename) and not filename.startswith(_PACKAGE):
        is_native = not any(map(is_late, (*args, *kwargs.values())))
    if flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise interp.unsupported_use("async functions", fn.__qualname__)
    if is_native:
        return native(interp, fn, args, kwargs)
    source = None if flags & inspect.CO_GENERATOR else interp.find_source(fn)
    if source is None:
        if not is_library(filename):
            guard_reach(interp, [fn, *args, *kwargs.values()])
        return native(interp, fn, args, kwargs)
    if fn.__defaults__ or fn.__kwdefaults__ or fn.__closure__:
        interp.observer.add_known(fn)
    return interp.inline(fn, source, args, kwargs)


def _only_stores(cls: type) -> bool:
    """Whether making an instance keeps the arguments as they are: dataclasses, named tuples."""
    if dataclasses.is_dataclass(cls):
        code = getattr(cls.__init__, "__code__", None)
        is_generated = code is not None and code.co_filename == "<string>"
        return is_generated and not hasattr(cls, "__post_init__")
    return cls.__bases__ == (tuple,) and hasattr(cls, "_fields")


def _construct(
    interp: Interpreter, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """An instance; an ``__init__`` written in Python is staged."""
    if _only_stores(cls):
        return cls(*args, **kwargs)
    init = cls.__init__
    has_source = isinstance(init, types.FunctionType) and not is_library(init.__code__.co_filename)
    if not has_source or type(cls).__call__ is not type.__call__ or issubclass(cls, Exception):
        return native(interp, cls, args, kwargs)
    if interp.find_source(init) is None:
        return native(interp, cls, args, kwargs)
    if cls.__new__ is object.__new__:
        made = cls.__new__(cls)
    else:
        made = cls.__new__(cls, *args, **kwargs)
    if isinstance(made, cls):
        call(interp, init, (made, *args), kwargs)
    return made


# ---- native calls


def _plain(interp: Interpreter, value: Any) -> Any:
    """A value as code that knows nothing of staging takes it."""
    if isinstance(value, Scalar):
        return value.tensor
    if isinstance(value, Tensor):
        return interp.observer.resolve(value)
    if isinstance(value, list | tuple) or type(value) is dict:
        interp.may_read(value)
        return map_items(value, lambda item: _plain(interp, item))
    return value


def _choices(value: Any) -> bool:
    """Whether there is a choice in a value or in the items of its containers."""
    if isinstance(value, list | tuple):
        return any(map(_choices, value))
    if type(value) is dict:
        return any(map(_choices, value.values()))
    return type(value) in (Choice, Undef)


def native(interp: Interpreter, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls real code, once for each side of every choice among the arguments."""
    owner = getattr(fn, "__self__", None)
    if type(owner) is list and interp.grow(owner, fn.__name__, args):
        return None
    if isinstance(owner, _MUTABLE) and fn.__name__ not in _PURE:
        writable(interp, owner)  # items may be anything: they stay as they are
        return fn(*args, **kwargs)
    if isinstance(owner, str) and fn.__name__ in TEXT_METHODS:
        return TEXT_METHODS[fn.__name__](interp, owner, args, kwargs)
    if isinstance(owner, Tensor):
        rule = TENSOR_METHODS.get(fn.__name__)
        if rule is not None:
            return rule(interp, owner, args, kwargs)
        _note_in_place(interp, owner, fn.__name__)
    if any(map(_choices, args)) or _choices(kwargs):
        names = list(kwargs)
        return _spread(interp, fn, args, names, [*args, *kwargs.values()])
    return _run(interp, fn, args, kwargs)


def _spread(
    interp: Interpreter, fn: Any, args: tuple[Any, ...], names: list[str], values: list[Any]
) -> Any:
    """A native call with choices, possibly inside of containers."""

    def gather(value: Any, found: list[Any]) -> None:
        value = interp.resolve(value)
        if type(value) in (Choice, Undef):
            found.append(value)
        elif isinstance(value, list | tuple):
            for item in value:
                gather(item, found)
        elif type(value) is dict:
            for item in value.values():
                gather(item, found)

    def place(value: Any, taken: list[Any]) -> Any:
        value = interp.resolve(value)
        if type(value) in (Choice, Undef):
            return taken.pop(0)
        return map_items(value, lambda item: place(item, taken))

    found: list[Any] = []
    for value in values:
        gather(value, found)

    def run(*taken: Any) -> Any:
        rest = list(taken)
        made = [place(value, rest) for value in values]
        split = len(args)
        return call(interp, fn, tuple(made[:split]), dict(zip(names, made[split:], strict=True)))

    return interp.lift(run, *found)


def _run(interp: Interpreter, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not interp.may_freeze:
        _refuse_frozen(interp, fn)
        for value in args:
            refuse_outside(interp, value)
    if getattr(fn, "__name__", "") in _ASSIGNING and isinstance(args[0], Tensor):
        writable(interp, args[0])
    late = [v for v in (*args, *kwargs.values()) if is_late(v)]
    plain_args = tuple(_plain(interp, a) for a in args)
    plain_kwargs = {k: _plain(interp, v) for k, v in kwargs.items()}
    if late and any(isinstance(v, LazyText) for v in late) and not isinstance(fn, type):
        raise interp.static_needed(
            "a text with values known at run time",
            f"{getattr(fn, '__name__', fn)} needs the characters now",
        )
    for value in (*args, *kwargs.values()):
        if isinstance(value, _MUTABLE) and not is_library_op(fn):
            writable(interp, value)
    if isinstance(fn, operator.attrgetter) or any(fn is f for f in _LOOKING_INSIDE):
        guard_reach(interp, [*args], whole=True)
    shown = [] if isinstance(fn, _core.Op) else _shown((*plain_args, *plain_kwargs.values()))
    try:
        made = fn(*plain_args, **plain_kwargs)
    except GraphError:
        raise
    except TypeError as error:
        if not late:
            raise
        raise _needs_numbers(interp, fn, late, error) from error
    _note_written(interp, shown)
    if isinstance(fn, _HANDING_OUT) and not is_late(made):
        interp.observer.add_outside(made)
    return made


def _shown(args: tuple[Any, ...]) -> list[tuple[Tensor, Tensor]]:
    """Tensors of a call, also those in containers, each with a handle on what it shows before."""
    found: list[tuple[Tensor, Tensor]] = []
    for value in args:
        if isinstance(value, Tensor):
            if not isinstance(value, Parameter):
                found.append((value, alias(value)))
        elif isinstance(value, list | tuple):
            found += _shown(tuple(value))
        elif type(value) is dict:
            found += _shown(tuple(value.values()))
    return found


def _note_written(interp: Interpreter, shown: list[tuple[Tensor, Tensor]]) -> None:
    """Tensors that show another value after a native call were written by it."""
    for tensor, before in shown:
        if value_id(tensor) != value_id(before):
            now = alias(tensor)
            _core.repoint(tensor, before)
            writable(interp, tensor)
            _core.repoint(tensor, now)


def _refuse_frozen(interp: Interpreter, fn: Any) -> None:
    module = getattr(fn, "__module__", None) or type(getattr(fn, "__self__", None)).__module__
    if module.startswith("numpy.random"):
        what = "a random number of NumPy's"
    else:
        what = _FROZEN.get(fn if isinstance(fn, _RULED) else None) or _FROZEN.get(module)
    if what is None or isinstance(fn, type):
        return
    raise interp.error(
        GraphTypeError,
        "Unsupported type in Graph mode",
        "DP307",
        getattr(fn, "__name__", str(fn)),
        why=f"{what} read while staging would be the same in every run",
        fix="read it outside and pass it as an argument, or write ms.static(...) around it "
        "to keep one value for good",
    )


def _needs_numbers(
    interp: Interpreter, fn: Any, late: list[Any], error: TypeError
) -> BaseException:
    """What to say when a native call failed on values known at run time only."""
    name = getattr(fn, "__qualname__", getattr(fn, "__name__", str(fn)))
    scalar = next((v for v in late if contains(v, Scalar)), None)
    if scalar is not None:
        return interp.static_needed(
            "a number known only at run time",
            f"{name} needs it while staging ({error})",
            "pass it as a static argument",
        )
    if "compiled function" not in str(error):
        return error
    is_python = isinstance(fn, types.FunctionType) and not is_library(fn.__code__.co_filename)
    why = f"{name} needs the numbers while the graph is still being built"
    return interp.error(
        GraphTypeError,
        "Unsupported type in Graph mode",
        "DP308" if is_python else "DP301",
        f"{describe(late[0])}, known only at run time",
        why=f"there is no Python source for '{name}', and {why}" if is_python else why,
        fix="define it in a file"
        if is_python
        else "use an op of ms.ops, or do this outside of the function",
    )


def is_library_op(fn: Any) -> bool:
    """Whether a callable is an op or a function of this package, which change no argument but
    tensors."""
    if isinstance(fn, _core.Op):
        return True
    code = getattr(fn, "__code__", None)
    return code is not None and code.co_filename.startswith(_PACKAGE)
