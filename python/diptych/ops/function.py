"""Functions whose arguments differ from their row of the table: MindSpore's signatures over it."""

from __future__ import annotations

from ..common.grad import stop_gradient

__all__ = ["stop_gradient"]
