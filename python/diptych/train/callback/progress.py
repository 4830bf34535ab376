"""A progress bar, and printing that does not tear it.

In a terminal and in notebooks the bar is tqdm's and redraws itself; when stderr is a file or a pipe
a line is written now and then instead.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import Any, TextIO

from ..._core import Tensor
from ...nn.bounds import bounded
from .callback import Callback, RunContext

__all__ = ["ProgressBar"]

_open_bars: list[Any] = []  # the last one is on the screen


def show(text: str) -> None:
    """Prints a line to stdout, above the bar where there is one."""
    if _open_bars and hasattr(_open_bars[-1], "write"):
        _open_bars[-1].write(text, file=sys.stdout)
    else:
        print(text, flush=True)


def loss_of(outputs: Any) -> float | None:
    """The loss in what a training step returned, or None."""
    first = outputs[0] if isinstance(outputs, tuple | list) and outputs else outputs
    if isinstance(first, Tensor):
        return float(first.mean() if first.size != 1 else first)
    return float(first) if isinstance(first, int | float) else None


def waiting_share(params: Any, seconds: float) -> float:
    """The part of an epoch's time so far that went by waiting for its data set; 0 where the data
    set does not tell."""
    dataset = params.train_dataset if params.get("mode") == "train" else params.valid_dataset
    waited = getattr(dataset, "get_wait_time", lambda: 0.0)()
    return min(waited / seconds, 1.0) if seconds > 0 else 0.0


class _LogLines:
    """The bar for files: one line every ``seconds``, and one at the end."""

    def __init__(self, total: int, desc: str, seconds: float, file: TextIO) -> None:
        self._total, self._desc, self._seconds, self._file = total, desc, seconds, file
        self._n, self._postfix = 0, ""
        self._start = self._last = time.monotonic()

    def update(self, n: int = 1) -> None:
        """n steps more."""
        self._n += n
        if time.monotonic() - self._last >= self._seconds:
            self._print()

    def set_postfix_str(self, text: str, refresh: bool = False) -> None:
        """What stands at the end of a line."""
        self._postfix = text

    def close(self) -> None:
        """Writes the last line."""
        if self._n:
            self._print()

    def _print(self) -> None:
        self._last = time.monotonic()
        spent = max(self._last - self._start, 1e-9)
        rate = self._n / spent
        of = f"/{self._total}" if self._total else ""
        left = f"<{_clock((self._total - self._n) / rate)}" if self._total > self._n else ""
        tail = f", {self._postfix}" if self._postfix else ""
        self._file.write(
            f"{self._desc}: {self._n}{of} [{_clock(spent)}{left}, {rate:.2f} step/s{tail}]\n"
        )
        self._file.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return type(running).__name__ == "ZMQInteractiveShell"


def _tqdm() -> Any:
    """The class of bars: in notebooks the one of widgets, where they are installed."""
    if _is_notebook() and importlib.util.find_spec("ipywidgets"):
        return importlib.import_module("tqdm.notebook").tqdm
    return importlib.import_module("tqdm").tqdm


class ProgressBar(Callback):
    """Shows each epoch of training and evaluation as a bar with steps a second, the time that
    remains, the loss, and "waits 3 %" when so much of the time went by waiting for a data set of
    diptych.dataset.

    Args:
        seconds: how often the loss is read (reading it may wait for the step), and a line written
            where stderr is no terminal.
        leave: whether the bar of an epoch stays on the screen.
        file: where to; None: stderr.

    >>> import diptych as ms
    >>> bar = ms.train.ProgressBar(seconds=10)
    """

    def __init__(
        self, seconds: float | None = None, leave: bool = True, file: TextIO | None = None
    ) -> None:
        if seconds is not None:
            bounded("ProgressBar", "seconds", seconds, 0.0)
        self._seconds = seconds
        self._leave = leave
        self._file = file
        self._bar: Any = None
        self._read_at = self._began = 0.0

    def __exit__(self, *error: Any) -> None:
        self._close()

    def epoch_begin(self, run_context: RunContext) -> None:
        """Opens the bar."""
        params = run_context.original_args()
        total = params.get("epoch_num", 1)
        is_train = params.get("mode") == "train"
        desc = f"epoch {params.cur_epoch_num}/{total}" if is_train else "eval"
        self._close()  # an evaluation comes after the steps of its epoch
        self._bar = self._open(params.batch_num, desc)
        _open_bars.append(self._bar)
        self._read_at, self._began = 0.0, time.monotonic()

    def _open(self, total: int, desc: str) -> Any:
        file = self._file or sys.stderr
        is_screen = getattr(file, "isatty", lambda: False)()
        if not is_screen and not _is_notebook():
            return _LogLines(total, desc, 30.0 if self._seconds is None else self._seconds, file)
        return _tqdm()(
            total=total or None,
            desc=desc,
            unit="step",
            leave=self._leave,
            file=file if is_screen else None,
            dynamic_ncols=True,
        )

    def step_end(self, run_context: RunContext) -> None:
        """Moves the bar."""
        now = time.monotonic()
        if now - self._read_at >= (0.5 if self._seconds is None else self._seconds):
            self._read_at = now
            params = run_context.original_args()
            loss = loss_of(params.net_outputs)
            parts = [] if loss is None else [f"loss={loss:.4g}"]
            share = waiting_share(params, now - self._began)
            if share >= 0.01:
                parts.append(f"waits {100 * share:.0f} %")
            self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update(1)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Closes the bar and tells what an evaluation gave."""
        self._close()
        results = run_context.original_args().get("eval_results")
        if results:
            show(f"eval: {_listed(results)}")

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Closes the bar."""
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            _open_bars.remove(self._bar)
            self._bar.close()
            self._bar = None


def _listed(results: dict[str, Any]) -> str:
    """The results that are single numbers; arrays would fill the screen."""
    return ", ".join(
        f"{name} {float(value):.4g}"
        for name, value in results.items()
        if isinstance(value, int | float) or getattr(value, "shape", None) == ()
    )
