"""The versions of one function, and what its calls have shown to change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .._core import Parameter, Tensor
from ..common.mutables import plain_type
from ..stage.builder import Free
from ..stage.lengths import Lengths
from .signature import Signature
from .sized import Sized

if TYPE_CHECKING:
    from .entry import Entry

__all__ = ["Table"]

_MOST_BY_SIZE = 4  # versions that differ in what the function did with a size


def _fits(known: Lengths, counted: Lengths) -> bool:
    """Whether a version has the lengths that were counted; the last may be a least number of rounds
    (below 0, see ``counting``)."""
    if len(known) < len(counted) or known[: len(counted) - 1] != counted[:-1]:
        return False
    mine, wanted = known[len(counted) - 1], counted[-1]
    return mine == wanted or (wanted is not None and mine is not None and 0 < -wanted <= mine)


class Table:
    """Versions by key, least recently used first; several of one key differ in their guards.

    A mutable number is an input; a float argument that comes with a second value (a learning rate)
    is one from then on, unless the function needs its value while it is compiled. A size that comes
    with a second value is free from then on: one version serves all, unless the function needs the
    numbers.
    """

    def __init__(self) -> None:
        self.versions: OrderedDict[Any, list[Sized]] = OrderedDict()
        self.lock = threading.RLock()
        self.numbers: frozenset[int] = frozenset()  # leaves that are inputs
        self.free: Free = {}
        self.latest: Any = None  # key of the latest new kind of call, all sizes by value
        self.bound_because: str | None = None  # sizes count by value
        self._floats: dict[int, float] = {}  # those not seen to change, by leaf
        self._shapes: dict[int, tuple[int, ...]] = {}  # of tensors, when first seen
        self._is_fixed = False

    # ---- learning

    def learn_numbers(self, leaves: Sequence[Any]) -> None:
        """Looks at the numbers of a new call."""
        if self._is_fixed:
            return
        self.numbers |= {
            i
            for i, leaf in enumerate(leaves)
            if plain_type(leaf)
            or (type(leaf) is float and self._floats.setdefault(i, leaf) != leaf)
        }

    def fix_numbers(self) -> None:
        """Numbers count by value from now on."""
        self.numbers, self._is_fixed = frozenset(), True

    def learn_sizes(self, leaves: Sequence[Any], all_at_once: bool) -> None:
        """Looks at the sizes of a new call."""
        if self.bound_because is not None:
            return
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Tensor) or isinstance(leaf, Parameter):
                continue
            first = self._shapes.setdefault(i, leaf.shape)
            if all_at_once:
                self.release(i, range(leaf.ndim))
            elif len(first) == leaf.ndim:
                pairs = enumerate(zip(first, leaf.shape, strict=True))
                self.release(i, [axis for axis, (a, b) in pairs if a != b])

    def release(self, leaf: int, axes: Sequence[int]) -> None:
        """These sizes may be any."""
        if axes and self.bound_because is None:
            self.free[leaf] = self.free.get(leaf, frozenset()).union(axes)

    def bind_sizes(self, why: str) -> None:
        """Sizes count by value from now on."""
        self.free, self.bound_because = {}, why

    # ---- versions

    def find(self, signature: Signature) -> Entry | None:
        """What runs a call like this: the version of its key whose guards hold, for its sizes."""
        for version in self.versions.get(signature.key, ()):
            entry = version.find(signature)
            if entry is not None:
                self.versions.move_to_end(signature.key)
                return entry
        return None

    def find_length(self, signature: Signature, lengths: Lengths) -> Entry | None:
        """The version for these lengths that only runs can tell; it is tried first from now on."""
        versions = self.versions.get(signature.key, [])
        for version in versions:
            known = version.latest.staged.lengths
            if known is not None and _fits(known, lengths):
                entry = version.find(signature)
                if entry is not None:
                    versions.remove(version)
                    versions.insert(0, version)
                    return entry
        return None

    def drop(self, key: Any, entry: Entry) -> None:
        """Forgets a version."""
        kept = [version for version in self.versions.pop(key) if version.latest is not entry]
        if kept:
            self.versions[key] = kept

    def differs_by_size(self, signature: Signature) -> bool:
        """Whether the function has done something else for too many sizes."""
        versions = self.versions.get(signature.key, ())
        return sum(signature.sizes in v.misses for v in versions) >= _MOST_BY_SIZE

    def __iter__(self) -> Iterator[tuple[Any, Sized]]:
        return ((key, version) for key, list_ in self.versions.items() for version in list_)

    def __len__(self) -> int:
        return sum(map(len, self.versions.values()))

    def add(self, key: Any, version: Sized, limit: int) -> None:
        """Puts a version first among those of its key; drops the oldest beyond the limit."""
        self.versions.setdefault(key, []).insert(0, version)
        self.versions.move_to_end(key)
        while len(self) > limit:
            oldest = next(iter(self.versions.values()))
            oldest.pop()
            if not oldest:
                self.versions.popitem(last=False)
