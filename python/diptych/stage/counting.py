"""Loops on tensors whose rounds change a shape or the length of a list: no While can carry those.

Such a loop is staged round by round, for a number of rounds that is assumed and checked, as the
lengths of ``growing`` are. A run that finds another one either knows it (the test failed earlier),
or that there is at least one more round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core import Tensor
from .frame import Frame
from .lengths import Counted
from .outcome import Fork, Outcome, Status, renamed

if TYPE_CHECKING:
    from .interpreter import Interpreter
    from .rolling import Rounds

__all__ = ["count_rounds"]

_MOST_ROUNDS = 48


def at_least(rounds: int) -> int:
    """How a length says that there are so many rounds, and maybe more."""
    return -rounds


def count_rounds(
    interp: Interpreter, frame: Frame, rounds: Rounds, entry: bool | Tensor
) -> Outcome | None:
    """``while entry: body; entry = test()`` for the number of rounds that is known; None: there are
    too many."""
    event, length = interp.next_length()
    is_exact = length is not None and length >= 0
    known = abs(length or 0)
    if known > _MOST_ROUNDS:
        return None

    def is_open(i: int, truth: bool | Tensor) -> bool:
        """Whether round i takes place; the graph checks it."""
        if isinstance(truth, bool):
            return truth

        def check(truth: Tensor) -> None:
            goes_on = bool(truth)
            if goes_on is not (i < known) or not (goes_on or is_exact):
                raise Counted(event, at_least(i + 1) if goes_on else i)

        interp.builder.host(check, [truth])
        if i >= known:
            interp.assumed(0 if is_exact else None)
        return i < known

    def go(i: int, truth: bool | Tensor) -> Outcome:
        while is_open(i, truth):
            out = renamed(rounds.body(), Status.CONTINUE, Status.NORMAL)
            i += 1
            if isinstance(out, Fork):
                return interp.resume(
                    frame, out, lambda _, i=i: go(i, interp.condition_of(rounds.test()))
                )
            frame.locals = out.locals
            if out.status is not Status.NORMAL:
                return out
            truth = interp.condition_of(rounds.test())
        return interp.leaf(frame)

    return go(0, entry)
