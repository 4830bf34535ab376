"""LossBase: the reductions that all losses share."""

from __future__ import annotations

from ..._core import Tensor
from ..cell import Cell
from ..check import check_choice

__all__ = ["LossBase"]


class LossBase(Cell):
    """Base of losses that reduce a loss for each element by 'mean', 'sum' or 'none'.

    >>> import diptych as ms
    >>> class Cubed(ms.nn.LossBase):
    ...     def construct(self, logits, labels):
    ...         return self.get_loss((logits - labels) ** 3)
    >>> float(Cubed("sum")(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 0.0])))
    9.0
    """

    _reductions: tuple[str, ...] = ("mean", "sum", "none")

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        check_choice(type(self).__name__, "reduction", reduction, self._reductions)
        self.reduction = reduction

    def get_loss(self, x: Tensor, weights: float | Tensor = 1.0) -> Tensor:
        """Weights and reduces a loss tensor."""
        x = x if isinstance(weights, float) and weights == 1.0 else x * weights
        if self.reduction == "mean":
            return x.mean()
        return x.sum() if self.reduction == "sum" else x

    def extend_repr(self) -> str:
        return f"reduction={self.reduction!r}"
