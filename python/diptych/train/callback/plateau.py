"""Callbacks that act when a measured value gets no better: EarlyStopping, ReduceLROnPlateau."""

from __future__ import annotations

import math
from typing import Any

from ..._core import Tensor
from ...nn.bounds import bounded, counted
from .callback import Callback, RunContext
from .monitor import constant_rate
from .progress import loss_of, show

__all__ = ["EarlyStopping", "ReduceLROnPlateau"]

_RISING = ("acc", "precision", "recall", "f1", "auc", "dice", "bleu", "top")


class _Watcher(Callback):
    """Compares the monitored value of each epoch with the best so far.

    ``monitor``: "loss" (of the last step), "eval_loss", or a metric of the evaluation, by its name
    with or without "eval_". ``mode``: "min", "max", or "auto" by the name.
    """

    def __init__(self, monitor: str, patience: int, verbose: bool, mode: str, min_delta: float):
        cls = type(self).__name__
        if not isinstance(monitor, str):
            raise TypeError(f"{cls}: monitor must be a str, but got {monitor!r}")
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"{cls}: mode is {mode!r}; it must be 'auto', 'min' or 'max'")
        self.monitor = monitor
        self.patience = counted(cls, "patience", patience, 0)
        self.verbose = verbose
        self.min_delta = bounded(cls, "min_delta", min_delta, 0.0)
        if mode == "auto":
            mode = "max" if any(word in monitor.lower() for word in _RISING) else "min"
        self.mode = mode
        self._restart()

    def _restart(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.wait = 0

    def _value(self, run_context: RunContext) -> float | None:
        """The monitored value; None in an epoch without evaluation."""
        params = run_context.original_args()
        results: dict[str, Any] = params.get("eval_results") or {}
        if self.monitor == "loss":
            value: Any = loss_of(params.net_outputs)
        else:
            name = self.monitor.removeprefix("eval_")
            value = results.get(self.monitor, results.get(name))
            if value is None and results:
                raise ValueError(
                    f"{type(self).__name__}: there is no '{self.monitor}'; monitor can be loss or "
                    f"{', '.join(results)}"
                )
        if value is None:
            return None
        if isinstance(value, Tensor) or hasattr(value, "item"):
            value = value.item()
        if not isinstance(value, int | float):
            raise TypeError(f"{type(self).__name__}: '{self.monitor}' is no number: {value!r}")
        return float(value)

    def _is_better(self, value: float, than: float) -> bool:
        if self.mode == "min":
            return value < than - self.min_delta
        return value > than + self.min_delta


class EarlyStopping(_Watcher):
    """Ends the training when the monitored value got no better for ``patience`` epochs.

    Args:
        monitor: "loss", "eval_loss" or a metric.
        min_delta: by how much it must change to count.
        patience: epochs to wait.
        verbose: prints when training ends.
        mode: "min", "max" or "auto".
        baseline: the value that has to be beaten.
        restore_best_weights: goes back to the weights of the best epoch at the end.

    >>> import diptych as ms
    >>> stop = ms.train.EarlyStopping(monitor="eval_loss", patience=3)
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, patience, verbose, mode, min_delta)
        if baseline is not None:
            bounded("EarlyStopping", "baseline", baseline, -math.inf)
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.stopped_epoch = 0
        self._weights: list[tuple[Any, Tensor]] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        """Starts anew."""
        self._restart()
        self.stopped_epoch = 0
        self._weights = []

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the value."""
        value = self._value(run_context)
        if value is None:
            return
        self.wait += 1
        if self._is_better(value, self.best):
            self.best = value
            if self.restore_best_weights:
                network = run_context.original_args().train_network
                self._weights = [(p, p.value()) for p in network.get_parameters()]
            if self.baseline is None or self._is_better(value, self.baseline):
                self.wait = 0
        if self.wait >= max(self.patience, 1):
            self.stopped_epoch = run_context.original_args().cur_epoch_num
            run_context.request_stop()

    def on_train_end(self, run_context: RunContext) -> None:
        """Restores the best weights."""
        for p, value in self._weights:
            p.set_data(value)
        if self.stopped_epoch and self.verbose:
            show(
                f"Epoch {self.stopped_epoch}: early stopping, the best {self.monitor} is "
                f"{self.best}"
            )


class ReduceLROnPlateau(_Watcher):
    """Multiplies the learning rate by ``factor`` when the monitored value got no better for
    ``patience`` epochs.

    Args:
        monitor, patience, verbose, mode, min_delta: as EarlyStopping's.
        factor: in [0, 1).
        cooldown: epochs after a change in which nothing is counted.
        min_lr: no rate below it.

    >>> import diptych as ms
    >>> reduce = ms.train.ReduceLROnPlateau(monitor="eval_loss", factor=0.5, patience=2)
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, patience, verbose, mode, min_delta)
        self.factor = bounded("ReduceLROnPlateau", "factor", factor, 0.0)
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; it must be below 1")
        self.cooldown = counted("ReduceLROnPlateau", "cooldown", cooldown, 0)
        self.min_lr = bounded("ReduceLROnPlateau", "min_lr", min_lr, 0.0)
        self._resting = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Starts anew."""
        constant_rate("ReduceLROnPlateau", run_context.original_args())
        self._restart()
        self._resting = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Looks at the value."""
        value = self._value(run_context)
        if value is None:
            return
        if self._resting:
            self._resting -= 1
            self.wait = 0
        if self._is_better(value, self.best):
            self.best = value
            self.wait = 0
        elif not self._resting:
            self.wait += 1
            if self.wait >= max(self.patience, 1):
                self._reduce(run_context)

    def _reduce(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        rate = constant_rate("ReduceLROnPlateau", params)
        self.wait, self._resting = 0, self.cooldown
        new = max(rate.item() * self.factor, self.min_lr)
        if new < rate.item():
            rate.set_data(Tensor(new, rate.dtype))
            if self.verbose:
                show(f"Epoch {params.cur_epoch_num}: the learning rate is {new} from now on")
