"""Model: a network, its loss, optimiser and metrics, with the loops of training and evaluation."""

from __future__ import annotations

import os
import warnings
from typing import Any

from ..common.grad import no_grad
from ..nn.bounds import counted
from ..nn.cell import Cell
from ..nn.loss_scale import TrainOneStepWithLossScaleCell
from ..nn.optim import Optimizer
from ..nn.wrap import TrainOneStepCell, WithEvalCell, WithLossCell
from .amp import auto_mixed_precision
from .callback.callback import CallbackList, RunContext, RunParams
from .data import batches, check_dataset, count_batches
from .loss_scale_manager import LossScaleManager
from .metrics import Loss, get_metrics
from .serialization import restore_training

__all__ = ["Model"]


class Model:
    """Trains and evaluates a network.

    Args:
        network: the network; without ``loss_fn`` it gives the loss itself.
        loss_fn: ``loss_fn(outputs, label)``. Batches are then pairs (data, label).
        optimizer: an Optimizer; without one ``network`` is a whole training step
            (TrainOneStepCell).
        metrics: what eval measures: names ({"accuracy", "loss"}), or a dict {name: Metric}.
        eval_network: what eval runs; its results go to the metrics.
        eval_indexes: places of loss, prediction and label in the results of eval_network.
        amp_level: "O0" float32; "O2" float16 but for norms; "O3" float16; "auto" float16 where it
            is safe; see amp.auto_mixed_precision.
        loss_scale_manager: scales the loss in training.

    >>> import diptych as ms
    >>> from diptych import nn
    >>> ms.set_seed(1)
    >>> net = nn.Dense(2, 1)
    >>> data = [(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))]
    >>> model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"loss"})
    >>> before = model.eval(data)["loss"]
    >>> model.train(5, data)
    >>> model.eval(data)["loss"] < before
    True
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Any = None,
        optimizer: Optimizer | None = None,
        metrics: Any = None,
        eval_network: Cell | None = None,
        eval_indexes: Any = None,
        amp_level: str = "O0",
        loss_scale_manager: LossScaleManager | None = None,
    ) -> None:
        _check_kinds(network, optimizer, loss_scale_manager)
        self._network = network
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._loss_scale_manager = loss_scale_manager
        if amp_level != "O0":
            network = auto_mixed_precision(network, amp_level)
        self._train_network = self._make_train_network(network)
        self._metrics = get_metrics(metrics)
        self._eval_network, self._eval_indexes = self._make_eval_network(
            network, eval_network, eval_indexes
        )

    # ---- the networks

    def _make_train_network(self, network: Cell) -> Cell:
        if self._loss_fn is not None:
            network = WithLossCell(network, self._loss_fn)
        optimizer, manager = self._optimizer, self._loss_scale_manager
        if optimizer is None:
            if manager is not None:
                raise ValueError("Model: 'loss_scale_manager' needs an 'optimizer'")
            return network
        update = manager.get_update_cell() if manager else None
        if update is not None:
            return TrainOneStepWithLossScaleCell(network, optimizer, update)
        return TrainOneStepCell(network, optimizer, manager.get_loss_scale() if manager else 1.0)

    def _make_eval_network(
        self, network: Cell, eval_network: Cell | None, indexes: Any
    ) -> tuple[Cell | None, tuple[int, ...] | None]:
        if eval_network is not None:
            if indexes is not None and not (
                isinstance(indexes, tuple | list)
                and len(indexes) == 3
                and all(isinstance(i, int) for i in indexes)
            ):
                raise ValueError(
                    "Model: 'eval_indexes' must hold the places of loss, prediction and label, "
                    f"but got {indexes!r}"
                )
            return eval_network, None if indexes is None else tuple(indexes)
        if self._loss_fn is not None:
            return WithEvalCell(network, self._loss_fn), (0, 1, 2)
        return None, None

    @property
    def train_network(self) -> Cell:
        """One step of training."""
        return self._train_network

    @property
    def predict_network(self) -> Cell:
        """The network itself."""
        return self._network

    @property
    def eval_network(self) -> Cell | None:
        """What eval runs."""
        return self._eval_network

    # ---- training

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume_from: str | os.PathLike | None = None,
    ) -> None:
        """Trains until ``epoch`` epochs are done.

        Args:
            epoch: number of epochs over all.
            train_dataset: an iterable of batches: tuples, lists or dicts of Tensors or arrays.
            callbacks: a Callback, or several.
            dataset_sink_mode, sink_size: for devices with queues of their own; on a CPU True
                is answered with a warning and changes nothing.
            initial_epoch: epochs that are done already.
            resume_from: a file of ModelCheckpoint, from which weights, optimiser and random state
                are restored; training goes on after its step, with the same bits where the batches
                are the same. Data sets of diptych.dataset go on with the order of that epoch,
                others should draw theirs from the random state of diptych when an epoch starts.
        """
        self.fit(
            epoch,
            train_dataset,
            callbacks=callbacks,
            dataset_sink_mode=dataset_sink_mode,
            sink_size=sink_size,
            initial_epoch=initial_epoch,
            resume_from=resume_from,
        )

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: Any = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume_from: str | os.PathLike | None = None,
    ) -> None:
        """Like train, with an evaluation after every ``valid_frequency`` epochs, or after those
        that a list names."""
        counted("Model", "epoch", epoch)
        counted("Model", "initial_epoch", initial_epoch, 0)
        if initial_epoch >= epoch:
            raise ValueError(
                f"Model: 'initial_epoch' is {initial_epoch}; it must be below 'epoch', {epoch}"
            )
        _check_sinks(dataset_sink_mode or valid_dataset_sink_mode)
        check_dataset("train_dataset", train_dataset)
        if valid_dataset is not None:
            check_dataset("valid_dataset", valid_dataset)
            self._check_can_eval()
        done = None
        if resume_from is not None:
            done = restore_training(self._train_network, resume_from)
            initial_epoch = done.epoch
            if hasattr(train_dataset, "set_epoch"):
                train_dataset.set_epoch(initial_epoch)
        listed = CallbackList(callbacks)
        params = self._params("train", listed)
        params.update(
            train_network=self._train_network,
            train_dataset=train_dataset,
            valid_dataset=valid_dataset,
            epoch_num=epoch,
            batch_num=count_batches(train_dataset),
            cur_epoch_num=initial_epoch,
            cur_step_num=done.step if done else 0,
            initial_epoch=initial_epoch,
        )
        run = _Run(self, params, listed, RunContext(params))
        with listed:
            run.train(valid_frequency, done)

    def _params(self, mode: str, listed: CallbackList) -> RunParams:
        return RunParams(
            mode=mode,
            network=self._network,
            eval_network=self._eval_network,
            loss_fn=self._loss_fn,
            optimizer=self._optimizer,
            metrics=self._metrics,
            list_callback=listed.callbacks,
            dataset_sink_mode=False,
            net_outputs=None,
        )

    # ---- evaluation and prediction

    def _check_can_eval(self) -> None:
        if not self._metrics:
            raise ValueError("Model: an evaluation needs 'metrics'")
        if self._eval_network is None:
            raise ValueError("Model: an evaluation needs 'loss_fn' or 'eval_network'")

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """{name of metric: value} over the data set."""
        _check_sinks(dataset_sink_mode)
        check_dataset("valid_dataset", valid_dataset)
        self._check_can_eval()
        listed = CallbackList(callbacks)
        with listed:
            return self._evaluate(valid_dataset, listed)

    def _evaluate(self, dataset: Any, listed: CallbackList) -> dict[str, Any]:
        params = self._params("eval", listed)
        params.update(
            valid_dataset=dataset,
            epoch_num=1,
            batch_num=count_batches(dataset),
            cur_epoch_num=1,
            cur_step_num=0,
            cur_step_in_epoch=0,
        )
        context = RunContext(params)
        network: Any = self._eval_network
        for metric in self._metrics.values():
            metric.clear()
        listed.call("on_eval_begin", context)
        listed.call("on_eval_epoch_begin", context)
        with _Mode(network, training=False), no_grad():
            for batch in batches(dataset):
                params.cur_step_num += 1
                params.cur_step_in_epoch += 1
                listed.call("on_eval_step_begin", context)
                params.net_outputs = network(*_checked(batch, self._eval_indexes == (0, 1, 2)))
                self._measure(params.net_outputs)
                listed.call("on_eval_step_end", context)
                if context.get_stop_requested():
                    break
        if not params.cur_step_num:
            raise ValueError("Model: 'valid_dataset' gave no batch")
        results = {name: metric.eval() for name, metric in self._metrics.items()}
        params.eval_results = results
        listed.call("on_eval_epoch_end", context)
        listed.call("on_eval_end", context)
        return results

    def _measure(self, outputs: Any) -> None:
        if not isinstance(outputs, tuple | list):
            outputs = (outputs,)
        for metric in self._metrics.values():
            if metric.indexes is not None or self._eval_indexes is None:
                metric.update(*outputs)
            elif isinstance(metric, Loss):
                metric.update(outputs[self._eval_indexes[0]])
            else:
                metric.update(outputs[self._eval_indexes[1]], outputs[self._eval_indexes[2]])

    def predict(self, *predict_data: Any) -> Any:
        """The network's results for inputs, in inference mode and without gradients."""
        with _Mode(self._network, training=False), no_grad():
            return self._network(*predict_data)


class _Run:
    """One run of training."""

    def __init__(
        self, model: Model, params: RunParams, listed: CallbackList, context: RunContext
    ) -> None:
        self.model, self.params, self.listed, self.context = model, params, listed, context

    def train(self, valid_frequency: Any, done: Any) -> None:
        params = self.params
        with _Mode(params.train_network, training=True):
            self.listed.call("on_train_begin", self.context)
            for epoch in range(params.initial_epoch, params.epoch_num):
                params.cur_epoch_num = epoch + 1
                self._train_epoch(done)
                done = None
                if _is_due(params, valid_frequency):
                    params.eval_results = self.model._evaluate(params.valid_dataset, self.listed)
                self.listed.call("on_train_epoch_end", self.context)
                if self.context.get_stop_requested():
                    break
            self.listed.call("on_train_end", self.context)

    def _train_epoch(self, done: Any) -> None:
        """One epoch; of the first, the steps that a checkpoint has ``done`` are passed over."""
        params, call = self.params, self.listed.call
        params.cur_step_in_epoch = 0
        call("on_train_epoch_begin", self.context)
        is_pair = self.model._loss_fn is not None
        skipped = done.step_in_epoch if done else 0
        for batch in batches(params.train_dataset):
            params.cur_step_in_epoch += 1
            if params.cur_step_in_epoch <= skipped:
                continue
            if done:
                done.set_random_state()
                done = None
            params.cur_step_num += 1
            call("on_train_step_begin", self.context)
            try:
                params.net_outputs = params.train_network(*_checked(batch, is_pair))
            except BaseException:  # a failing step changes nothing: it counts as not done
                params.cur_step_num -= 1
                params.cur_step_in_epoch -= 1
                raise
            call("on_train_step_end", self.context)
            if self.context.get_stop_requested():
                break
        if done:
            done.set_random_state()
        if not params.cur_step_in_epoch:
            raise ValueError(
                f"Model: 'train_dataset' gave no batch in epoch {params.cur_epoch_num} (an "
                "iterator runs only once: give a list or a data set)"
            )
        params.batch_num = params.batch_num or params.cur_step_in_epoch


class _Mode:
    """Training or inference mode of a network, and back to what each Cell had."""

    def __init__(self, network: Cell, training: bool) -> None:
        self._network, self._training = network, training

    def __enter__(self) -> None:
        self._before = [(c, c.training) for _, c in self._network.cells_and_names()]
        self._network.set_train(self._training)

    def __exit__(self, *error: Any) -> None:
        for cell, training in self._before:
            cell.training = training


def _is_due(params: RunParams, frequency: Any) -> bool:
    """Whether an evaluation follows this epoch."""
    if params.valid_dataset is None:
        return False
    if isinstance(frequency, list | tuple):
        return params.cur_epoch_num in frequency
    counted("Model", "valid_frequency", frequency)
    return params.cur_epoch_num % frequency == 0


def _checked(batch: tuple[Any, ...], is_pair: bool) -> tuple[Any, ...]:
    if is_pair and len(batch) != 2:
        raise ValueError(
            f"Model: with 'loss_fn' a batch is (data, label), but it has {len(batch)} parts; let "
            "the network give its loss itself for others"
        )
    return batch


def _check_kinds(network: Any, optimizer: Any, manager: Any) -> None:
    for name, value, kind in (
        ("network", network, Cell),
        ("optimizer", optimizer, Optimizer),
        ("loss_scale_manager", manager, LossScaleManager),
    ):
        if not isinstance(value, kind) and (value is not None or name == "network"):
            raise TypeError(
                f"Model: '{name}' must be of type {kind.__name__}, but got {type(value).__name__}"
            )


def _check_sinks(wanted: bool) -> None:
    if wanted:
        warnings.warn(
            "Model: dataset_sink_mode does not apply on a CPU, which has no queue of its own: "
            "batches go straight to the network",
            stacklevel=4,
        )
