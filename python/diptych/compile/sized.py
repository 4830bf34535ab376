"""One compiled version of a function that serves all sizes: an Entry for each size that came."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .entry import Entry
from .signature import Signature
from .sizetext import text_for_any_size

if TYPE_CHECKING:
    from .capture import Again

__all__ = ["Sized"]

_MOST_SIZES = 32


class Sized:
    """The Entries of one capture, by the sizes of the free axes; least recently used go first.

    For new sizes what was recorded is done again, without the function itself, as long as the
    guards over sizes hold: comparisons have the answers and results the ranks they had. Without
    ``again`` it is an Entry for the one size that it was captured with.
    """

    def __init__(self, first: Entry, signature: Signature, again: Again | None) -> None:
        self._again = again
        self._entries: OrderedDict[tuple[int, ...], Entry] = OrderedDict()
        self._entries[signature.sizes] = first
        self.latest = first
        self.free = signature.free if again else {}
        self.made = 0
        self.misses: OrderedDict[tuple[int, ...], str] = OrderedDict()

    def find(self, signature: Signature) -> Entry | None:
        """The Entry for a call whose guards hold, made now if its sizes are new; None: there is
        none."""
        entry = self._entries.get(signature.sizes)
        if entry is None:
            entry = self._make(signature)
        elif self._again is not None:
            self._entries.move_to_end(signature.sizes)
        if entry is None or not entry.holds(signature.leaves):
            return None
        self.latest = entry
        return entry

    def _make(self, signature: Signature) -> Entry | None:
        if self._again is None or signature.sizes in self.misses:
            return None
        if not self.latest.holds(signature.leaves):
            return None
        made = self._again.entry(signature.leaves)
        if isinstance(made, str):
            self.misses[signature.sizes] = made
            if len(self.misses) > _MOST_SIZES:
                self.misses.popitem(last=False)
            return None
        self.made += 1
        self._entries[signature.sizes] = made
        if len(self._entries) > _MOST_SIZES:
            self._entries.popitem(last=False)
        return made

    def why_not(self, signature: Signature) -> list[str]:
        """What has changed since, for people."""
        if signature.sizes in self.misses:
            return [f"for sizes {signature.sizes}: {self.misses[signature.sizes]}"]
        return self.latest.why_not()

    def text(self) -> str:
        """The graph, with sizes that may be any as s0, s1 ..."""
        if self._again is None:
            return self.latest.staged.graph.text()
        return text_for_any_size(next(reversed(self._entries)), self._again.text)

    def describe(self) -> list[str]:
        """The sizes it has served, for people."""
        if self._again is None:
            return []
        served = [str(sizes if len(sizes) > 1 else sizes[0]) for sizes in self._entries]
        lines = [f"for any size; lately {', '.join(served[-8:])}"]
        latest = list(self.misses.items())[-3:]
        lines += [f"not for {sizes}: {why}" for sizes, why in latest]
        return lines

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)
