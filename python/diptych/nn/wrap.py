"""Cells around a network: with its loss, with what metrics need, as one step of training."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.grad import GradOperation, value_and_grad
from ..common.parameter import Parameter, ParameterTuple
from .cell import Cell

__all__ = [
    "ForwardValueAndGrad",
    "ParameterUpdate",
    "TrainOneStepCell",
    "WithEvalCell",
    "WithLossCell",
]


def check_cell(cls: str, name: str, value: Any) -> Cell:
    """``value``, a Cell, or an error naming it."""
    if not isinstance(value, Cell):
        raise TypeError(f"For '{cls}', '{name}' must be a Cell, but got {type(value).__name__}")
    return value


class WithLossCell(Cell):
    """``loss_fn(backbone(data), label)``.

    >>> import diptych as ms
    >>> net = ms.nn.WithLossCell(ms.nn.Identity(), ms.nn.MSELoss())
    >>> net(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])).item()
    2.0
    """

    def __init__(self, backbone: Cell, loss_fn: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = check_cell("WithLossCell", "backbone", backbone)
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network without its loss."""
        return self._backbone


class WithEvalCell(Cell):
    """``(loss, outputs, label)`` of a batch, as Model.eval feeds them to metrics.

    ``add_cast_fp32``: outputs and label are converted to float32 before the loss.

    >>> import diptych as ms
    >>> net = ms.nn.WithEvalCell(ms.nn.Identity(), ms.nn.MSELoss())
    >>> loss, outputs, label = net(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0]))
    >>> loss.item()
    2.0
    """

    def __init__(self, network: Cell, loss_fn: Cell, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = check_cell("WithEvalCell", "network", network)
        self._loss_fn = loss_fn
        self.add_cast_fp32 = add_cast_fp32

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = _to_float32(outputs), _to_float32(label)
        return self._loss_fn(outputs, label), outputs, label


def _to_float32(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.astype(ops.float32, copy=False) if x.dtype.is_floating_point else x
    return type(x)(_to_float32(v) for v in x) if isinstance(x, tuple | list) else x


class ForwardValueAndGrad(Cell):
    """``(value, gradients)`` of a network.

    Args:
        weights: Parameters to differentiate for (with ``get_by_list``).
        get_all: gradients for all inputs.
        get_by_list: gradients for the weights; with get_all the pair of both.
        sens_param: the last argument of a call is the gradient of the value.

    >>> import diptych as ms
    >>> value, slope = ms.nn.ForwardValueAndGrad(lambda x: x * x)(ms.Tensor(3.0))
    >>> value.item(), slope.item()
    (9.0, 6.0)
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if get_by_list and weights is None:
            raise ValueError("For 'ForwardValueAndGrad', 'get_by_list' needs 'weights'")
        self.network = network
        self.weights = ParameterTuple(weights) if get_by_list else None
        self.grad = GradOperation(get_all, get_by_list, sens_param)
        self.sens_param = sens_param

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        value = self.network(*(inputs[:-1] if self.sens_param else inputs))
        return value, self.grad(self.network, self.weights)(*inputs)


class ParameterUpdate(Cell):
    """A call gives the Parameter a new value.

    >>> import diptych as ms
    >>> p = ms.Parameter(ms.Tensor([1.0]), name="p")
    >>> ms.nn.ParameterUpdate(p)(ms.Tensor([3.0])).tolist(), p.tolist()
    ([3.0], [3.0])
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(
                f"For 'ParameterUpdate', 'param' must be a Parameter, got {type(param).__name__}"
            )
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        return self._param.set_data(x)


class TrainOneStepCell(Cell):
    """One step: the loss of the inputs, its gradients, and the optimiser; returns the loss.

    Args:
        network: gives the loss.
        optimizer: its parameters are trained.
        sens: the gradients are those of sens * loss; the optimiser's loss_scale takes it out again.

    Subclasses may give a construct of their own over ``self.grad(self.network,
    self.weights)(*inputs, sens)`` and ``self.optimizer(grads)``.

    >>> import diptych as ms
    >>> net = ms.nn.WithLossCell(ms.nn.Dense(2, 1), ms.nn.MSELoss())
    >>> step = ms.nn.TrainOneStepCell(net, ms.nn.SGD(net.trainable_params(), 0.1))
    >>> x, y = ms.ops.ones((4, 2)), ms.ops.ones((4, 1))
    >>> first, second = step(x, y), step(x, y)
    >>> (second < first).item()
    True
    """

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = 1.0) -> None:
        super().__init__(auto_prefix=False)
        cls = type(self).__name__
        self.network = check_cell(cls, "network", network)
        self.optimizer = check_cell(cls, "optimizer", optimizer)
        self.weights = self.optimizer.parameters
        self.sens = sens
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.reducer_flag = False
        self.grad_reducer = _as_they_are

    def construct(self, *inputs: Any) -> Any:
        def scaled(*args: Any) -> tuple[Any, Any]:
            out = self.network(*args)
            return (out if self.sens == 1 else _times(out, self.sens)), out

        (_, loss), grads = value_and_grad(scaled, None, self.weights, has_aux=True)(*inputs)
        self.optimizer(self.grad_reducer(grads))
        return loss


def _as_they_are(grads: Any) -> Any:
    return grads


def _times(out: Any, sens: Any) -> Any:
    if isinstance(out, Tensor):
        return out * sens
    return type(out)(_times(o, sens) for o in out) if isinstance(out, tuple | list) else out
