"""What a block of statements ends in: a leaf, or forks over leaves; and how two ends become one.

A fork is an If that is not in the graph yet. Joining its two leaves emits the node, whose results
are exactly the values that differ (frontend design, 2.3 and 2.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .._core import Parameter, Tensor
from .builder import Builder, Params
from .journal import Delta
from .result import PLAIN, Place
from .values import Choice, Dead, LazyText, Scalar, Undef

__all__ = ["Fork", "Join", "Leaf", "Outcome", "Status", "Unjoinable", "leaves", "renamed"]


class Status(Enum):
    """How a block ended."""

    NORMAL = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3
    RAISE = 4  # value is the exception; a handler of this function may take it
    LEFT = 6  # by break, while the loop's else block is staged
    DEAD = 5  # it has raised at run time: nothing follows


@dataclass
class Leaf:
    """One end: the locals, the region it ends in, the returned or raised value.

    ``delta`` and ``params`` are changes since the fork above; those of a root are in effect.
    """

    status: Status
    locals: dict[str, Any]
    region: Any
    value: Any = None
    delta: Delta = field(default_factory=dict)
    params: Params = field(default_factory=dict)


@dataclass
class Fork:
    """Two ends under a condition; ``region`` is where the If will stand, ``names`` the locals
    before it."""

    cond: Tensor
    then: Outcome
    orelse: Outcome
    region: Any
    names: dict[str, Any]
    delta: Delta = field(default_factory=dict)
    params: Params = field(default_factory=dict)

    def set_side(self, truth: bool, end: Outcome) -> None:
        """Replaces one of the ends."""
        if truth:
            self.then = end
        else:
            self.orelse = end


Outcome = Leaf | Fork


def leaves(outcome: Outcome) -> Iterator[Leaf]:
    """The ends, from left to right."""
    if isinstance(outcome, Leaf):
        yield outcome
    else:
        yield from leaves(outcome.then)
        yield from leaves(outcome.orelse)


def renamed(out: Outcome, old: Status, new: Status) -> Outcome:
    """The tree, its ends of one status having another."""
    for leaf in leaves(out):
        if leaf.status is old:
            leaf.status = new
    return out


class Unjoinable(Exception):
    """Two ends left a list, dict or set with different items: it cannot be both."""


# A merged value, once the results of the If are known.
Make = Callable[[list[Tensor]], Any]



def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


class Join:
    """Collects the pairs of tensors that an If must hand out, and builds what comes after it."""

    def __init__(
        self,
        builder: Builder,
        cond: Tensor,
        deltas: tuple[Delta, Delta] = ({}, {}),
        is_old: Callable[[Any], bool] = lambda value: False,
    ) -> None:
        """``deltas``: what the sides changed; ``is_old``: whether an object was there before the
        fork, so that it must stay the same object."""
        self._builder = builder
        self._cond = cond
        self._deltas = deltas
        self._is_old = is_old
        self.then_values: list[Tensor] = []
        self.else_values: list[Tensor] = []
        self._pairs: dict[tuple[int, int], tuple[int, Tensor, Tensor]] = {}
        self._exports: dict[tuple[int, bool], tuple[Make, Tensor]] = {}

    def _pair(self, then: Tensor, orelse: Tensor) -> Callable[[list[Tensor]], Tensor]:
        """Two names of one tensor on both sides are two names of one tensor afterwards."""
        key = id(then), id(orelse)
        if key not in self._pairs:
            self._pairs[key] = len(self.then_values), then, orelse
            self.then_values.append(self._shown(then, True))
            self.else_values.append(self._shown(orelse, False))
        index = self._pairs[key][0]
        return lambda outs: outs[index]

    def _shown(self, tensor: Tensor, is_then: bool) -> Tensor:
        """What a handle shows at the end of one side, where it was perhaps changed in place."""
        changed = self._deltas[not is_then].get(Place("tensor", tensor).slot)
        return tensor if changed is None else changed[1]

    def merge(self, a: Any, b: Any) -> Make:
        """The value that is ``a`` on the one side and ``b`` on the other."""
        if a is b:
            return lambda outs: a
        if isinstance(a, Dead) or isinstance(b, Dead):
            return self._merge_dead(a, b)
        if isinstance(a, Undef) and isinstance(b, Undef):
            return lambda outs: a
        return self._merge_numbers(a, b) or self._merge_items(a, b) or self._choose(a, b)

    def _merge_dead(self, a: Any, b: Any) -> Make:
        """The value of the side that lives."""
        if isinstance(a, Dead) and isinstance(b, Dead):
            both = Dead(a.was if a.was is b.was else None)
            return lambda outs: both
        alive, was = (b, a.was) if isinstance(a, Dead) else (a, b.was)
        if alive is was:
            return lambda outs: alive
        return self._export(alive, is_then=alive is a)

    def _merge_numbers(self, a: Any, b: Any) -> Make | None:
        """Tensors of one type, numbers of one kind, equal plain values."""
        if _is_value(a) and _is_value(b):
            if a.dtype is b.dtype and a.shape == b.shape:
                return self._pair(a, b)
            return None
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            kind = a.kind if isinstance(a, Scalar) else b.kind
            pair = [self._scalar(v, kind) for v in (a, b)]
            if pair[0] is not None and pair[1] is not None:
                made = self._pair(pair[0], pair[1])
                return lambda outs: Scalar(made(outs), kind)
            return None
        if type(a) is type(b) and isinstance(a, PLAIN) and (a == b or (a != a and b != b)):
            return lambda outs: a
        return None

    def _scalar(self, value: Any, kind: type) -> Tensor | None:
        if isinstance(value, Scalar):
            return value.tensor if value.kind is kind else None
        return self._builder.constant(value, kind) if value.__class__ is kind else None

    def _merge_items(self, a: Any, b: Any) -> Make | None:
        """Containers of one structure, item by item."""
        if type(a) is not type(b):
            return None
        if isinstance(a, list | dict) and (self._is_old(a) or self._is_old(b)):
            return None
        if type(a) is dict:
            if list(a) != list(b):
                return None
            made = [self.merge(a[k], b[k]) for k in a]
            keys = list(a)
            return lambda outs: {k: m(outs) for k, m in zip(keys, made, strict=True)}
        if type(a) not in (list, tuple) and not _is_named_tuple(a):
            return None
        if len(a) != len(b):
            return None
        made = [self.merge(x, y) for x, y in zip(a, b, strict=True)]
        if _is_named_tuple(a):
            return lambda outs: type(a)(*(m(outs) for m in made))
        return lambda outs: type(a)(m(outs) for m in made)

    def _choose(self, a: Any, b: Any) -> Make:
        then, orelse = self._export(a, is_then=True), self._export(b, is_then=False)
        return lambda outs: Choice(self._cond, then(outs), orelse(outs))

    def _export(self, value: Any, is_then: bool) -> Make:
        """A value of one side, its tensors handed out; on the other side they are zeros."""
        if self._builder.is_symbolic(value) and _is_value(value):
            if self._is_old(value):
                return lambda outs: value
            key = id(value), is_then
            if key not in self._exports:
                zeros = self._builder.zeros(value)
                pair = (value, zeros) if is_then else (zeros, value)
                self._exports[key] = self._pair(*pair), value
            return self._exports[key][0]
        if isinstance(value, Scalar):
            made = self._export(value.tensor, is_then)
            return lambda outs: Scalar(made(outs), value.kind)
        if isinstance(value, Choice):
            parts = [self._export(v, is_then) for v in (value.cond, value.then, value.orelse)]
            return lambda outs: Choice(*(p(outs) for p in parts))
        if isinstance(value, LazyText):
            return self._export_text(value, is_then)
        if isinstance(value, list | dict) and self._is_old(value):
            return lambda outs: value
        if type(value) is dict:
            items = {k: self._export(v, is_then) for k, v in value.items()}
            return lambda outs: {k: m(outs) for k, m in items.items()}
        if type(value) in (list, tuple):
            made_items = [self._export(v, is_then) for v in value]
            return lambda outs: type(value)(m(outs) for m in made_items)
        if _is_named_tuple(value):
            made_items = [self._export(v, is_then) for v in value]
            return lambda outs: type(value)(*(m(outs) for m in made_items))
        return lambda outs: value

    def _export_text(self, text: LazyText, is_then: bool) -> Make:
        parts = [
            part if isinstance(part, str) else (self._export(part[0], is_then), *part[1:])
            for part in text.parts
        ]
        return lambda outs: LazyText(
            [p if isinstance(p, str) else (p[0](outs), *p[1:]) for p in parts]
        )

    def merge_contents(self, a: Any, b: Any) -> Make:
        """Like merge for the items of one list, dict or set object: they must be alike.

        Raises:
            Unjoinable: the sides left different lengths, keys or members.
        """
        if isinstance(a, Dead) or isinstance(b, Dead):
            return self._merge_dead(a, b)
        made = self._merge_items(a, b)
        if made is None and type(a) is type(b) and not isinstance(a, list | dict) and a == b:
            return lambda outs: a
        if made is None:
            raise Unjoinable
        return made


def _is_value(value: Any) -> bool:
    """Whether an If can hand it out: a tensor, but not the Parameter itself."""
    return isinstance(value, Tensor) and not isinstance(value, Parameter)
