"""``jit``: a function that is compiled once for each kind of arguments, and its cache."""

from __future__ import annotations

import functools
import itertools
import sys
import time
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from ..stage.lengths import Counted, Lengths, known_length
from ..stage.result import flatten
from . import expected, mode
from .signature import Signature, describe, describe_all, same_objects
from .sized import Sized
from .table import Table

if TYPE_CHECKING:
    from .entry import Entry

__all__ = ["JitFunction", "compiled_cell", "compiled_gradient", "jit"]


@dataclass(frozen=True)
class Options:
    """What jit was told; see there."""

    capture_mode: str = "ast"
    cache_limit: int = 16
    on_cache_limit: str = "warn"
    dynamic: bool | str = "auto"
    asked: expected.Expected | None = None
    static: Sequence[int | str] = ()
    level: str = ""


DEFAULTS = Options()

_MOST_COUNTS = 64  # runs of one call that find a length out

# What counts rounds one by one: many compiles of one call.
_COUNTING = "a length that only a run can tell is at least"

_STORM = 8  # compiles of one function within
_STORM_SECONDS = 60.0


class JitFunction(_core.Jit):
    """A compiled function; ``jit`` makes it.

    Calls with arguments of the same dtypes, shapes and static values run one captured graph.
    Whatever else the function reads (attributes, globals, closure) is compared before each call.
    """

    def __init__(self, fn: Callable[..., Any], options: Options = DEFAULTS) -> None:
        self._fn = fn
        self._options = options
        self._own = Table()
        self._hits = 0
        self._compiled: list[tuple[float, str]] = []
        self._warned: set[str] = set()
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
            found = compiled.setdefault(self, JitFunction(method, self._options))
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
        for _ in range(_MOST_COUNTS):
            if entry is None:
                return self._fn(*args, **kwargs)
            try:
                result = entry.run(signature.leaves)
                break
            except Counted as counted:
                entry = self._recount(table, signature, entry, counted, args, kwargs)
        else:
            raise RuntimeError(f"{self._name}: the lengths that it counts change from run to run")
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
    ) -> tuple[Table, Signature, Entry | None]:
        """What runs a call with these arguments (None: it shall run eagerly), with its table and
        signature."""
        expected.refuse_placeholders(args, kwargs)
        asked = self._asked()
        if asked is not None:
            asked.check(self._name, args)
        if self._options.static:
            _check_static(self._name, self._options.static, args, kwargs)
        table = self._table(args)
        signature = self._sign(table, args, kwargs)
        entry = table.find(signature)
        if entry is None:
            with table.lock:
                entry = table.find(signature) or self._enter(table, args, kwargs)
        else:
            self._hits += 1
        return table, signature, entry

    def _asked(self) -> expected.Expected | None:
        """What input_signature or set_inputs say of the arguments."""
        if self._options.asked is None and isinstance(self._fn, _core.Cell):
            return self._fn.__dict__.get("_inputs")
        return self._options.asked

    @staticmethod
    def _sign(table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        return Signature(args, kwargs, _core.grad_enabled(), table.numbers, table.free)

    def _table(self, args: tuple[Any, ...]) -> Table:
        """Versions for a Cell as first argument are kept by that Cell."""
        if not args or not isinstance(args[0], _core.Cell):
            return self._own
        tables = args[0].__dict__.setdefault("_compiled", {})
        return tables.get(self) or tables.setdefault(self, Table())

    # ---- compiling

    def _enter(self, table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry | None:
        """A new version, or one for any value of a float or size that turns out to change. None:
        there are enough, and the call shall run eagerly."""
        signature = self._learn(table, args, kwargs)
        plain = Signature(args, kwargs, _core.grad_enabled(), table.numbers)
        found = table.find(signature)
        if found is not None:
            return found
        if table.differs_by_size(signature):
            table.bind_sizes("it does something else for each size")
            signature = self._sign(table, args, kwargs)
        reason = self._reason(table, signature, plain.key)
        if len(table) >= self._options.cache_limit and not self._go_on(reason):
            return None
        if signature.sizes:
            entry = self._enter_any_size(table, signature, args, kwargs, reason)
            if entry is not None:
                return entry
            signature = self._sign(table, args, kwargs)
        if not signature.numbers:
            return self._compile(table, signature, args, kwargs, reason)
        try:
            return self._compile(table, signature, args, kwargs, reason)
        except (TypeError, ValueError, RuntimeError):  # the value is needed, or the call is wrong
            table.fix_numbers()
            return self._compile(table, self._sign(table, args, kwargs), args, kwargs, reason)

    def _learn(self, table: Table, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
        """The signature, with what a call unlike all before shows to change."""
        options, signature = self._options, self._sign(table, args, kwargs)
        if options.capture_mode == "ast" and not options.static:
            table.learn_numbers(signature.leaves)
        if options.dynamic is not False:
            table.learn_sizes(signature.leaves, options.dynamic is True)
        asked = self._asked()
        for i, axis in asked.free_axes() if asked is not None else ():
            table.release(len(flatten(args[:i], {})), [axis])
        return self._sign(table, args, kwargs)

    def _enter_any_size(
        self,
        table: Table,
        signature: Signature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reason: str,
    ) -> Entry | None:
        """A version for any size; None: there can be none, sizes count by value from now on."""
        try:
            return self._compile(table, signature, args, kwargs, reason, for_any_size=True)
        except Exception as error:  # the sizes are needed, or the call is wrong
            free, table.free = table.free, {}
            plain = self._sign(table, args, kwargs)
            table.free = free
            entry = self._compile(table, plain, args, kwargs, reason)
            table.bind_sizes(f"{type(error).__name__}: {error}".split("\n")[0])
            return entry

    def _compile(
        self,
        table: Table,
        signature: Signature,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reason: str,
        *,
        for_any_size: bool = False,
        lengths: Lengths = (),
    ) -> Entry:
        from .capture import capture

        start = time.perf_counter()
        with mode.at_level(self._options.level):
            entry, again, why = capture(
                self._options.capture_mode,
                self._fn,
                args,
                kwargs,
                signature,
                for_any_size,
                lengths,
            )
        mode.note_compiled()
        if why is not None:
            table.bind_sizes(why)
            signature = self._sign(table, args, kwargs)
        version = Sized(entry, signature, again)
        table.add(signature.key, version, self._options.cache_limit)
        self._note(reason, time.perf_counter() - start)
        return entry

    def _recount(
        self,
        table: Table,
        signature: Signature,
        entry: Entry,
        counted: Counted,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Entry | None:
        """The version for lengths as a run has counted them; None: the call shall run eagerly."""
        known = (entry.staged.lengths or ())[: counted.event]
        lengths = (*known, *[None] * (counted.event - len(known)), counted.count)
        with table.lock:
            found = table.find_length(signature, lengths)
            if found is not None:
                return found
            if known_length(entry.staged.lengths, counted.event) is None:
                table.drop(signature.key, entry)  # it did nothing but count
            reason = f"{_COUNTING} {-counted.count}"
            if counted.count >= 0:
                reason = f"a length that only a run can tell is {counted.count}"
            if len(table) >= self._options.cache_limit and not self._go_on(reason):
                return None
            return self._compile(table, signature, args, kwargs, reason, lengths=lengths)

    def _go_on(self, reason: str) -> bool:
        """What happens when there are as many versions as cache_limit allows; False: eager."""
        limit, choice = self._options.cache_limit, self._options.on_cache_limit
        text = f"{self._name} has cache_limit={limit} versions and needs another one: {reason}"
        if choice == "error":
            raise RuntimeError(text)
        what = "the least recently used one goes" if choice == "warn" else "the call runs eagerly"
        if "limit" not in self._warned:
            self._warned.add("limit")
            warnings.warn(f"{text}; {what}", RuntimeWarning, stacklevel=5)
        return choice == "warn"

    def _reason(self, table: Table, signature: Signature, key: Any) -> str:
        old, table.latest = table.latest, key
        if old is None or not table.versions:
            return "first call"
        if signature.key in table.versions:
            why = table.versions[signature.key][0].why_not(signature)
            return "; ".join(why) or "a guard does not hold"
        if old[1:] != key[1:]:
            return "gradients are recorded now" if key[1] else "nothing is recorded now"
        if len(old[0]) != len(key[0]):
            return f"{len(key[0])} arguments instead of {len(old[0])}"
        changes = [
            f"argument {i}: {describe(a)} -> {describe(b)}"
            for i, (a, b) in enumerate(zip(old[0], key[0], strict=True))
            if a != b
        ]
        return "; ".join(changes) + (", any size from now on" if signature.sizes else "")

    def _note(self, reason: str, seconds: float) -> None:
        now = time.monotonic()
        self._compiled.append((now, reason))
        if mode.logs("recompiles"):
            print(
                f"diptych: compiled {self._name} in {seconds * 1e3:.1f} ms: {reason}",
                file=sys.stderr,
            )
        recent = [
            why
            for when, why in self._compiled
            if now - when < _STORM_SECONDS and not why.startswith(_COUNTING)
        ]
        if len(recent) >= _STORM and "storm" not in self._warned:
            self._warned.add("storm")
            reasons = "\n".join(f"  {why}" for why in recent[-3:])
            warnings.warn(
                f"{self._name} was compiled {len(recent)} times within a minute; the latest "
                f"reasons:\n{reasons}",
                RuntimeWarning,
                stacklevel=6,
            )

    # ---- looking at it

    def cache_info(self) -> dict[str, int]:
        """``hits`` of calls, ``compiles``, ``entries`` kept, at most ``limit``; ``sizes``: further
        graphs made from entries for new sizes, without compiling."""
        return {
            "hits": self._hits + self._remembered,
            "compiles": len(self._compiled),
            "entries": len(self._own),
            "limit": self._options.cache_limit,
            "sizes": sum(version.made for _, version in self._own),
        }

    def explain(self) -> str:
        """Why the function was compiled each time, and the entries there are."""
        info = self.cache_info()
        lines = [f"{self._name}: {info['compiles']} compiled, {info['hits']} calls from the cache"]
        lines.extend(f"  compiled: {why}" for _, why in self._compiled)
        if self._own.bound_because is not None:
            lines.append(f"  sizes count by value: {self._own.bound_because}")
        for key, version in self._own:
            arguments = describe_all(key[0])
            e = version.latest
            lines.append(
                f"  entry ({arguments}){' with gradient' if key[1] else ''}: "
                f"{e.staged.graph.nodes} nodes, {len(e.staged.reads)} guards"
            )
            lines.extend(f"    {line}" for line in version.describe())
            lines.append(f"    {_describe_plan(e.staged.graph)}")
        return "\n".join(lines)

    def graphs(self) -> list[str]:
        """The text of each entry's graph, after the passes; sizes that may be any are s0, s1 ...

        >>> import diptych as ms
        >>> f = ms.jit(lambda x: ms.ops.concat([x, x]), dynamic=True)
        >>> y = f(ms.Tensor([[1.0, 2.0, 3.0]]))
        >>> print(f.graphs()[0])  # doctest: +ELLIPSIS
        graph(%1: f32[s0, s1]) {
          %2 = concat(%1, %1) ...f32[2*s0, s1]...
        """
        return [version.text() for _, version in self._own]

    def memory_plan(self, *args: Any, **kwargs: Any) -> list[dict[str, int]]:
        """The memory that runs will need, known before they run; with arguments the function is
        compiled for them first, and nothing is run.

        For each entry (and each of its sizes) that has a plan, in bytes: the ``peak``, which is the
        ``arena`` that its values share and its ``results``; the ``floor``, below which no arena for
        the same order gets; and the numbers of ``buffers`` and ``steps``.

        >>> import diptych as ms
        >>> f = ms.jit(lambda x: ms.ops.tanh(ms.ops.softmax(x, -1)) + 1)
        >>> f.memory_plan(ms.Tensor([[1.0] * 1024]))[0]["peak"]
        8192
        """
        if args or kwargs:
            table = self._table(args)
            with table.lock:
                if table.find(self._sign(table, args, kwargs)) is None:
                    self._enter(table, args, kwargs)
        plans = [e.staged.graph.memory_plan() for _, version in self._own for e in version]
        return [plan for plan in plans if plan is not None]

    def clear_cache(self) -> None:
        """Drops all entries."""
        self._own = Table()
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
    on_cache_limit: str = "warn",
    dynamic: bool | str = "auto",
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
        on_cache_limit: then "warn" once, raise an "error", or run further ones "eager"ly.
        dynamic: sizes that one version serves: "auto": those that come again with another value;
            True: all; False: none.
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
    _check_option("on_cache_limit", on_cache_limit, ("warn", "error", "eager"))
    _check_option("dynamic", dynamic, ("auto", True, False))
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
            on_cache_limit=on_cache_limit,
            dynamic=dynamic,
        )
    if not callable(fn):
        raise TypeError(f"jit: fn is of type {type(fn).__name__}; it must be callable")
    if mode == "pynative" or isinstance(fn, JitFunction):
        return fn
    static: tuple[int | str, ...] = ()
    if static_argnums is not None or static_argnames is not None:
        static = _static_of(fn, static_argnums, static_argnames)
    asked = None if input_signature is None else expected.Signed(input_signature)
    return JitFunction(
        fn, Options(capture_mode, cache_limit, on_cache_limit, dynamic, asked, static, jit_level)
    )


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
