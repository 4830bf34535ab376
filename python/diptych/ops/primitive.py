"""Primitive classes: the constructor takes attributes, the call takes inputs and what is left."""

from __future__ import annotations

__all__: list[str] = []
