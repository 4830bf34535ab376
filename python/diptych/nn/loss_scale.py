"""Training with a scaled loss, whose gradients do not vanish in 16 bits; steps that overflow are
left out."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.grad import value_and_grad
from ..common.parameter import Parameter
from .bounds import bounded, counted
from .cell import Cell
from .wrap import TrainOneStepCell, _times

__all__ = [
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "TrainOneStepWithLossScaleCell",
]


def _state(value: Any, dtype: Any, name: str) -> Parameter:
    return Parameter(Tensor(value, dtype), name=name, requires_grad=False)


class DynamicLossScaleUpdateCell(Cell):
    """Divides the scale by ``scale_factor`` (down to 1) after an overflow, and multiplies it after
    ``scale_window`` steps without one.

    >>> import diptych as ms
    >>> scale = ms.Parameter(ms.Tensor(8.0), requires_grad=False)
    >>> update = ms.nn.DynamicLossScaleUpdateCell(8.0, 2, 2)
    >>> for overflow in (True, False, False):
    ...     _ = update(scale, ms.Tensor(overflow))
    >>> scale.item()
    8.0
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__()
        cls = "DynamicLossScaleUpdateCell"
        self.loss_scale_value = bounded(cls, "loss_scale_value", loss_scale_value, 0, open_low=True)
        self.scale_factor = bounded(cls, "scale_factor", scale_factor, 1.0)
        self.scale_window = counted(cls, "scale_window", scale_window)
        self.cur_iter = _state(1, ops.int32, "current_iterator_step")
        self.last_overflow_iter = _state(0, ops.int32, "last_overflow_iterator_step")

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        """Changes ``loss_scale`` in place; returns ``overflow``."""
        is_due = self.cur_iter - self.last_overflow_iter >= self.scale_window
        grown = ops.select(is_due, loss_scale * self.scale_factor, loss_scale.value())
        shrunk = ops.maximum(loss_scale / self.scale_factor, 1.0)
        last = ops.select(
            ops.logical_or(is_due, overflow), self.cur_iter.value(), self.last_overflow_iter.value()
        )
        loss_scale.set_data(ops.select(overflow, shrunk, grown).astype(loss_scale.dtype))
        self.last_overflow_iter.set_data(last)
        self.cur_iter.set_data(self.cur_iter + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Leaves the scale as it is.

    >>> import diptych as ms
    >>> ms.nn.FixedLossScaleUpdateCell(128.0).get_loss_scale()
    128.0
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = bounded(
            "FixedLossScaleUpdateCell", "loss_scale_value", loss_scale_value, 0, open_low=True
        )

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        """Returns ``overflow``."""
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step with the gradients of scale * loss, divided by it again; a step whose gradients are
    not all finite changes no weight. Returns (loss, overflow, scale).

    Args:
        network: gives the loss.
        optimizer: its parameters are trained.
        scale_sense: a Cell that gives the first scale and changes it
            (DynamicLossScaleUpdateCell), or a Tensor of one element.

    >>> import diptych as ms
    >>> net = ms.nn.WithLossCell(ms.nn.Dense(2, 1), ms.nn.MSELoss())
    >>> update = ms.nn.DynamicLossScaleUpdateCell(1024.0, 2, 1000)
    >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    >>> step = ms.nn.TrainOneStepWithLossScaleCell(net, optimizer, update)
    >>> loss, overflow, scale = step(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))
    >>> overflow.item(), scale.item()
    (False, 1024.0)
    """

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer, sens=None)
        cls = type(self).__name__
        self.loss_scaling_manager: Cell | None = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            value: Any = scale_sense.get_loss_scale()
        elif isinstance(scale_sense, Tensor):
            if scale_sense.size != 1:
                raise ValueError(
                    f"For '{cls}', 'scale_sense' must have one element, but its shape is "
                    f"{scale_sense.shape}"
                )
            value = scale_sense.item()
        else:
            got = type(scale_sense).__name__
            raise TypeError(f"For '{cls}', 'scale_sense' must be a Cell or a Tensor, got {got}")
        self.scale_sense = _state(value, ops.float32, "scale_sense")

    def construct(self, *inputs: Any) -> tuple[Any, Tensor, Tensor]:
        scale = self.scale_sense.value()

        def scaled(*args: Any) -> tuple[Any, Any]:
            loss = self.network(*args)
            return _times(loss, scale), loss

        (_, loss), grads = value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        grads = self.grad_reducer(tuple((g / scale).astype(g.dtype) for g in grads))
        overflow = self.get_overflow_status(None, grads)
        if not self.process_loss_scale(overflow):
            self.optimizer(grads)
        return loss, overflow, scale

    def set_sense_scale(self, sens: Tensor) -> None:
        """Sets the scale."""
        if not isinstance(sens, Tensor):
            raise TypeError(f"set_sense_scale: sens must be a Tensor, got {type(sens).__name__}")
        self.scale_sense.set_data(sens.reshape(()))

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Any, Any]:
        """Nothing to prepare on a CPU; returns (None, compute_input)."""
        return None, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Whether a tensor of ``compute_output`` holds an infinity or NaN, a bool Tensor."""
        finite = [ops.isfinite(g).all() for g in compute_output]
        return ops.logical_not(ops.stack(finite).all())

    def process_loss_scale(self, overflow: Tensor) -> Tensor:
        """Lets the update Cell change the scale; returns ``overflow``."""
        if self.loss_scaling_manager is None:
            return overflow
        return self.loss_scaling_manager(self.scale_sense, overflow)
