"""``jit``: a function that is compiled once for each kind of arguments, and its cache."""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import time
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..common.mutables import plain_type
from . import expected, mode
from .signature import Signature, describe, same_objects

if TYPE_CHECKING:
    from .entry import Entry

__all__ = ["JitFunction", "compiled_cell", "compiled_gradient", "jit"]

_STORM = 8  # compiles of one function within
_STORM_SECONDS = 60.0


class _Table:
    """Entries by key, least recently used first; several of one key differ in their guards.

    A mutable number is an input; a float argument that comes with a second value (a learning rate)
    is one from then on, unless the function needs its value while it is compiled.
    """

    def __init__(self) -> None:
        self.entries: OrderedDict[Any, list[Entry]] = OrderedDict()
        self.lock = threading.RLock()
        self.numbers: frozenset[int] = frozenset()  # leaves that are inputs
        self._floats: dict[int, float] = {}  # those not seen to change, by leaf
        self._is_fixed = False

    def learn(self, leaves: Sequence[Any]) -> bool:
        """Looks at the numbers of a new call; whether one of them is an input only now."""
        if self._is_fixed:
            return False
        changed = frozenset(
            i
            for i, leaf in enumerate(leaves)
            if plain_type(leaf)
            or (type(leaf) is float and self._floats.setdefault(i, leaf) != leaf)
        )
        is_new = not changed <= self.numbers
        self.numbers |= changed
        return is_new

    def fix_numbers(self) -> None:
        """Numbers count by value from now on."""
        self.numbers, self._is_fixed = frozenset(), True

    def find(self, key: Any) -> Entry | None:
        """The entry of this key whose guards hold."""
        for entry in self.entries.get(key, ()):
            if entry.holds():
                self.entries.move_to_end(key)
                return entry
        return None

    @property
    def count(self) -> int:
        """Number of entries."""
        return sum(map(len, self.entries.values()))

    def add(self, key: Any, entry: Entry, limit: int) -> None:
        """Puts an entry first among those of its key; drops the oldest beyond the limit."""
        self.entries.setdefault(key, []).insert(0, entry)
        self.entries.move_to_end(key)
        while self.count > limit:
            oldest = next(iter(self.entries.values()))
            oldest.pop()
            if not oldest:
                self.entries.popitem(last=False)


class JitFunction(_core.Jit):
    """A compiled function; ``jit`` makes it.

    Calls with arguments of the same dtypes, shapes and static values run one captured graph.
    Whatever else the function reads (attributes, globals, closure) is compared before each call.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        capture_mode: str = "ast",
        cache_limit: int = 16,
        input_signature: expected.Expected | None = None,
        static: Sequence[int | str] = (),
        level: str = "",
    ) -> None:
        self._fn = fn
        self._static = tuple(static)
        self._level = level
        self._capture_mode = capture_mode
        self._limit = cache_limit
        self._signature = input_signature
        self._own = _Table()
        self._hits = 0
        self._compiled: list[tuple[float, str]] = []
        self._has_warned = False
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method: each Cell has a compiled function of its own, which goes when it goes."""
        if instance is None:
            return self
        if not isinstance(instance, _core.Cell):
            return types.MethodType(self, instance)
        compiled = instance.__dict__.setdefault("_compiled", {})
        found = compiled.get(self)
        if found is None:
            method = types.MethodType(self._fn, instance)
            options = self._capture_mode, self._limit, self._signature, self._static, self._level
            made = JitFunction(method, *options)
            found = compiled.setdefault(self, made)
        return found

    def __repr__(self) -> str:
        return f"<jit of {self._name}>"

    @property
    def _name(self) -> str:
        return getattr(self._fn, "__qualname__", type(self._fn).__name__)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """A call unlike those that the C base remembers."""
        if not mode.is_on():
            return self._fn(*args, **kwargs)
        table, signature, entry = self._find(args, kwargs)
        result = entry.run(signature.leaves)
        memo = None
        if not kwargs and table is self._own:
            memo = entry.memo(args, signature.leaves)
        if memo is not None:
            self._remember(args, entry, *memo)
        return result

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles the function for arguments like these, if it is not yet, without running it.

        >>> import diptych as ms
        >>> f = ms.jit(lambda x: x * 2)
        >>> f.compile(ms.Tensor([1.0]))
        >>> f.cache_info()["compiles"]
        1
        """
        self._find(args, kwargs)

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_Table, Signature, Entry]:
        """The entry for these arguments, with the table it is in and their leaves."""
        asked = self._signature
        if asked is None and isinstance(self._fn, _core.Cell):
            asked = self._fn.__dict__.get("_inputs")
        if asked is not None:
            asked.check(self._name, args)
        expected.refuse_placeholders(args, kwargs)
        if self._static:
            _check_static(self._name, self._static, args, kwargs)
        table = self._table(args)
        signature = self._sign(table, args, kwargs)
        entry = table.find(signature.key)
        if entry is None:
            with table.lock:
                entry = table.find(signature.key) or self._enter(table, args, kwargs)
        else:
            self._hits += 1
        return table, signature, entry

    @staticmethod
    def _sign(table: _Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        return Signature(args, kwargs, _core.grad_enabled(), table.numbers)

    def _table(self, args: tuple[Any, ...]) -> _Table:
        """Entries for a Cell as first argument are kept by that Cell."""
        if not args or not isinstance(args[0], _core.Cell):
            return self._own
        tables = args[0].__dict__.setdefault("_compiled", {})
        return tables.get(self) or tables.setdefault(self, _Table())

    # ---- compiling

    def _enter(self, table: _Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        """A new entry, or the one for any value of a float that turns out to change."""
        signature = self._sign(table, args, kwargs)
        if self._capture_mode == "ast" and not self._static and table.learn(signature.leaves):
            signature = self._sign(table, args, kwargs)
            found = table.find(signature.key)
            if found is not None:
                return found
        if not signature.numbers:
            return self._compile(table, signature, args, kwargs)
        try:
            return self._compile(table, signature, args, kwargs)
        except (TypeError, ValueError, RuntimeError):  # the value is needed, or the call is wrong
            table.fix_numbers()
            return self._compile(table, self._sign(table, args, kwargs), args, kwargs)

    def _compile(
        self, table: _Table, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Entry:
        from .capture import capture

        reason = self._reason(table, signature.key)
        start = time.perf_counter()
        with mode.at_level(self._level):
            entry = capture(self._capture_mode, self._fn, args, kwargs, signature)
        mode.note_compiled()
        table.add(signature.key, entry, self._limit)
        self._note(reason, time.perf_counter() - start)
        return entry

    def _reason(self, table: _Table, key: Any) -> str:
        if not table.entries:
            return "first call"
        if key in table.entries:
            return "; ".join(table.entries[key][0].why_not()) or "a guard does not hold"
        old = next(reversed(table.entries))
        if old[1:] != key[1:]:
            return "gradients are recorded now" if key[1] else "nothing is recorded now"
        if len(old[0]) != len(key[0]):
            return f"{len(key[0])} arguments instead of {len(old[0])}"
        return "; ".join(
            f"argument {i}: {describe(a)} -> {describe(b)}"
            for i, (a, b) in enumerate(zip(old[0], key[0], strict=True))
            if a != b
        )

    def _note(self, reason: str, seconds: float) -> None:
        now = time.monotonic()
        self._compiled.append((now, reason))
        if mode.logs("recompiles"):
            print(
                f"diptych: compiled {self._name} in {seconds * 1e3:.1f} ms: {reason}",
                file=sys.stderr,
            )
        recent = [why for when, why in self._compiled if now - when < _STORM_SECONDS]
        if len(recent) >= _STORM and not self._has_warned:
            self._has_warned = True
            reasons = "\n".join(f"  {why}" for why in recent[-3:])
            warnings.warn(
                f"{self._name} was compiled {len(recent)} times within a minute; the latest "
                f"reasons:\n{reasons}",
                RuntimeWarning,
                stacklevel=6,
            )

    # ---- looking at it

    def cache_info(self) -> dict[str, int]:
        """``hits`` of calls, ``compiles``, ``entries`` kept, at most ``limit``."""
        return {
            "hits": self._hits + self._remembered,
            "compiles": len(self._compiled),
            "entries": self._own.count,
            "limit": self._limit,
        }

    def explain(self) -> str:
        """Why the function was compiled each time, and the entries there are."""
        info = self.cache_info()
        lines = [f"{self._name}: {info['compiles']} compiled, {info['hits']} calls from the cache"]
        lines.extend(f"  compiled: {why}" for _, why in self._compiled)
        for key, entries in self._own.entries.items():
            arguments = ", ".join(map(describe, key[0]))
            for e in entries:
                lines.append(
                    f"  entry ({arguments}){' with gradient' if key[1] else ''}: "
                    f"{e.staged.graph.nodes} nodes, {len(e.staged.reads)} guards"
                )
                lines.append(f"    {_describe_plan(e.staged.graph)}")
        return "\n".join(lines)

    def memory_plan(self, *args: Any, **kwargs: Any) -> list[dict[str, int]]:
        """The memory that runs will need, known before they run; with arguments the function is
        compiled for them first, and nothing is run.

        For each entry that has a plan, in bytes: the ``peak``, which is the ``arena`` that its
        values share and its ``results``; the ``floor``, below which no arena for the same order
        gets; and the numbers of ``buffers`` and ``steps``.

        >>> import diptych as ms
        >>> f = ms.jit(lambda x: ms.ops.tanh(ms.ops.softmax(x, -1)) + 1)
        >>> f.memory_plan(ms.Tensor([[1.0] * 1024]))[0]["peak"]
        8192
        """
        if args or kwargs:
            table = self._table(args)
            with table.lock:
                if table.find(self._sign(table, args, kwargs).key) is None:
                    self._enter(table, args, kwargs)
        plans = [e.staged.graph.memory_plan() for es in self._own.entries.values() for e in es]
        return [plan for plan in plans if plan is not None]

    def clear_cache(self) -> None:
        """Drops all entries."""
        self._own = _Table()
        self._forget()


def _describe_plan(graph: Any) -> str:
    """What a call runs: "plan: 3 steps, 128 bytes of memory: dense, relu x2"."""
    plan, calls = graph.memory_plan(), graph.plan_calls()
    if plan is None:
        return "no plan: it runs node by node"
    steps = ", ".join(
        name if (n := len(list(run))) == 1 else f"{name} x{n}"
        for name, run in itertools.groupby(calls)
    )
    text = f"plan: {plan['steps']} steps, {plan['peak']} bytes of memory: {steps}"
    for size, tasks in graph.plan_forks():
        text += f"; {size} steps run as {tasks} tasks"
    return text


# ---- static arguments


def _static_of(fn: Callable[..., Any], numbers: Any, names: Any) -> tuple[int | str, ...]:
    """static_argnums and static_argnames as positions and names."""
    import inspect

    numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers or ())
    names = (names,) if isinstance(names, str) else tuple(names or ())
    try:
        known = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):
        return (*numbers, *names)
    for name in names:
        if name not in known:
            raise ValueError(f"jit: static_argnames holds {name!r}; the arguments are {known}")
    for i in numbers:
        if not isinstance(i, int) or i < 0:
            raise ValueError(f"jit: static_argnums holds {i!r}; it must be an int of at least 0")
    return (
        *numbers,
        *names,
        *(known.index(n) for n in names),
        *(known[i] for i in numbers if i < len(known)),
    )


def _check_static(
    name: str, static: tuple[int | str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    for which in static:
        value = kwargs.get(which) if isinstance(which, str) else dict(enumerate(args)).get(which)
        if isinstance(value, Tensor):
            raise TypeError(
                f"{name}: argument {which} is static, but a Tensor was given; static arguments "
                "count by their value"
            )


# ---- making one


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    mode: str = "graph",
    capture_mode: str = "ast",
    input_signature: Sequence[Any] | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    cache_limit: int = 16,
    fullgraph: bool = True,
    jit_level: str = "",
    backend: str = "",
) -> Any:
    """Compiles a function (or method) at its first call; a decorator with or without options.

    Args:
        fn: the function.
        mode: "graph"; "pynative" gives the function back unchanged.
        capture_mode: "ast": the source is staged, with branches and loops on tensors; "trace": the
            function is called once, on symbolic tensors, which needs no source.
        input_signature: a Tensor (or None) for each argument: calls of another dtype or shape are
            a TypeError instead of a new version. ``Tensor((32, 3), float32)`` stands for the shape
            (32, 3), ``Tensor(shape=[None, 3], dtype=float32)`` for any number of rows.
        static_argnums, static_argnames: arguments that are never tensors; all numbers of the call
            then count by value, also floats that change.
        cache_limit: versions kept, the least recently used go first.
        fullgraph: True: a function is always one graph.
        jit_level: "O0": the bits of eager mode; "O1": formulas written out (GELU, softmax, layer
            norm, attention, cross-entropy) run as the op that computes them at once, which rounds
            differently; "": as ``set_context(jit_level=...)`` says when it is compiled.
        backend: "" or "ms_backend": graphs run in this process; there is no other backend.

    Raises:
        ValueError, TypeError: an option has an illegal value.

    >>> import diptych as ms
    >>> @ms.jit
    ... def f(x, y):
    ...     return ms.ops.relu(x + y)
    >>> f(ms.Tensor([1.0, -3.0]), ms.Tensor([1.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    _check_option("mode", mode, ("graph", "pynative"))
    _check_option("capture_mode", capture_mode, ("ast", "trace"))
    _check_option("jit_level", jit_level, ("", "O0", "O1"))
    _check_option("fullgraph", fullgraph, (True,))
    _check_option("backend", backend, ("", "ms_backend"))
    if not isinstance(cache_limit, int) or cache_limit < 1:
        raise ValueError(f"jit: cache_limit is {cache_limit!r}; it must be an int of at least 1")
    if fn is None:
        return functools.partial(
            jit,
            mode=mode,
            capture_mode=capture_mode,
            input_signature=input_signature,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            cache_limit=cache_limit,
            jit_level=jit_level,
        )
    if not callable(fn):
        raise TypeError(f"jit: fn is of type {type(fn).__name__}; it must be callable")
    if mode == "pynative" or isinstance(fn, JitFunction):
        return fn
    static: tuple[int | str, ...] = ()
    if static_argnums is not None or static_argnames is not None:
        static = _static_of(fn, static_argnums, static_argnames)
    asked = None if input_signature is None else expected.Signed(input_signature)
    return JitFunction(fn, capture_mode, cache_limit, asked, static, jit_level)


def _check_option(name: str, value: Any, legal: tuple[Any, ...]) -> None:
    if value not in legal:
        raise ValueError(f"For 'jit', '{name}' must be one of {list(legal)}, but got {value!r}.")


# ---- GRAPH_MODE


def compiled_cell(cell: Any) -> JitFunction:
    """What calls of a Cell go through in GRAPH_MODE."""
    tables = cell.__dict__.setdefault("_compiled", {})
    found = tables.get("call")
    if found is None:
        found = tables.setdefault("call", JitFunction(cell))
    return found


_gradients: OrderedDict[Any, JitFunction] = OrderedDict()
_MOST_GRADIENTS = 64


def compiled_gradient(kind: str, fn: Any, options: tuple[Any, ...], call: Any) -> JitFunction:
    """The compiled form of ``call``, which differentiates ``fn``; the same one for the same
    function (or another closure of the same code over the same objects) and options."""
    key = (kind, _function_key(fn), *map(_option_key, options))
    found = _gradients.get(key)
    if found is None:
        found = _gradients[key] = JitFunction(call)
        if len(_gradients) > _MOST_GRADIENTS:
            _gradients.popitem(last=False)
    _gradients.move_to_end(key)
    return found


def _function_key(fn: Any) -> Any:
    if not isinstance(fn, types.FunctionType):
        return same_objects([fn])
    try:
        held = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # a cell is still empty
        return same_objects([fn])
    return (
        *same_objects([fn.__code__, fn.__globals__, *(fn.__defaults__ or ())]),
        *same_objects(held),
    )


def _option_key(option: Any) -> Any:
    if isinstance(option, list | tuple):
        return same_objects(option) if any(isinstance(o, Tensor) for o in option) else tuple(option)
    return same_objects([option]) if isinstance(option, Tensor) else option
