"""What callbacks are, and the list of them that a run of Model calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Callback", "RunContext"]

EVENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


class RunParams(dict):
    """The facts of a run, as items and as attributes; callbacks may add their own."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(sorted(self))
            raise AttributeError(
                f"the parameters of this run have no '{name}'; they have {known}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """What callbacks get: the facts of the run and a way to end it.

    ``original_args()`` has, among others: mode ("train" or "eval"), network, train_network,
    eval_network, loss_fn, optimizer, epoch_num, batch_num (0: unknown), cur_epoch_num,
    cur_step_num (over all epochs), cur_step_in_epoch, net_outputs, metrics, eval_results,
    train_dataset, valid_dataset, list_callback.

    >>> import diptych as ms
    >>> context = ms.train.RunContext({"cur_step_num": 3})
    >>> context.request_stop()
    >>> context.get_stop_requested()
    True
    """

    def __init__(self, original_args: dict) -> None:
        if not isinstance(original_args, dict):
            raise TypeError(f"RunContext: original_args must be a dict, got {original_args!r}")
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The facts of the run, a dict whose items are attributes too."""
        return self._original_args

    def request_stop(self) -> None:
        """Ends the run after the present step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether somebody asked for the end."""
        return self._stop_requested


class Callback:
    """Base of callbacks: override what is wanted.

    ``begin``, ``epoch_begin``, ``step_begin``, ``step_end``, ``epoch_end`` and ``end`` are called
    in training and in evaluation; their ``on_train_...`` and ``on_eval_...`` forms in one of them.
    A callback is a context: it is entered before a run and left after it, whatever happens.

    >>> import diptych as ms
    >>> class Stop(ms.train.Callback):
    ...     def on_train_step_end(self, run_context):
    ...         if run_context.original_args().cur_step_num == 3:
    ...             run_context.request_stop()
    """

    def __enter__(self) -> Callback:
        return self

    def __exit__(self, *error: Any) -> None:
        """Called when the run is over."""

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before the first epoch of training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch of training."""
        self.epoch_begin(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before a step of training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After a step of training."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After an epoch of training."""
        self.epoch_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the epoch of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before a step of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After a step of an evaluation."""
        self.step_end(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the epoch of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After an evaluation."""
        self.end(run_context)


class CallbackList:
    """Callbacks in order; ``call("on_train_begin", context)`` calls all of them."""

    def __init__(self, callbacks: Any) -> None:
        if callbacks is None:
            callbacks = []
        elif isinstance(callbacks, Callback):
            callbacks = [callbacks]
        elif not isinstance(callbacks, Iterable):
            raise TypeError(f"Model: 'callbacks' must be Callbacks, but got {callbacks!r}")
        self.callbacks: list[Callback] = list(callbacks)
        for c in self.callbacks:
            if not isinstance(c, Callback):
                raise TypeError(
                    f"Model: 'callbacks' must hold Callbacks, but got {type(c).__name__}"
                )

    def __enter__(self) -> CallbackList:
        entered: list[Callback] = []
        try:
            for c in self.callbacks:
                c.__enter__()
                entered.append(c)
        except BaseException as error:
            _leave(entered, type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        _leave(self.callbacks, *error)

    def call(self, event: str, context: RunContext) -> None:
        """Calls the method ``event`` of each."""
        for c in self.callbacks:
            getattr(c, event)(context)


def _leave(callbacks: list[Callback], *error: Any) -> None:
    """Leaves all, the last first; the first error is raised when all are left."""
    failed: BaseException | None = None
    for c in reversed(callbacks):
        try:
            c.__exit__(*error)
        except BaseException as e:
            failed = failed or e
    if failed is not None and error[1] is None:
        raise failed
