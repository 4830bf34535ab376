"""Transforms of any data: types, one-hot labels, slices, masks, random choices of transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ..common.dtype import dtype_to_nptype
from .config import check_int, check_list
from .draws import Draws, current
from .transform import Transform, check_number, check_prob

__all__ = [
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "PadEnd",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "Relational",
    "Slice",
    "TypeCast",
    "Unique",
]


class Relational(IntEnum):
    """Comparisons of Mask.

    >>> from diptych.dataset import transforms
    >>> transforms.Relational.GT.name
    'GT'
    """

    EQ, NE, GT, GE, LT, LE = range(6)


_COMPARE = {
    Relational.EQ: np.equal,
    Relational.NE: np.not_equal,
    Relational.GT: np.greater,
    Relational.GE: np.greater_equal,
    Relational.LT: np.less,
    Relational.LE: np.less_equal,
}


def check_operations(
    where: str, transforms: Sequence[Callable[..., Any]]
) -> list[Callable[..., Any]]:
    """The transforms as a list, each of them callable."""
    if not isinstance(transforms, list | tuple) or not transforms:
        raise TypeError(f"{where}: 'transforms' is {transforms!r}; it must be a list of callables")
    for operation in transforms:
        if not callable(operation):
            raise TypeError(f"{where}: 'transforms' holds {operation!r}; it must hold callables")
    return list(transforms)


def run_operations(operations: Sequence[Callable[..., Any]], columns: tuple[Any, ...]) -> Any:
    """One operation after the other; a lone column comes bare."""
    for operation in operations:
        made = operation(*columns)
        columns = made if isinstance(made, tuple) else (made,)
    return columns[0] if len(columns) == 1 else columns


class Compose(Transform):
    """The transforms one after the other, as one.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> int(transforms.Compose([lambda x: x + 1, lambda x: x * 2])(np.array(3)))
    8
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = check_operations("Compose", transforms)
        self.uniform = all(getattr(operation, "uniform", False) for operation in self.transforms)

    def block(self, columns: list[np.ndarray], draws: Draws) -> list[np.ndarray]:
        for operation in self.transforms:
            columns = operation.block(columns, draws)  # type: ignore[attr-defined]
        return columns

    def __call__(self, *columns: Any) -> Any:
        return run_operations(self.transforms, columns)


def flattened(operations: Sequence[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The operations with those that a Compose holds in its place."""
    made: list[Callable[..., Any]] = []
    for operation in operations:
        inside = isinstance(operation, Compose)
        made += flattened(operation.transforms) if inside else [operation]  # type: ignore
    return made


class RandomApply(Transform):
    """All transforms in order with probability prob, else none.

    >>> from diptych.dataset import transforms
    >>> transforms.RandomApply([lambda x: x + 1], prob=1.0)(3)
    4
    """

    uniform = False

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        self.transforms = check_operations("RandomApply", transforms)
        self.prob = check_prob("RandomApply", prob)

    def __call__(self, *columns: Any) -> Any:
        chosen = self.transforms if current().uniform()[0] < self.prob else []
        return run_operations(chosen, columns)


class RandomChoice(Transform):
    """One of the transforms, each with the same probability.

    >>> from diptych.dataset import transforms
    >>> transforms.RandomChoice([lambda x: x + 1, lambda x: x + 2])(3) in (4, 5)
    True
    """

    uniform = False

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = check_operations("RandomChoice", transforms)

    def __call__(self, *columns: Any) -> Any:
        return run_operations(
            [self.transforms[current().integers(len(self.transforms))[0]]], columns
        )


class RandomOrder(Transform):
    """All transforms in random order.

    >>> from diptych.dataset import transforms
    >>> transforms.RandomOrder([lambda x: x + 1, lambda x: x * 2])(3) in (7, 8)
    True
    """

    uniform = False

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = check_operations("RandomOrder", transforms)

    def __call__(self, *columns: Any) -> Any:
        order = current().generator().permutation(len(self.transforms))
        return run_operations([self.transforms[i] for i in order], columns)


class TypeCast(Transform):
    """Elements converted to a dtype (of diptych or NumPy).

    >>> import numpy as np, diptych as ms
    >>> from diptych.dataset import transforms
    >>> transforms.TypeCast(ms.int32)(np.array([1.7, -1.7]))
    array([ 1, -1], dtype=int32)
    """

    pointwise = True

    def __init__(self, output_type: Any) -> None:
        self.output_type = output_type
        self._type = np.dtype(dtype_to_nptype(output_type))

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return x.astype(self._type, copy=False)


class OneHot(Transform):
    """Labels () or (n,) to (num_classes,) or (n, num_classes): 1 at the label, 0 elsewhere, in the
    labels' type. With smoothing_rate s: float32, 1 - s + s / num_classes and s / num_classes.

    Raises ValueError for a label outside [0, num_classes - 1].

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.OneHot(3)(np.array(1))
    array([0, 1, 0])
    """

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        self.num_classes = check_int("OneHot", "num_classes", num_classes, 1)
        self.smoothing_rate = check_number("OneHot", "smoothing_rate", smoothing_rate, 0.0, 1.0)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        if x.dtype.kind not in "iu" or x.ndim > 2:
            raise TypeError(
                f"OneHot: the labels are {x.dtype} of shape {list(x.shape[1:])}; they must be "
                "integers of at most one dimension"
            )
        wrong = x[(x < 0) | (x >= self.num_classes)]
        if wrong.size:
            raise ValueError(
                f"OneHot: a label is {wrong[0]}; it must be in [0, {self.num_classes - 1}]"
            )
        hot = np.eye(self.num_classes, dtype=x.dtype)[x]
        if not self.smoothing_rate:
            return hot
        s = self.smoothing_rate
        return (hot * (1 - s) + s / self.num_classes).astype(np.float32)


class Fill(Transform):
    """All elements become fill_value, in the data's type.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.Fill(7)(np.zeros(2))
    array([7., 7.])
    """

    def __init__(self, fill_value: Any) -> None:
        self.fill_value = fill_value

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return np.full_like(x, self.fill_value)


class Mask(Transform):
    """Whether each element compares to the constant: bool, or 0 and 1 of another dtype.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.Mask(transforms.Relational.GT, 1)(np.array([1, 2]))
    array([False,  True])
    """

    def __init__(self, operator: Relational, constant: Any, dtype: Any = np.bool_) -> None:
        if not isinstance(operator, Relational):
            raise TypeError(f"Mask: 'operator' is {operator!r}; it must be a Relational")
        self.operator, self.constant = operator, constant
        self._type = np.dtype(dtype_to_nptype(dtype))

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return _COMPARE[self.operator](x, self.constant).astype(self._type)


class Slice(Transform):
    """Parts of each axis in turn: an int or a list of them (these places), a slice, None or ...
    (all).

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.Slice(slice(1, 3))(np.array([5, 6, 7, 8]))
    array([6, 7])
    """

    def __init__(self, *slices: Any) -> None:
        for part in slices:
            if not (part is None or part is ... or isinstance(part, int | list | tuple | slice)):
                raise TypeError(
                    f"Slice: got {part!r}; it must be an int, a list of int, a slice, None or ..."
                )
        self.slices = slices

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        axis = 1
        for part in self.slices:
            if part is ...:
                axis = x.ndim - (len(self.slices) - self.slices.index(...) - 1)
                continue
            if axis >= x.ndim:
                raise ValueError(
                    f"Slice: {len(self.slices)} parts for data of {x.ndim - 1} dimensions"
                )
            if isinstance(part, slice):
                x = x[(slice(None),) * axis + (part,)]
            elif part is not None:
                x = self._taken(x, np.atleast_1d(part), axis)
            axis += 1
        return x

    def _taken(self, x: np.ndarray, places: np.ndarray, axis: int) -> np.ndarray:
        n = x.shape[axis]
        if places.dtype.kind not in "iu" or (places < -n).any() or (places >= n).any():
            raise ValueError(
                f"Slice: places {places.tolist()} of an axis of size {n}; they must be int in "
                f"[{-n}, {n - 1}]"
            )
        return np.take(x, places, axis)


class Concatenate(Transform):
    """Several columns joined along an axis into one, with prepend before and append behind them.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.Concatenate(append=np.array([9]))(np.array([1]), np.array([2]))
    array([1, 2, 9])
    """

    uniform = False

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        self.axis = check_int("Concatenate", "axis", axis, -8, 7)
        self.prepend = [] if prepend is None else [np.asarray(prepend)]
        self.append = [] if append is None else [np.asarray(append)]

    def __call__(self, *columns: Any) -> Any:
        return np.concatenate([*self.prepend, *columns, *self.append], self.axis)


class Duplicate(Transform):
    """One column twice: name two output columns.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.Duplicate()(np.array(3))
    (array(3), array(3))
    """

    uniform = False

    def __call__(self, *columns: Any) -> Any:
        if len(columns) != 1:
            raise ValueError(f"Duplicate: got {len(columns)} columns; it takes one")
        return columns[0], columns[0]


class Unique(Transform):
    """The different elements of a column in the order of their first place, where each element
    stands among them (int32), and how often each comes (int32): three columns.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> [part.tolist() for part in transforms.Unique()(np.array([3, 1, 3]))]
    [[3, 1], [0, 1, 0], [2, 1]]
    """

    uniform = False

    def __call__(self, *columns: Any) -> Any:
        if len(columns) != 1:
            raise ValueError(f"Unique: got {len(columns)} columns; it takes one")
        values, first, inverse, counts = np.unique(
            np.asarray(columns[0]).reshape(-1),
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return values[order], rank[inverse].astype(np.int32), counts[order].astype(np.int32)


class PadEnd(Transform):
    """Data cut and padded at the end of each axis to pad_shape; None keeps an axis.

    >>> import numpy as np
    >>> from diptych.dataset import transforms
    >>> transforms.PadEnd([3], -1)(np.array([1, 2]))
    array([ 1,  2, -1])
    """

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = 0) -> None:
        self.pad_shape = [
            None if size is None else check_int("PadEnd", "pad_shape", size, 1)
            for size in check_list("PadEnd", "pad_shape", pad_shape)
        ]
        self.pad_value = pad_value

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        if x.ndim - 1 != len(self.pad_shape):
            raise ValueError(
                f"PadEnd: the data has shape {list(x.shape[1:])}; 'pad_shape' has "
                f"{len(self.pad_shape)} sizes"
            )
        sizes = [n if p is None else p for n, p in zip(x.shape[1:], self.pad_shape, strict=True)]
        fill = "" if x.dtype.kind in "US" and self.pad_value == 0 else self.pad_value
        made = np.full((len(x), *sizes), fill, x.dtype)
        common = tuple(slice(min(n, s)) for n, s in zip(x.shape[1:], sizes, strict=True))
        made[(slice(None), *common)] = x[(slice(None), *common)]
        return made
