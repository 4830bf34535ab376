"""Random choices among transforms of images that the user lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..config import check_int
from ..draws import current
from ..transform import Transform, check_number
from ..transforms import check_operations, run_operations

__all__ = ["RandomSelectSubpolicy", "UniformAugment"]


class UniformAugment(Transform):
    """num_ops of the transforms, drawn anew for each image; each comes with a probability that is
    random too (LingChen et al. 2020).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> steps = [vision.HorizontalFlip(), vision.Invert(), vision.Posterize(4)]
    >>> vision.UniformAugment(steps, num_ops=2)(np.zeros((4, 5), np.uint8)).shape
    (4, 5)
    """

    uniform = False

    def __init__(self, transforms: Sequence[Callable[..., Any]], num_ops: int = 2) -> None:
        self.transforms = check_operations("UniformAugment", transforms)
        most = len(self.transforms)
        self.num_ops = check_int("UniformAugment", "num_ops", num_ops, 1, most)

    def __call__(self, *columns: Any) -> Any:
        rng = current().generator()
        order = rng.permutation(len(self.transforms))[: self.num_ops]
        chosen = [self.transforms[i] for i in order if rng.random() < rng.random()]
        return run_operations(chosen, columns)


class RandomSelectSubpolicy(Transform):
    """One of the lists of policy, each with the same probability; of its (transform, probability)
    each comes with its own.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> policy = [[(vision.Invert(), 1.0)], [(vision.Posterize(4), 0.5), (vision.Invert(), 1.0)]]
    >>> vision.RandomSelectSubpolicy(policy)(np.zeros((1, 2), np.uint8))
    array([[255, 255]], dtype=uint8)
    """

    uniform = False

    def __init__(self, policy: Sequence[Sequence[tuple[Callable[..., Any], float]]]) -> None:
        where = "RandomSelectSubpolicy"
        if not isinstance(policy, list | tuple) or not policy:
            raise TypeError(f"{where}: 'policy' is {policy!r}; it must be a list of lists")
        self.policy = [self._checked(where, part) for part in policy]

    @staticmethod
    def _checked(where: str, part: Any) -> list[tuple[Callable[..., Any], float]]:
        pairs = part if isinstance(part, list | tuple) else [part]
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise TypeError(
                    f"{where}: 'policy' holds {pair!r}; it must hold lists of (transform, "
                    "probability)"
                )
        check_operations(where, [operation for operation, _ in pairs])
        return [(f, check_number(where, "policy", prob, 0.0, 1.0)) for f, prob in pairs]

    def __call__(self, *columns: Any) -> Any:
        rng = current().generator()
        part = self.policy[rng.integers(len(self.policy))]
        return run_operations([f for f, prob in part if rng.random() < prob], columns)
