"""What metrics are: ``clear()``, ``update(*outputs)`` a batch, ``eval()``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._core import Tensor

__all__ = ["EvaluationBase", "Metric", "rearrange_inputs"]

Array = NDArray[Any]


def rearrange_inputs(func: Callable) -> Callable:
    """For update methods: takes of their inputs those that ``set_indexes`` chose.

    >>> import diptych as ms
    >>> class Largest(ms.train.Metric):
    ...     def clear(self):
    ...         self.largest = 0.0
    ...
    ...     @ms.train.rearrange_inputs
    ...     def update(self, x):
    ...         self.largest = max(self.largest, float(x.max()))
    ...
    ...     def eval(self):
    ...         return self.largest
    >>> metric = Largest().set_indexes([1])
    >>> metric.clear()
    >>> metric.update(ms.Tensor([9.0]), ms.Tensor([3.0, 4.0]))
    >>> metric.eval()
    4.0
    """

    @functools.wraps(func)
    def wrapper(self: Any, *inputs: Any) -> Any:
        chosen = inputs if not self.indexes else tuple(inputs[i] for i in self.indexes)
        return func(self, *chosen)

    return wrapper


def as_array(data: Any) -> Array:
    """A Tensor, list or array as array; bfloat16 as float32."""
    if isinstance(data, Tensor):
        return data.astype("float32").asnumpy() if data.dtype.name == "bfloat16" else data.asnumpy()
    if isinstance(data, list | np.ndarray):
        return np.asarray(data)
    raise TypeError(
        f"a metric takes a Tensor, a list or a NumPy array, but got {type(data).__name__}"
    )


class Metric:
    """Base of metrics. A subclass gives ``clear``, ``update`` (decorated with rearrange_inputs) and
    ``eval``.

    >>> import diptych as ms
    >>> class Largest(ms.train.Metric):
    ...     def clear(self):
    ...         self.value = float("-inf")
    ...     @ms.train.rearrange_inputs
    ...     def update(self, *inputs):
    ...         self.value = max(self.value, inputs[0].max().item())
    ...     def eval(self):
    ...         return self.value
    >>> Largest()(ms.Tensor([1.0, 3.0]))
    3.0
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which of the inputs update takes; None: all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Chooses the inputs of update by their places; returns the metric."""
        if not isinstance(indexes, list) or not all(type(i) is int for i in indexes):
            raise ValueError(
                "For 'set_indexes', the argument 'indexes' must be a list and all its elements "
                f"must be int, please check whether it is correct. It is {indexes!r}"
            )
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        """The value for these inputs alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    def clear(self) -> None:
        """Forgets all batches."""
        raise NotImplementedError(f"{type(self).__name__} does not give clear()")

    def update(self, *inputs: Any) -> None:
        """Takes in a batch."""
        raise NotImplementedError(f"{type(self).__name__} does not give update()")

    def eval(self) -> Any:
        """The value over all batches."""
        raise NotImplementedError(f"{type(self).__name__} does not give eval()")

    def _take(self, inputs: tuple[Any, ...], n: int) -> tuple[Any, ...]:
        if len(inputs) != n:
            raise ValueError(
                f"{type(self).__name__}.update takes {n} input{'s'[: n > 1]}, but got {len(inputs)}"
            )
        return inputs

    def _pair(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        """Prediction and truth."""
        predicted, truth = self._take(inputs, 2)
        return as_array(predicted), as_array(truth)

    def _need(self, count: Any) -> None:
        if not count:
            raise RuntimeError(
                f"{type(self).__name__}: there was no sample yet; call update before eval"
            )


def is_one_hot(data: Array) -> bool:
    """Whether axis 1 holds one 1 and zeros."""
    return bool(data.ndim > 1 and np.isin(data, (0, 1)).all() and (data.sum(axis=1) == 1).all())


def classes_of(name: str, truth: Array, predicted: Array) -> Array:
    """Class numbers, also from one-hot rows, which must be below the number of predictions."""
    if predicted.ndim == truth.ndim and is_one_hot(truth):
        truth = truth.argmax(axis=1)
    if predicted.ndim < 2 or predicted.shape[:1] + predicted.shape[2:] != truth.shape:
        raise ValueError(
            f"{name}: the prediction has shape {predicted.shape} and the truth {truth.shape}; the "
            "truth must lack axis 1, the classes"
        )
    if truth.size and not (0 <= truth.min() and truth.max() < predicted.shape[1]):
        raise ValueError(
            f"{name}: classes must be in [0, {predicted.shape[1]}), but got {truth.min()} to "
            f"{truth.max()}"
        )
    return truth


class EvaluationBase(Metric):
    """Metrics of two kinds: ``eval_type`` "classification" (scores against class numbers or one-hot
    rows) and "multilabel" (0 and 1 against 0 and 1).

    >>> import diptych as ms
    >>> issubclass(ms.train.Precision, ms.train.EvaluationBase)
    True
    """

    def __init__(self, eval_type: str) -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(
                f"{type(self).__name__}: eval_type is {eval_type!r}; it must be 'classification' "
                "or 'multilabel'"
            )
        self._type = eval_type
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._class_num = 0

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        """Prediction and truth as (rows, classes) of 0 and 1."""
        name = type(self).__name__
        predicted, truth = self._pair(inputs)
        if self._type == "classification":
            truth = classes_of(name, truth, predicted)
        elif predicted.shape != truth.shape or predicted.ndim < 2:
            raise ValueError(
                f"{name}: the prediction has shape {predicted.shape} and the truth {truth.shape}; "
                "they must be the same, with classes on axis 1"
            )
        elif not (np.isin(predicted, (0, 1)).all() and np.isin(truth, (0, 1)).all()):
            raise ValueError(f"{name}: labels must be 0 or 1")
        if self._class_num and self._class_num != predicted.shape[1]:
            raise ValueError(
                f"{name}: there were {self._class_num} classes before, now {predicted.shape[1]}"
            )
        self._class_num = predicted.shape[1]
        if self._type == "classification":
            eye = np.eye(self._class_num, dtype=np.int64)
            return eye[predicted.argmax(axis=1).ravel()], eye[truth.astype(np.int64).ravel()]
        rows = (-1, self._class_num)
        return np.moveaxis(predicted, 1, -1).reshape(rows), np.moveaxis(truth, 1, -1).reshape(rows)
