"""What the Transformers share: initial values and checks."""

from __future__ import annotations

from .._core import Tensor
from ..common.initializer import Initializer, initializer
from ..nn import Cell
from ..nn.check import check_positive, check_tensor

__all__: list[str] = []


def draw_weights(net: Cell, init: Initializer) -> None:
    """Draws every matrix of the net by ``init``; biases become 0, norms stay."""
    for p in net.get_parameters():
        if p.ndim > 1:
            p.set_data(initializer(init, p.shape, p.dtype))
        elif p.name.endswith("bias"):
            p.set_data(initializer("zeros", p.shape, p.dtype))


def check_heads(cls: str, **values: int) -> None:
    """Raises unless both sizes, features and heads, are positive and heads divide features."""
    check_positive(cls, **values)
    (features, size), (heads, count) = values.items()
    if size % count:
        raise ValueError(
            f"For '{cls}', '{heads}' must divide '{features}', but got {count} and {size}"
        )


def check_tokens(cls: str, name: str, tokens: Tensor, longest: int) -> None:
    """Raises unless tokens is a Tensor (N, L) with L no more than ``longest``."""
    check_tensor(cls, **{name: tokens})
    if tokens.ndim != 2 or not 0 < tokens.shape[1] <= longest:
        raise ValueError(
            f"For '{cls}', '{name}' must have the shape (N, L) with L in [1, {longest}], "
            f"but got {tokens.shape}"
        )
