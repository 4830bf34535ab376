"""How Model scales the loss: settings from which it builds its training step."""

from __future__ import annotations

from ..nn.bounds import bounded, counted
from ..nn.cell import Cell
from ..nn.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


class LossScaleManager:
    """Base of managers.

    >>> import diptych as ms
    >>> isinstance(ms.FixedLossScaleManager(), ms.LossScaleManager)
    True
    """

    def get_loss_scale(self) -> float:
        """The present scale."""
        raise NotImplementedError(f"{type(self).__name__} does not give get_loss_scale()")

    def update_loss_scale(self, overflow: bool) -> None:
        """Takes note of a step, with or without an overflow."""
        raise NotImplementedError(f"{type(self).__name__} does not give update_loss_scale()")

    def get_update_cell(self) -> Cell | None:
        """The Cell that changes the scale in a training step, or None: it stays."""
        return None


class FixedLossScaleManager(LossScaleManager):
    """The same scale always.

    Args:
        loss_scale: the scale.
        drop_overflow_update: whether steps whose gradients are not finite are left out.
            Otherwise the optimiser must have the same ``loss_scale`` to take it out again.

    >>> import diptych as ms
    >>> ms.FixedLossScaleManager(128).get_loss_scale()
    128.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        self._loss_scale = bounded("FixedLossScaleManager", "loss_scale", loss_scale, 1.0)
        self._drop_overflow_update = drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps that overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Nothing changes."""

    def get_update_cell(self) -> Cell | None:
        """A Cell that leaves the scale, or None when overflows are not looked for."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that shrinks by ``scale_factor`` after an overflow and grows by it after
    ``scale_window`` steps without one.

    >>> import diptych as ms
    >>> manager = ms.train.DynamicLossScaleManager(1024, 2, 2)
    >>> manager.update_loss_scale(True)
    >>> manager.get_loss_scale()
    512.0
    """

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        cls = "DynamicLossScaleManager"
        self.loss_scale = bounded(cls, "init_loss_scale", init_loss_scale, 1.0)
        self.scale_factor = bounded(cls, "scale_factor", scale_factor, 1.0, open_low=True)
        self.scale_window = counted(cls, "scale_window", scale_window)
        self._good_steps = 0

    def get_loss_scale(self) -> float:
        """The present scale."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """True: steps that overflow are left out."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Takes note of a step."""
        self._good_steps = 0 if overflow else self._good_steps + 1
        if overflow:
            self.loss_scale = max(self.loss_scale / self.scale_factor, 1.0)
        elif self._good_steps == self.scale_window:
            self.loss_scale *= self.scale_factor
            self._good_steps = 0

    def get_update_cell(self) -> Cell:
        """A Cell that does the same within a training step."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
