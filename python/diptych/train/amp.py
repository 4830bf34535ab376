"""Mixed precision: layers that compute in 16 bits over float32 weights, and scaled losses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import nn, ops
from .._core import Tensor
from ..common.parameter import Parameter
from ..nn.bounds import bounded, counted
from ..nn.cell import Cell
from ..nn.loss_scale import TrainOneStepWithLossScaleCell
from ..nn.optim import Optimizer
from ..nn.optim.optimizer import OptimizerAround
from ..nn.wrap import TrainOneStepCell, WithLossCell, check_cell
from .loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)

__all__ = [
    "DynamicLossScaleManager",
    "DynamicLossScaler",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
    "scale_loss",
]

_LEVELS = ("O0", "O1", "O2", "O3", "auto")


def _wide_layers() -> tuple[type, ...]:
    """Layers whose sums need 32 bits."""
    names = (
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "LayerNorm",
        "GroupNorm",
        "RMSNorm",
        "InstanceNorm1d",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "SyncBatchNorm",
    )
    return tuple(getattr(nn, name) for name in names if hasattr(nn, name))


def _narrow_layers() -> tuple[type, ...]:
    """Layers whose time goes into products."""
    names = (
        "Dense",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "Conv1dTranspose",
        "Conv2dTranspose",
        "Conv3dTranspose",
        "MultiheadAttention",
    )
    return tuple(getattr(nn, name) for name in names if hasattr(nn, name))


class _OutputTo32(Cell):
    """A network whose float results are float32."""

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = network

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        return _widened(self._backbone(*inputs, **kwargs))


def _widened(out: Any) -> Any:
    if isinstance(out, Tensor):
        is_narrow = out.dtype.is_floating_point and out.dtype.itemsize < 4
        return out.astype(ops.float32) if is_narrow else out
    return type(out)(map(_widened, out)) if type(out) in (tuple, list) else out


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: Any = "float16") -> Cell:
    """The network with layers set to compute in ``dtype``; weights stay as they are, results are
    float32.

    "O0": nothing changes. "O1" and "auto": dense layers, convolutions and attention compute in
    dtype. "O2": everything but norms. "O3": everything.

    >>> import diptych as ms
    >>> net = ms.amp.auto_mixed_precision(ms.nn.Dense(2, 3), "O2", "bfloat16")
    >>> net(ms.ops.ones((1, 2))).dtype
    Float32
    """
    check_cell("auto_mixed_precision", "network", network)
    if amp_level not in _LEVELS:
        raise ValueError(f"amp_level is {amp_level!r}; it must be one of {', '.join(_LEVELS)}")
    if amp_level == "O0":
        return network
    narrow, wide = _narrow_layers(), _wide_layers()
    for _, cell in network.cells_and_names():
        chosen = isinstance(cell, narrow) if amp_level in ("O1", "auto") else True
        if amp_level != "O3" and isinstance(cell, wide):
            cell.to_float(ops.float32)
        elif chosen:
            _compute_in(cell, dtype)
    return _OutputTo32(network)


def get_white_list() -> list[type]:
    """The kinds of layers that level "O1" computes in 16 bits: a new list, to be changed for
    custom_mixed_precision.

    >>> import diptych as ms
    >>> ms.nn.Dense in ms.amp.get_white_list()
    True
    """
    return list(_narrow_layers())


def get_black_list() -> list[type]:
    """The kinds of layers that level "O2" leaves in float32.

    >>> import diptych as ms
    >>> ms.nn.LayerNorm in ms.amp.get_black_list()
    True
    """
    return list(_wide_layers())


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: Sequence[type] | None = None,
    black_list: Sequence[type] | None = None,
    dtype: Any = "float16",
) -> Cell:
    """The network with the kinds of layers in white_list, or all but those in black_list, set to
    compute in ``dtype``; weights stay as they are, results are float32. One list must be given.

    >>> import diptych as ms
    >>> net = ms.nn.SequentialCell(ms.nn.Dense(2, 3), ms.nn.ReLU())
    >>> net = ms.amp.custom_mixed_precision(net, white_list=[ms.nn.Dense], dtype="bfloat16")
    >>> net(ms.ops.ones((1, 2))).dtype
    Float32
    """
    where = "custom_mixed_precision"
    check_cell(where, "network", network)
    if (white_list is None) == (black_list is None):
        raise ValueError(f"{where}: one of 'white_list' and 'black_list' must be given")
    name, given = ("white_list", white_list) if black_list is None else ("black_list", black_list)
    for kind in given:  # type: ignore[union-attr]
        if not (isinstance(kind, type) and issubclass(kind, Cell)):
            raise TypeError(f"{where}: '{name}' holds {kind!r}; it must hold classes of Cells")
    kinds = tuple(given)  # type: ignore[arg-type]
    for _, cell in network.cells_and_names():
        if isinstance(cell, kinds) == (black_list is None):
            _compute_in(cell, dtype)
        elif black_list is not None:
            cell.to_float(ops.float32)
    return _OutputTo32(network)


def _compute_in(cell: Cell, dtype: Any) -> None:
    """to_float for one Cell, not for those below."""
    below = [(c, c.__dict__.get("_to_float")) for _, c in cell.cells_and_names() if c is not cell]
    cell.to_float(dtype)
    for child, before in below:
        child._to_float = before
        child._refresh()


class ScaledOptimizer(OptimizerAround):
    """An optimiser for losses that ``scale_loss`` scaled: divides the gradients by the scale, and
    leaves out steps whose gradients are not finite."""

    def __init__(self, optimizer: Optimizer, scaler: LossScaler) -> None:
        super().__init__(optimizer)
        self.scaler = scaler
        self._is_scaled = False

    def scale_loss(self, loss: Any) -> Any:
        """loss * scale; the next step takes it out again."""
        self._is_scaled = True
        return self.scaler.scale(loss)

    def construct(self, gradients: Sequence[Tensor | None]) -> bool:
        """Applies the gradients; False when the step was left out."""
        if not self._is_scaled:
            return self.opt(gradients)
        self._is_scaled = False
        wanted = [g for g in gradients if g is not None]
        finite = all_finite(wanted)
        unscaled = [None if g is None else self.scaler.unscale(g) for g in gradients]
        self.scaler.adjust(finite)
        return self.opt(unscaled) if finite else False


def scale_loss(loss: Any, optimizer: Any) -> Any:
    """The loss times the scale of an optimiser that build_train_network gave; backward and
    ``optimizer.step()`` follow.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 1)
    >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    >>> net, optimizer = ms.amp.build_train_network(net, optimizer, level="O2")
    >>> loss = ms.amp.scale_loss(net(ms.ops.ones((1, 2))).sum(), optimizer)
    >>> loss.backward()
    >>> optimizer.step()
    """
    if not isinstance(optimizer, ScaledOptimizer):
        raise TypeError(
            "scale_loss: optimizer must be one that build_train_network gave, but got "
            f"{type(optimizer).__name__}"
        )
    return optimizer.scale_loss(loss)


class _TrainNetwork:
    """What build_train_network adds to a training step: it unpacks into network and optimiser."""

    def __iter__(self) -> Iterator[Any]:
        yield self.forward_network
        yield ScaledOptimizer(self.optimizer, self.scaler)


class _TrainStep(_TrainNetwork, TrainOneStepCell):
    """Without looking for overflows."""


class _ScaledTrainStep(_TrainNetwork, TrainOneStepWithLossScaleCell):
    """Steps that overflow are left out."""


def build_train_network(
    network: Cell,
    optimizer: Any,
    loss_fn: Any = None,
    level: str = "O0",
    loss_scale_manager: LossScaleManager | None = None,
) -> Any:
    """One step of training in mixed precision, as Model builds it; or, unpacked, the network and an
    optimiser for a loop of one's own with ``scale_loss``, ``backward`` and ``step``.

    The scale of such a loop starts at 2^16, or at the manager's, and follows overflows.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 1)
    >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    >>> step = ms.amp.build_train_network(net, optimizer, ms.nn.MSELoss(), level="O2")
    >>> loss = step(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))
    """
    forward = auto_mixed_precision(network, level)
    whole = forward if loss_fn is None else WithLossCell(forward, loss_fn)
    manager = loss_scale_manager
    update = manager.get_update_cell() if manager else None
    if update is not None:
        step: Any = _ScaledTrainStep(whole, optimizer, update)
    else:
        step = _TrainStep(whole, optimizer, manager.get_loss_scale() if manager else 1.0)
    if isinstance(manager, FixedLossScaleManager):
        step.scaler = StaticLossScaler(manager.get_loss_scale())
    else:
        start = manager.get_loss_scale() if manager else 2.0**16
        step.scaler = DynamicLossScaler(start, 2, 2000)
    step.forward_network = forward
    return step


def all_finite(inputs: Any) -> Tensor:
    """Whether no tensor of ``inputs`` holds an infinity or NaN, a 0-d bool Tensor.

    >>> import diptych as ms
    >>> ms.amp.all_finite([ms.Tensor([1.0]), ms.Tensor([float("inf")])]).item()
    False
    """
    many = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not many:
        return Tensor(True)
    return ops.stack([ops.isfinite(t).all() for t in many]).all()


class LossScaler:
    """Base of scalers for loops of one's own: ``scale`` the loss, ``unscale`` its gradients,
    ``adjust`` by whether they are finite.

    >>> import diptych as ms
    >>> isinstance(ms.amp.StaticLossScaler(128), ms.amp.LossScaler)
    True
    """

    def __init__(self, scale_value: float) -> None:
        cls = type(self).__name__
        self.scale_value = Parameter(
            Tensor(bounded(cls, "scale_value", scale_value, 1.0), ops.float32),
            name="scale_value",
            requires_grad=False,
        )

    def scale(self, inputs: Any) -> Any:
        """inputs * scale."""
        return _each(inputs, lambda t: t * self.scale_value.astype(t.dtype))

    def unscale(self, inputs: Any) -> Any:
        """inputs / scale."""
        return _each(inputs, lambda t: (t / self.scale_value.value()).astype(t.dtype))

    def adjust(self, grads_finite: Tensor) -> bool:
        """Takes note of a step; whether the scale may have changed."""
        raise NotImplementedError(f"{type(self).__name__} does not give adjust()")


def _each(inputs: Any, function: Any) -> Any:
    if isinstance(inputs, Tensor):
        return function(inputs)
    return type(inputs)(_each(t, function) for t in inputs)


class StaticLossScaler(LossScaler):
    """A scale that stays.

    >>> import diptych as ms
    >>> print(ms.amp.StaticLossScaler(128).scale(ms.Tensor(2.0)))
    256.0
    """

    def adjust(self, grads_finite: Tensor) -> bool:
        """Nothing changes: False."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that shrinks by ``scale_factor`` (down to 1) when gradients are not finite, and grows
    after ``scale_window`` steps in which they are.

    >>> import diptych as ms
    >>> scaler = ms.amp.DynamicLossScaler(1024, 2, 100)
    >>> scaler.adjust(ms.Tensor(False)), scaler.scale_value.item()
    (True, 512.0)
    """

    def __init__(self, scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__(scale_value)
        self.scale_factor = bounded("DynamicLossScaler", "scale_factor", scale_factor, 1.0)
        self.scale_window = counted("DynamicLossScaler", "scale_window", scale_window)
        self.counter = Parameter(Tensor(0, ops.int32), name="counter", requires_grad=False)

    def adjust(self, grads_finite: Tensor) -> bool:
        """Takes note of a step: True."""
        one = ops.ones_like(self.scale_value)
        shrunk = ops.maximum(self.scale_value / self.scale_factor, one)
        is_due = self.counter + 1 >= self.scale_window
        grown = ops.select(is_due, self.scale_value * self.scale_factor, self.scale_value.value())
        good = ops.logical_and(grads_finite, ops.logical_not(is_due))
        self.counter.set_data(ops.select(good, self.counter + 1, ops.zeros_like(self.counter)))
        self.scale_value.set_data(ops.select(grads_finite, grown, shrunk))
        return True
