"""Writing what TensorBoard shows: SummaryRecord by hand, SummaryCollector in a training."""

from __future__ import annotations

import os
import re
from typing import Any

from ..._core import Tensor
from ...nn.bounds import counted
from ..events import EventWriter, histogram, image, scalar
from .callback import Callback, RunContext
from .progress import loss_of

__all__ = ["SummaryCollector", "SummaryRecord"]

_PLUGINS = {"scalar": scalar, "histogram": histogram, "image": image}


class SummaryRecord:
    """An event file for TensorBoard.

    >>> import diptych as ms, tempfile
    >>> with ms.train.SummaryRecord(tempfile.mkdtemp()) as record:
    ...     record.add_value("scalar", "loss", 0.5)
    ...     record.record(1)
    """

    def __init__(self, log_dir: str | os.PathLike) -> None:
        self._writer = EventWriter(log_dir)
        self._values: list[bytes] = []

    def __enter__(self) -> SummaryRecord:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return self._writer.path

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """A value for the next record: plugin "scalar", "histogram" or "image" (shapes: see
        ``events.image``)."""
        if plugin not in _PLUGINS:
            raise ValueError(f"add_value: plugin is {plugin!r}; legal: {', '.join(_PLUGINS)}")
        if isinstance(value, Tensor):
            value = value.item() if plugin == "scalar" else value.astype("float32").asnumpy()
        self._values.append(_PLUGINS[plugin](name, value))

    def record(self, step: int) -> None:
        """Writes the values added since the last record."""
        if self._values:
            self._writer.write(step, self._values)
        self._values = []

    def close(self) -> None:
        """Ends the file."""
        self._writer.close()


class SummaryCollector(Callback):
    """Writes loss and learning rate every ``collect_freq`` steps, the results of evaluations, and
    histograms of parameters after each epoch, as an event file that TensorBoard reads.

    Args:
        summary_dir: made when it is not there.
        collect_freq: steps between two values; the first step counts.
        collect_specified_data: ``collect_metric`` (loss and results of evaluations),
            ``collect_learning_rate``: bool; ``histogram_regular``: a regular expression of
            parameter names, None for no histograms.
        keep_default_action: whether what is not named there is collected as by default (the
            metrics, the rate, no histograms) or not at all.

    >>> import diptych as ms
    >>> import tempfile
    >>> collector = ms.train.SummaryCollector(tempfile.mkdtemp(), collect_freq=10)
    """

    _DEFAULTS: dict[str, Any] = {
        "collect_metric": True,
        "collect_learning_rate": True,
        "histogram_regular": None,
    }

    def __init__(
        self,
        summary_dir: str | os.PathLike,
        collect_freq: int = 10,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
    ) -> None:
        self._dir = summary_dir
        self._collect_freq = counted("SummaryCollector", "collect_freq", collect_freq)
        chosen = collect_specified_data or {}
        for name in chosen:
            if name not in self._DEFAULTS:
                raise ValueError(
                    f"SummaryCollector: collect_specified_data has no '{name}'; it has "
                    f"{', '.join(self._DEFAULTS)}"
                )
        self._wanted = {**self._DEFAULTS, **chosen} if keep_default_action else chosen
        self._regular = self._wanted.get("histogram_regular")
        if self._regular is not None:
            re.compile(self._regular)
        self._record: SummaryRecord | None = None

    def __exit__(self, *error: Any) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Opens a file."""
        self._record = SummaryRecord(self._dir)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Loss and rate."""
        params = run_context.original_args()
        step = params.cur_step_num
        if self._record is None or (step != 1 and step % self._collect_freq):
            return
        loss = loss_of(params.net_outputs)
        if loss is not None and self._wanted.get("collect_metric"):
            self._record.add_value("scalar", "loss", loss)
        if params.optimizer is not None and self._wanted.get("collect_learning_rate"):
            rates = params.optimizer.get_lr()
            rate = rates[0] if isinstance(rates, tuple) else rates
            self._record.add_value("scalar", "learning_rate", float(rate))
        self._record.record(step)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Results of an evaluation, histograms."""
        params = run_context.original_args()
        if self._record is None:
            return
        if self._wanted.get("collect_metric"):
            for name, value in (params.get("eval_results") or {}).items():
                if isinstance(value, int | float) or getattr(value, "size", 0) == 1:
                    self._record.add_value("scalar", f"eval/{name}", float(value))
        if self._regular is not None:
            for p in params.network.get_parameters():
                if re.search(self._regular, p.name):
                    self._record.add_value("histogram", p.name, p)
        self._record.record(params.cur_step_num)
