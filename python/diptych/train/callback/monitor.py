"""Callbacks that look on: loss, time, history, functions of one's own, learning rates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._core import Tensor
from ...nn.bounds import counted
from .callback import EVENTS, Callback, RunContext
from .progress import loss_of, show

__all__ = ["History", "LambdaCallback", "LearningRateScheduler", "LossMonitor", "TimeMonitor"]


class LossMonitor(Callback):
    """Prints the loss every ``per_print_times`` steps (0: never), and what evaluations give.

    Raises ValueError at a loss that is NaN or infinite.

    >>> import diptych as ms
    >>> monitor = ms.train.LossMonitor(per_print_times=100)
    """

    def __init__(self, per_print_times: int = 1) -> None:
        self._per_print_times = counted("LossMonitor", "per_print_times", per_print_times, 0)
        self._last = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Starts counting."""
        self._last = run_context.original_args().cur_step_num

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Prints the loss."""
        params = run_context.original_args()
        if not self._per_print_times or params.cur_step_num - self._last < self._per_print_times:
            return
        self._last = params.cur_step_num
        loss = loss_of(params.net_outputs)
        if loss is None:
            return
        place = f"epoch: {params.cur_epoch_num} step: {params.cur_step_in_epoch}"
        if not math.isfinite(loss):
            raise ValueError(f"{place}: the loss is {loss}, training ends")
        show(f"{place}, loss is {loss}")

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Prints the results of an evaluation."""
        params = run_context.original_args()
        if params.get("eval_results"):
            show(f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.eval_results}")


@dataclass
class _Clock:
    """When an epoch started, when its last step ended, and how long its steps waited for data."""

    started: float
    stopped: float
    waited: float = 0.0


class TimeMonitor(Callback):
    """Prints how long the steps of an epoch took; an evaluation is told apart.

    Args:
        data_size: steps of an epoch; None: those that were run.
        data_time: tells also how long the steps waited for data.

    >>> import diptych as ms
    >>> monitor = ms.train.TimeMonitor()
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        if data_size is not None:
            counted("TimeMonitor", "data_size", data_size)
        self.data_size = data_size
        self.data_time = data_time
        self._clocks: dict[str, _Clock] = {}  # an evaluation runs inside of a training epoch

    def epoch_begin(self, run_context: RunContext) -> None:
        """Notes the time."""
        now = time.perf_counter()
        self._clocks[run_context.original_args().mode] = _Clock(now, now)

    def step_begin(self, run_context: RunContext) -> None:
        """Notes the time spent on data."""
        clock = self._clocks[run_context.original_args().mode]
        clock.waited += time.perf_counter() - clock.stopped

    def step_end(self, run_context: RunContext) -> None:
        """Notes the time."""
        self._clocks[run_context.original_args().mode].stopped = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        """Prints."""
        params = run_context.original_args()
        clock = self._clocks[params.mode]
        spent = 1e3 * (clock.stopped - clock.started)
        steps = self.data_size or params.cur_step_in_epoch
        name = "Train" if params.mode == "train" else "Eval"
        text = f"{name} epoch time: {spent:.3f} ms, per step time: {spent / steps:.3f} ms"
        if self.data_time:
            text += f", data time: {1e3 * clock.waited / steps:.3f} ms a step"
        show(text)


class History(Callback):
    """Keeps what each epoch gave: ``epoch["epoch"]`` their numbers, ``history["net_output"]`` the
    last loss of each, ``history[name]`` the results of evaluations.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 1)
    >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
    >>> history = ms.train.History()
    >>> model.train(2, [(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))], callbacks=history)
    >>> history.epoch
    {'epoch': [1, 2]}
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {"epoch": []}

    def on_train_begin(self, run_context: RunContext) -> None:
        """Starts anew."""
        self.history = {}
        self.epoch = {"epoch": []}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Notes the epoch."""
        params = run_context.original_args()
        self.epoch["epoch"].append(params.cur_epoch_num)
        outputs = params.net_outputs
        first = outputs[0] if isinstance(outputs, tuple | list) and outputs else outputs
        value = first.asnumpy() if isinstance(first, Tensor) else first
        self.history.setdefault("net_output", []).append(value)
        for name, result in (params.get("eval_results") or {}).items():
            self.history.setdefault(name, []).append(result)


def _forward(event: str) -> Callable[[LambdaCallback, RunContext], None]:
    def method(self: LambdaCallback, run_context: RunContext) -> None:
        function = self._functions.get(event)
        if function is not None:
            function(run_context)

    method.__doc__ = f"Calls the function given as {event}."
    return method


class LambdaCallback(Callback):
    """Functions of the run context, by the name of the event: ``on_train_epoch_begin``,
    ``on_train_epoch_end``, ``on_train_step_begin``, ``on_train_step_end``, ``on_train_begin``,
    ``on_train_end``, and the same for ``on_eval_...``.

    >>> import diptych as ms
    >>> callback = ms.train.LambdaCallback(on_train_end=lambda run_context: print("done"))
    """

    def __init__(self, **functions: Callable[[RunContext], Any] | None) -> None:
        for name, function in functions.items():
            if name not in _LAMBDAS:
                raise TypeError(
                    f"LambdaCallback: '{name}' is no event; legal: {', '.join(_LAMBDAS)}"
                )
            if function is not None and not callable(function):
                raise TypeError(f"LambdaCallback: '{name}' must be callable, got {function!r}")
        self._functions = functions


_LAMBDAS = [f"on_{mode}_{event}" for mode in ("train", "eval") for event in EVENTS]
for _event in _LAMBDAS:
    setattr(LambdaCallback, _event, _forward(_event))


class LearningRateScheduler(Callback):
    """Sets the learning rate after each step to ``learning_rate_function(rate, cur_step_num)``.

    The optimiser must have a constant rate.

    >>> import diptych as ms
    >>> halve = lambda lr, step: lr * 0.5 if step % 100 == 0 else lr
    >>> scheduler = ms.train.LearningRateScheduler(halve)
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        if not callable(learning_rate_function):
            raise TypeError("LearningRateScheduler: learning_rate_function must be callable")
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        """Sets the rate."""
        params = run_context.original_args()
        rate = constant_rate("LearningRateScheduler", params)
        new = self.learning_rate_function(rate.item(), params.cur_step_num)
        rate.set_data(Tensor(float(new), rate.dtype))


def constant_rate(cls: str, params: Any) -> Any:
    """The Parameter that holds the optimiser's learning rate, or an error."""
    optimizer = params.get("optimizer") or getattr(params.train_network, "optimizer", None)
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Tensor):
        raise ValueError(f"{cls}: needs an optimizer with a constant learning rate")
    return rate
