"""The text of a graph that serves all sizes: sizes as s0, s1 ... and what follows from them.

The graph is made for a few other sizes and the texts are compared number by number. A number that
moves with the sizes is printed as what it was for all of them: ``s0``, ``2*s0+1``, ``s0*s1``; one
that moves in another way as ``t0``, ``t1`` ..., equal where the numbers always were.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

__all__ = ["text_for_any_size"]

Sizes = tuple[int, ...]
Make = Callable[[Sizes], str | None]  # the text for these sizes; None: they lead elsewhere

_NUMBER = re.compile(r"(?<![\w%.])(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])")
_STEPS = (1, 2, 4, 3, 6, -1, -2)


def text_for_any_size(sizes: Sizes, make: Make) -> str:
    """The text for ``sizes`` (those of the free axes), with names for what varies."""
    base = make(sizes)
    if base is None:
        raise ValueError(f"the graph cannot be made for the sizes {sizes}")
    return _Comparison(sizes, base, make).text()


class _Comparison:
    def __init__(self, sizes: Sizes, base: str, make: Make) -> None:
        self._sizes, self._make = sizes, make
        self._parts = _NUMBER.split(base)
        self._names: list[str] = []
        self._starts: list[int] = []
        self._probes: list[list[tuple[int, list[str]]]] = []  # of each name: (step, numbers)
        self._all: list[tuple[list[int], list[str]]] = []  # all of them moved
        self._opaque: dict[tuple[str, ...], str] = {}
        self._probe()

    # ---- other sizes

    def _numbers(self, sizes: Sizes) -> list[str] | None:
        """The numbers of the text for other sizes, if it is the same otherwise."""
        text = None if min(sizes) < 1 else self._make(sizes)
        parts = _NUMBER.split(text) if text is not None else []
        return parts[1::2] if parts[::2] == self._parts[::2] else None

    def _moved(self, group: list[int]) -> list[tuple[int, list[str]]]:
        found: list[tuple[int, list[str]]] = []
        for step in _STEPS:
            numbers = self._numbers(
                tuple(n + step if i in group else n for i, n in enumerate(self._sizes))
            )
            if numbers is not None:
                found.append((step, numbers))
            if len(found) == 2:
                return found
        return []

    def _probe(self) -> None:
        """Moves each size alone; sizes that cannot move alone move with those equal to them."""
        groups: list[list[int]] = []
        for i, n in enumerate(self._sizes):
            if any(i in group for group in groups):
                continue
            group, found = [i], self._moved([i])
            if not found:
                group = [k for k, m in enumerate(self._sizes) if m == n]
                found = self._moved(group)
            if found:
                groups.append(group)
                self._names.append(f"s{i}")
                self._starts.append(n)
                self._probes.append(found)
        for by in (1, 2):
            steps = [by * (g + 1) for g in range(len(groups))]
            moved = list(self._sizes)
            for group, step in zip(groups, steps, strict=True):
                for i in group:
                    moved[i] += step
            numbers = self._numbers(tuple(moved))
            if numbers is not None:
                self._all.append((steps, numbers))

    # ---- what a number is

    def text(self) -> str:
        """All numbers, named."""
        parts = list(self._parts)
        for at in range(1, len(parts), 2):
            parts[at] = self._name(at // 2, parts[at])
        return "".join(parts)

    def _name(self, at: int, number: str) -> str:
        seen = [probe[at] for found in self._probes for _, probe in found]
        seen += [probe[at] for _, probe in self._all]
        if all(other == number for other in seen):
            return number
        made = None
        if all(re.fullmatch(r"-?\d+", other) for other in (number, *seen)):
            made = self._formula(at, int(number))
        if made is not None:
            return made
        return self._opaque.setdefault((number, *seen), f"t{len(self._opaque)}")

    def _formula(self, at: int, number: int) -> str | None:
        slopes: list[int] = []
        for found in self._probes:
            changes = [(int(probe[at]) - number) / step for step, probe in found]
            if changes[0] != changes[1] or changes[0] != int(changes[0]):
                return None
            slopes.append(int(changes[0]))
        product = math.prod(n for n, a in zip(self._starts, slopes, strict=True) if a)
        is_product = all(a * n == number for n, a in zip(self._starts, slopes, strict=True) if a)
        rest = number - sum(a * n for a, n in zip(slopes, self._starts, strict=True))
        for steps, probe in self._all:
            now = [n + step for n, step in zip(self._starts, steps, strict=True)]
            moved = sum(a * n for a, n in zip(slopes, now, strict=True)) + rest
            is_product &= int(probe[at]) * product == number * math.prod(
                n for n, a in zip(now, slopes, strict=True) if a
            )
            if moved != int(probe[at]) and not is_product:
                return None
        if is_product and number % product == 0:
            return _product(
                number // product, [n for n, a in zip(self._names, slopes, strict=True) if a]
            )
        terms = [_product(a, [name]) for name, a in zip(self._names, slopes, strict=True) if a]
        if rest:
            terms.append(str(rest))
        return "+".join(terms).replace("+-", "-")


def _product(factor: int, names: list[str]) -> str:
    body = "*".join(names)
    return body if factor == 1 else f"-{body}" if factor == -1 else f"{factor}*{body}"
