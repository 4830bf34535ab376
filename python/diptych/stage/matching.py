"""match: patterns against a subject known while staging; values may be known at run time."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._core import Tensor
from .access import get_attribute, get_item, store
from .expressions import compare
from .frame import Frame
from .outcome import Outcome
from .result import ABSENT
from .values import LazyText, Scalar

if TYPE_CHECKING:
    from .interpreter import Interpreter

__all__ = ["match"]


def match(interp: Interpreter, node: ast.Match, frame: Frame) -> Outcome:
    """The first case that fits; a case that depends on a tensor becomes a fork."""
    return _cases(interp, node.cases, interp.evaluate(node.subject, frame), frame)


def _cases(interp: Interpreter, cases: list[ast.match_case], subject: Any, frame: Frame) -> Outcome:
    if not cases:
        return interp.leaf(frame)
    case = cases[0]
    frame.node = case.pattern
    names: dict[str, Any] = {}
    fits = _fits(interp, case.pattern, subject, frame, names)

    def body() -> Outcome:
        for name, value in names.items():
            store(interp, frame, name, value)
        if case.guard is None:
            return interp.block(case.body, frame)
        truth = interp.truth(interp.evaluate(case.guard, frame))
        if isinstance(truth, bool):
            return interp.block(case.body, frame) if truth else rest()
        return interp.fork(frame, truth, lambda: interp.block(case.body, frame), rest)

    def rest() -> Outcome:
        return _cases(interp, cases[1:], subject, frame)

    truth = interp.truth(fits)
    if isinstance(truth, bool):
        return body() if truth else rest()
    return interp.fork(frame, truth, body, rest)


def _both(interp: Interpreter, tests: Any) -> Any:
    """Whether all tests hold; they are made one after the other while the answer is open."""
    for test in tests:
        truth = interp.truth(test)
        if truth is True:
            continue
        if truth is False:
            return False
        return interp.fork_value(truth, lambda tests=tests: _both(interp, tests), lambda: False)
    return True


def _fits(
    interp: Interpreter, pattern: ast.pattern, subject: Any, frame: Frame, names: dict[str, Any]
) -> Any:
    """Whether the pattern fits; what it binds goes into ``names``."""
    subject = interp.resolve(subject)
    kind = type(pattern)
    if kind is ast.MatchValue:
        return compare(interp, ast.Eq(), subject, interp.evaluate(pattern.value, frame))
    if kind is ast.MatchSingleton:
        return compare(interp, ast.Is(), subject, pattern.value)
    if kind is ast.MatchAs:
        fits = True
        if pattern.pattern is not None:
            fits = _fits(interp, pattern.pattern, subject, frame, names)
        if pattern.name is not None:
            names[pattern.name] = subject
        return fits
    if kind is ast.MatchOr:
        return _either(interp, pattern.patterns, subject, frame, names)
    rule = {ast.MatchSequence: _sequence, ast.MatchMapping: _mapping, ast.MatchClass: _class}[kind]
    return rule(interp, pattern, subject, frame, names)


def _either(
    interp: Interpreter,
    patterns: list[ast.pattern],
    subject: Any,
    frame: Frame,
    names: dict[str, Any],
) -> Any:
    if not patterns:
        return False
    truth = interp.truth(_fits(interp, patterns[0], subject, frame, names))
    if truth is True:
        return True

    def rest() -> Any:
        return _either(interp, patterns[1:], subject, frame, names)

    return rest() if truth is False else interp.fork_value(truth, lambda: True, rest)


def _sequence(
    interp: Interpreter,
    pattern: ast.MatchSequence,
    subject: Any,
    frame: Frame,
    names: dict[str, Any],
) -> Any:
    if not isinstance(subject, Sequence) or isinstance(subject, str | bytes | bytearray):
        return False
    parts, n = pattern.patterns, len(subject)
    stars = [i for i, part in enumerate(parts) if isinstance(part, ast.MatchStar)]
    if n < len(parts) - len(stars) or (not stars and n != len(parts)):
        return False
    at = stars[0] if stars else len(parts)
    tail = len(parts) - at - 1
    if stars and parts[at].name is not None:
        names[parts[at].name] = list(subject[at : n - tail])
    pairs = list(zip(parts[:at], subject[:at], strict=False))
    if stars and tail:
        pairs += zip(parts[at + 1 :], subject[n - tail :], strict=True)
    return _both(interp, (_fits(interp, p, item, frame, names) for p, item in pairs))


def _mapping(
    interp: Interpreter,
    pattern: ast.MatchMapping,
    subject: Any,
    frame: Frame,
    names: dict[str, Any],
) -> Any:
    if not isinstance(subject, Mapping):
        return False
    keys = [interp.evaluate(key, frame) for key in pattern.keys]
    if any(key not in subject for key in keys):
        return False
    if pattern.rest is not None:
        names[pattern.rest] = {k: v for k, v in subject.items() if k not in keys}
    pairs = zip(pattern.patterns, keys, strict=True)
    return _both(
        interp,
        (_fits(interp, p, get_item(interp, subject, key), frame, names) for p, key in pairs),
    )


_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _class(
    interp: Interpreter, pattern: ast.MatchClass, subject: Any, frame: Frame, names: dict[str, Any]
) -> Any:
    cls = interp.evaluate(pattern.cls, frame)
    own = subject.kind if isinstance(subject, Scalar) else type(subject)
    own = str if isinstance(subject, LazyText) else own
    if not issubclass(own, cls):
        return False
    attributes = list(pattern.kwd_attrs)
    parts = list(pattern.kwd_patterns)
    tests = []
    if pattern.patterns:
        if cls in _ITSELF or issubclass(cls, Tensor):
            tests.append((pattern.patterns[0], subject))
        else:
            attributes = [*cls.__match_args__[: len(pattern.patterns)], *attributes]
            parts = [*pattern.patterns, *parts]
    for name, part in zip(attributes, parts, strict=True):
        if getattr(subject, name, ABSENT) is ABSENT:
            return False
        tests.append((part, get_attribute(interp, subject, name)))
    return _both(interp, (_fits(interp, p, item, frame, names) for p, item in tests))
