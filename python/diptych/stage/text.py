"""Things that happen at run time with values of the graph: printing, raising, texts.

``pack`` takes a value apart into tensors, which become inputs of a host call, and a function that
puts the same value together from the concrete ones.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._core import Tensor
from .builder import Builder
from .result import as_tensor, number_kind
from .values import Choice, LazyText, Scalar, Undef, contains, map_items

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["format_value", "is_late", "joined_text", "pack", "print_later", "raiser"]

# Builds a value from the concrete tensors of a run.
Build = Callable[[Sequence[Tensor]], Any]

_RUN_TIME = (Scalar, Choice, LazyText, _core.Size)


def is_late(value: Any) -> bool:
    """Whether a value, or something in it, is known at run time only."""
    if isinstance(value, list | tuple):
        return any(is_late(v) for v in value)
    if type(value) is dict:
        return any(is_late(v) for v in value.values())
    return isinstance(value, _RUN_TIME) or Builder.is_symbolic(value)


def pack(value: Any, tensors: list[Tensor]) -> Build:
    """Appends the tensors in ``value`` to ``tensors``; returns how to build it in a run."""
    if not is_late(value):
        return lambda run: value
    if isinstance(value, Tensor):
        index = len(tensors)
        tensors.append(value)
        return lambda run: run[index]
    if isinstance(value, _core.Size):
        value = Scalar(as_tensor(value), number_kind(value))
    if isinstance(value, Scalar):
        number = pack(value.tensor, tensors)
        return lambda run: value.kind(number(run).item())
    if isinstance(value, Choice):
        cond, then, orelse = (pack(v, tensors) for v in (value.cond, value.then, value.orelse))
        return lambda run: then(run) if cond(run).item() else orelse(run)
    if isinstance(value, LazyText):
        parts = [p if isinstance(p, str) else (pack(p[0], tensors), *p[1:]) for p in value.parts]
        return lambda run: LazyText(parts).text(lambda build: build(run))
    builds: dict[int, Build] = {}

    def remember(item: Any) -> Any:
        builds[len(builds)] = pack(item, tensors)
        return len(builds) - 1

    skeleton = map_items(value, remember)
    return lambda run: map_items(skeleton, lambda index: builds[index](run))


def raiser(error: BaseException) -> tuple[Callable[..., None], list[Tensor]]:
    """A host function that raises ``error``, and the tensors it needs for the text."""
    tensors: list[Tensor] = []
    if not contains(list(error.args), (Tensor, *_RUN_TIME)):

        def raise_same(*run: Tensor) -> None:
            raise error.with_traceback(None)

        return raise_same, tensors
    args = pack(list(error.args), tensors)
    kind = type(error)

    notes = getattr(error, "__notes__", [])

    def raise_new(*run: Tensor) -> None:
        made = kind(*args(run))
        for note in notes:
            made.add_note(note)
        raise made

    return raise_new, tensors


def print_later(interp: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``print`` at run time, after the run has succeeded. What is known now is formatted now."""
    tensors: list[Tensor] = []
    builds = [pack(a if is_late(a) else str(a), tensors) for a in args]
    options = {k: v for k, v in kwargs.items() if k != "flush"}

    def show(*run: Tensor) -> None:
        print(*(build(run) for build in builds), **options)

    interp.builder.host(show, tensors, deferred=True)


def format_value(
    interp: Interpreter, value: Any, conversion: Callable[[Any], str] | None, spec: Any
) -> Any:
    """One ``{value!r:spec}`` of an f-string: a str, or a LazyText."""
    if isinstance(value, Undef):
        raise value.error()
    if isinstance(spec, LazyText):
        raise interp.static_needed("a format known at run time", "the format of a text is static")
    if is_late(value):
        return LazyText([(value, conversion, spec)])
    return format(value if conversion is None else conversion(value), spec)


def joined_text(parts: list[Any]) -> Any:
    """Strings and LazyTexts one after the other."""
    pieces: list[Any] = []
    for part in parts:
        pieces += part.parts if isinstance(part, LazyText) else [part]
    if all(isinstance(p, str) for p in pieces):
        buffer = io.StringIO()
        buffer.writelines(pieces)
        return buffer.getvalue()
    return LazyText(pieces)
