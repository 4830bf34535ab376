"""An orderly end of a training that somebody asks for by a signal."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from ... import runtime
from ..serialization import save_checkpoint, training_extras
from .callback import Callback, RunContext
from .progress import show

__all__ = ["OnRequestExit"]


class OnRequestExit(Callback):
    """Ends the training after the present step when the process gets a signal, as schedulers send
    it before they end a job; ``directory/file_name.ckpt`` then holds weights, optimiser and random
    state, from which ``Model.train(resume_from=...)`` goes on.

    The signal's former handler is back when the training is over.

    Args:
        save_ckpt: writes the file.
        save_mindir: False; the graph of the network is not written.
        file_name: its name without the ending.
        directory: made when it is not there.
        sig: the signal.

    Raises RuntimeError when the training does not run in the main thread, where alone Python
    handles signals.

    >>> import diptych as ms
    >>> callback = ms.train.OnRequestExit(file_name="lenet", directory="checkpoints")
    """

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = False,
        file_name: str = "Net",
        directory: str | os.PathLike = ".",
        *,
        sig: int = signal.SIGTERM,
    ) -> None:
        where = "OnRequestExit"
        if save_mindir:
            raise ValueError(f"{where}: save_mindir is {save_mindir!r}; it must be False")
        if not isinstance(file_name, str) or not file_name or "/" in file_name:
            raise ValueError(f"{where}: file_name is {file_name!r}; it must be a text without /")
        if sig not in signal.valid_signals() or sig in (signal.SIGKILL, signal.SIGSTOP):
            raise ValueError(f"{where}: sig is {sig!r}; it must be a signal that can be handled")
        self._saves = bool(save_ckpt)
        self._path = os.path.join(os.fspath(directory), f"{file_name}.ckpt")
        self._sig = sig
        self._asked = False
        self._former: Any = None

    def __exit__(self, *error: Any) -> None:
        self._restore()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Takes over the signal."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("OnRequestExit: the training must run in the main thread")
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        self._asked = False
        self._former = (signal.signal(self._sig, self._note),)
        self._epoch_state = runtime.get_rng_state()

    def _note(self, number: int, frame: Any) -> None:
        self._asked = True

    def _restore(self) -> None:
        former, self._former = self._former, None
        if former is not None:
            signal.signal(self._sig, signal.SIG_DFL if former[0] is None else former[0])

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Notes the random state from which data sets shuffle."""
        self._epoch_state = runtime.get_rng_state()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Saves and asks for the end when the signal came."""
        if not self._asked or run_context.get_stop_requested():
            return
        run_context.request_stop()
        if self._saves:
            params = run_context.original_args()
            extras = training_extras(params, self._epoch_state)
            save_checkpoint(params.train_network, self._path, append_dict=extras)
            show(f"signal {signal.Signals(self._sig).name}: saved {self._path}, ending")

    def on_train_end(self, run_context: RunContext) -> None:
        """Gives the signal back."""
        self._restore()
