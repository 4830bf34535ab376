"""Saving in the course of a training: ModelCheckpoint and its settings."""

from __future__ import annotations

import os
import time
from typing import Any

from ... import runtime
from ...nn.bounds import counted
from ...nn.cell import Cell
from ..serialization import save_checkpoint, training_extras, wait_for_checkpoints
from .callback import Callback, RunContext

__all__ = ["CheckpointConfig", "ModelCheckpoint"]


class CheckpointConfig:
    """When ModelCheckpoint saves, and how many files stay.

    Args:
        save_checkpoint_steps: after so many steps; 0: by time.
        save_checkpoint_seconds: after so many seconds; not together with steps other than 1.
        keep_checkpoint_max: how many files stay, the oldest go first; 0: all.
        keep_checkpoint_per_n_minutes: of each n minutes one file stays, and keep_checkpoint_max
            does not apply; 0: does not apply.
        integrated_save: for parameters split over processes; here all are whole.
        async_save: a thread writes.
        saved_network: what is saved; None: the whole training step with its optimiser, from which
            ``Model.train(resume_from=...)`` goes on.
        append_info: names of the training's facts ("epoch_num", "step_num") and dicts that stand in
            the file too; where saved_network is None it holds both always.
        exception_save: saves also when the training ends by an error.
        format: "ckpt" or "safetensors", the ending of the names.

    >>> import diptych as ms
    >>> config = ms.train.CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=3)
    >>> config.keep_checkpoint_max
    3
    """

    def __init__(
        self,
        save_checkpoint_steps: int = 1,
        save_checkpoint_seconds: int = 0,
        keep_checkpoint_max: int = 5,
        keep_checkpoint_per_n_minutes: int = 0,
        integrated_save: bool = True,
        async_save: bool = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        exception_save: bool = False,
        format: str = "ckpt",
    ) -> None:
        cls = "CheckpointConfig"
        self.save_checkpoint_steps = counted(cls, "save_checkpoint_steps", save_checkpoint_steps, 0)
        self.save_checkpoint_seconds = counted(
            cls, "save_checkpoint_seconds", save_checkpoint_seconds, 0
        )
        self.keep_checkpoint_max = counted(cls, "keep_checkpoint_max", keep_checkpoint_max, 0)
        self.keep_checkpoint_per_n_minutes = counted(
            cls, "keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes, 0
        )
        if not save_checkpoint_steps and not save_checkpoint_seconds:
            raise ValueError(
                f"{cls}: save_checkpoint_steps and save_checkpoint_seconds are both 0: it would "
                "never save"
            )
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise TypeError(f"{cls}: saved_network must be a Cell, but got {saved_network!r}")
        if format not in ("ckpt", "safetensors"):
            raise ValueError(f"{cls}: format is {format!r}; it must be 'ckpt' or 'safetensors'")
        self.async_save = async_save
        self.saved_network = saved_network
        self.append_dict, self.append_names = _read_append_info(append_info)
        self.exception_save = exception_save
        self.format = format

    def is_due(self, steps: int, seconds: float) -> bool:
        """Whether to save so many steps and seconds after the last time."""
        if self.save_checkpoint_seconds > 0:
            return seconds >= self.save_checkpoint_seconds
        return steps >= self.save_checkpoint_steps


def _read_append_info(append_info: Any) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    names: list[str] = []
    for item in append_info or []:
        if isinstance(item, dict):
            values.update(item)
        elif item in ("epoch_num", "step_num"):
            names.append(item)
        else:
            raise ValueError(
                f"CheckpointConfig: append_info holds {item!r}; legal are 'epoch_num', 'step_num' "
                "and dicts"
            )
    return values, names


class ModelCheckpoint(Callback):
    """Saves as ``directory/prefix-EPOCH_STEP.ckpt``, STEP counted within the epoch; at the end too.

    Args:
        prefix: the start of the names. Where files of that prefix are there already,
            "_1", "_2" ... is added.
        directory: made when it is not there; None: the present one.
        config: when and what; None: CheckpointConfig().

    >>> import diptych as ms
    >>> config = ms.train.CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=3)
    >>> callback = ms.train.ModelCheckpoint("lenet", "checkpoints", config)
    """

    def __init__(
        self,
        prefix: str = "CKP",
        directory: str | os.PathLike | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        if not isinstance(prefix, str) or not prefix or "/" in prefix:
            raise ValueError(f"ModelCheckpoint: prefix is {prefix!r}; it must be a text without /")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise TypeError(
                f"ModelCheckpoint: config must be a CheckpointConfig, got {type(config).__name__}"
            )
        self._prefix = prefix
        self._directory = os.fspath(directory) if directory is not None else os.curdir
        self._config = config or CheckpointConfig()
        self._files: list[str] = []
        self._context: RunContext | None = None
        self.latest_ckpt_file_name = ""

    def __exit__(self, *error: Any) -> None:
        context, self._context = self._context, None
        if context is None:
            return
        if self._config.exception_save and error and error[0] is not None:
            self._save(context.original_args())
        wait_for_checkpoints()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Makes the directory and looks for a name that is free."""
        os.makedirs(self._directory, exist_ok=True)
        self._name = self._free_name()
        self._context = run_context
        self._files = []
        self._last_step = run_context.original_args().cur_step_num
        self._last_time = time.monotonic()
        self._epoch_state = runtime.get_rng_state()

    def _free_name(self) -> str:
        names = os.listdir(self._directory)
        candidates = [self._prefix, *(f"{self._prefix}_{i}" for i in range(1, len(names) + 2))]
        return next(c for c in candidates if not any(n.startswith(c + "-") for n in names))

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Notes the random state from which data sets shuffle."""
        self._epoch_state = runtime.get_rng_state()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Saves when it is time."""
        params = run_context.original_args()
        steps = params.cur_step_num - self._last_step
        if self._config.is_due(steps, time.monotonic() - self._last_time):
            self._save(params)

    def on_train_end(self, run_context: RunContext) -> None:
        """Saves the last step and waits for the writing."""
        params = run_context.original_args()
        if params.cur_step_num > self._last_step:
            self._save(params)
        self._context = None
        wait_for_checkpoints()

    def _save(self, params: Any) -> None:
        config = self._config
        stem = f"{self._name}-{params.cur_epoch_num}_{params.cur_step_in_epoch}"
        path = os.path.join(self._directory, f"{stem}.{config.format}")
        facts = {"epoch_num": params.cur_epoch_num, "step_num": params.cur_step_num}
        extras = {**config.append_dict, **{name: facts[name] for name in config.append_names}}
        if config.saved_network is None:
            extras.update(training_extras(params, self._epoch_state))
        network = config.saved_network or params.train_network
        save_checkpoint(network, path, async_save=config.async_save, append_dict=extras)
        self._last_step, self._last_time = params.cur_step_num, time.monotonic()
        self.latest_ckpt_file_name = path
        self._keep(path)

    def _keep(self, path: str) -> None:
        """Removes files that are too many; the new one may still be being written."""
        config, now = self._config, time.monotonic()
        if path in self._files:
            self._files.remove(path)
        self._files.append(path)
        if config.keep_checkpoint_per_n_minutes:
            self._keep_by_time(now)
            return
        while config.keep_checkpoint_max and len(self._files) > config.keep_checkpoint_max:
            _remove(self._files.pop(0))

    def _keep_by_time(self, now: float) -> None:
        """The newest of the present n minutes stays, and one of each n minutes before."""
        if len(self._files) == 1:
            self._kept_at = now
        elif now - self._kept_at < 60 * self._config.keep_checkpoint_per_n_minutes:
            _remove(self._files.pop(-2))
        else:
            self._kept_at = now


def _remove(path: str) -> None:
    """Somebody else may have removed it before."""
    try:
        os.remove(path)
    except FileNotFoundError:
        pass
