"""Lengths that only a run can tell: assumed while staging, checked by each run.

Lists that grow in loops on tensors (``growing``), loops that change shapes (``counting``), results
whose sizes depend on values (``measured``).
"""

from __future__ import annotations

__all__ = ["Counted", "Lengths", "StopToCount", "known_length"]

# What is known of the lengths that only runs can tell, in the order of staging; None: nothing.
Lengths = tuple[int | None, ...]


def known_length(lengths: Lengths | None, event: int) -> int | None:
    """That of an event; None: it is not known, or not for sure (below 0, see ``counting``)."""
    known = lengths[event] if lengths is not None and event < len(lengths) else None
    return None if known is not None and known < 0 else known


class Counted(Exception):
    """A run has counted: the ``event``-th length that is known at run time only is ``count``."""

    def __init__(self, event: int, count: int) -> None:
        super().__init__(f"a length known at run time only is {count}")
        self.event, self.count = event, count


class StopToCount(BaseException):
    """Staging stops here: what the graph holds counts something, and nothing is known yet."""
