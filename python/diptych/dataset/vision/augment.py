"""Policies of augmentation: which of a list of changes an image goes through, and how strongly.

Strengths are the papers': Cubuk et al. 2019 (AutoAugment), Cubuk et al. 2020 (RandAugment), Mueller
and Hutter 2021 (TrivialAugment).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from ..config import check_int
from ..draws import Draws
from .affine import placed
from .color import brighter, contrasted, saturated, turned_over
from .effects import AutoContrast, Equalize, need_bytes, sharpened
from .geometry import fill_of, fill_values, rotated
from .image import ImageTransform, Inter, check_enum

__all__ = ["AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

# Changes of n images (n, H, W ...): f(images, strengths (n,), (interpolation, fill)).
_How = tuple[Inter, np.ndarray]
_Change = Callable[[np.ndarray, np.ndarray, _How], np.ndarray]


def _moved(x: np.ndarray, how: _How, matrices: Any) -> np.ndarray:
    """Each image by its own matrix (2, 3) from places of the result to places of the image."""
    pairs = zip(x, matrices, strict=True)
    return np.stack([placed(image, np.asarray(matrix, float), *how) for image, matrix in pairs])


def _turned(x: np.ndarray, degrees: np.ndarray, how: _How) -> np.ndarray:
    pairs = zip(x, degrees.tolist(), strict=True)
    return np.stack([rotated(image, d, how[0], False, None, how[1]) for image, d in pairs])


def _posterized(x: np.ndarray, bits: np.ndarray, how: _How) -> np.ndarray:
    masks = (256 - (1 << (8 - bits.astype(np.int64)))).astype(np.uint8)
    return x & masks.reshape(-1, *[1] * (x.ndim - 1))


def _solarized(x: np.ndarray, threshold: np.ndarray, how: _How) -> np.ndarray:
    return np.where(x >= threshold.reshape(-1, *[1] * (x.ndim - 1)), 255 - x, x)


def _coloured(x: np.ndarray, factor: np.ndarray, how: _How) -> np.ndarray:
    return saturated(x, 1 + factor) if x.ndim == 4 else x


# Shears leave the upper and the left edge of the image in place.
_CHANGES: dict[str, _Change] = {
    "Identity": lambda x, m, how: x,
    "ShearX": lambda x, m, how: _moved(x, how, [[(1, s, s / 2), (0, 1, 0)] for s in m]),
    "ShearY": lambda x, m, how: _moved(x, how, [[(1, 0, 0), (s, 1, s / 2)] for s in m]),
    "TranslateX": lambda x, m, how: _moved(x, how, [[(1, 0, -int(s)), (0, 1, 0)] for s in m]),
    "TranslateY": lambda x, m, how: _moved(x, how, [[(1, 0, 0), (0, 1, -int(s))] for s in m]),
    "Rotate": _turned,
    "Brightness": lambda x, m, how: brighter(x, 1 + m),
    "Color": _coloured,
    "Contrast": lambda x, m, how: contrasted(x, 1 + m),
    "Sharpness": lambda x, m, how: sharpened(x, 1 + m),
    "Posterize": _posterized,
    "Solarize": _solarized,
    "AutoContrast": lambda x, m, how: AutoContrast().changed(x),
    "Equalize": lambda x, m, how: Equalize().changed(x),
    "Invert": lambda x, m, how: turned_over(x),
}
_SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color",
           "Contrast", "Sharpness"}  # fmt: skip
_RAND = [name for name in _CHANGES if name != "Invert"]


class _Policy(ImageTransform):
    """What the policies share. Strength k of 0 to bins - 1 is the part k / (bins - 1) of the
    largest."""

    # The largest shear, rotation (degrees), shift (part of the size) and factor of colour; the bits
    # that posterizing takes away at most.
    _tops = (0.3, 30.0, 150 / 331, 0.9, 4)

    def __init__(self, bins: int, interpolation: Inter, fill_value: Any) -> None:
        where = type(self).__name__
        check_enum(where, "interpolation", interpolation, Inter)
        if interpolation not in (Inter.NEAREST, Inter.BILINEAR):
            raise ValueError(
                f"{where}: 'interpolation' is {interpolation!r}; it must be Inter.NEAREST or "
                "Inter.BILINEAR"
            )
        self._bins, self.interpolation = bins, interpolation
        self.fill_value = fill_values(where, fill_value)

    def _shift(self, size: int) -> float:
        return self._tops[2] * size

    def _strength(self, name: str, k: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The strengths k as the change takes them, without signs."""
        shear, degrees, _, colour, bits = self._tops
        part = k / (self._bins - 1)
        if name == "Posterize":
            return 8 - np.rint(bits * part)
        if name == "Solarize":
            return 255 - 255 * part
        tops = {"ShearX": shear, "ShearY": shear, "Rotate": degrees}
        tops |= {"TranslateX": self._shift(x.shape[2]), "TranslateY": self._shift(x.shape[1])}
        return part * tops.get(name, colour)

    def _change(self, x: np.ndarray, name: str, k: np.ndarray, minus: np.ndarray) -> np.ndarray:
        """n images through one change with strengths k; ``minus``: in the other direction."""
        strength = self._strength(name, k, x)
        if name in _SIGNED:
            strength = np.where(minus, -strength, strength)
        fill = fill_of(type(self).__name__, self.fill_value, x)
        return _CHANGES[name](x, strength, (self.interpolation, fill))

    def _change_some(
        self, x: np.ndarray, names: list[str], k: np.ndarray, minus: np.ndarray
    ) -> np.ndarray:
        """Each image through the change that it is named."""
        need_bytes(type(self).__name__, x)
        made = np.array(x)
        for name in set(names) - {"Identity"}:
            rows = np.flatnonzero(np.array(names) == name)
            made[rows] = self._change(x[rows], name, k[rows], minus[rows])
        return made


class RandAugment(_Policy):
    """num_ops changes of strength ``magnitude`` drawn from 14 for each uint8 image, one after the
    other (Cubuk et al. 2020): nothing, shear, shift, rotation, brightness, colour, contrast,
    sharpness, posterize, solarize, auto-contrast, equalize.

    Args:
        num_ops: changes of an image.
        magnitude: their strength, 0 to num_magnitude_bins - 1.
        num_magnitude_bins: how many strengths there are, at least 2.
        interpolation: Inter.NEAREST or Inter.BILINEAR.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.RandAugment(3, magnitude=5)(np.zeros((32, 32, 3), np.uint8)).shape
    (32, 32, 3)
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        where = "RandAugment"
        self.num_ops = check_int(where, "num_ops", num_ops, 0)
        bins = check_int(where, "num_magnitude_bins", num_magnitude_bins, 2)
        self.magnitude = check_int(where, "magnitude", magnitude, 0, bins - 1)
        super().__init__(bins, interpolation, fill_value)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        k = np.full(len(x), self.magnitude)
        for _ in range(self.num_ops):
            names = [_RAND[i] for i in draws.integers(len(_RAND))]
            x = self._change_some(x, names, k, draws.uniform() < 0.5)
        return x


class TrivialAugmentWide(_Policy):
    """One of RandAugment's changes with a random strength for each uint8 image, from wider ranges
    (Mueller and Hutter 2021).

    Args:
        num_magnitude_bins: how many strengths there are, at least 2.
        interpolation: Inter.NEAREST or Inter.BILINEAR.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.TrivialAugmentWide()(np.zeros((32, 32), np.uint8)).shape
    (32, 32)
    """

    _tops = (0.99, 135.0, 32, 0.99, 6)

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        bins = check_int("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2)
        super().__init__(bins, interpolation, fill_value)

    def _shift(self, size: int) -> float:
        return self._tops[2]  # in pixels

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        names = [_RAND[i] for i in draws.integers(len(_RAND))]
        return self._change_some(x, names, draws.integers(self._bins), draws.uniform() < 0.5)


class AutoAugmentPolicy(StrEnum):
    """The data sets whose policies were searched.

    >>> from diptych.dataset import vision
    >>> vision.AutoAugmentPolicy("svhn") is vision.AutoAugmentPolicy.SVHN
    True
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class AutoAugment(_Policy):
    """One of 25 learnt pairs of changes for each uint8 image; each of the two comes with its own
    probability (Cubuk et al. 2019, tables 7 to 9).

    Args:
        policy: the data set that they were learnt on.
        interpolation: Inter.NEAREST or Inter.BILINEAR.
        fill_value: what lies outside; one number or one a channel.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> augment = vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10)
    >>> augment(np.zeros((32, 32, 3), np.uint8)).shape
    (32, 32, 3)
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        self.policy = check_enum("AutoAugment", "policy", policy, AutoAugmentPolicy)
        super().__init__(10, interpolation, fill_value)
        self._pairs = [
            [_step(text) for text in line.split(",")] for line in _POLICIES[policy].split("\n")
        ]

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        chosen = draws.integers(len(self._pairs)).tolist()
        for place in range(2):
            steps = [self._pairs[i][place] for i in chosen]
            comes = draws.uniform() < [prob for _, prob, _ in steps]
            names = [s[0] if yes else "Identity" for s, yes in zip(steps, comes, strict=True)]
            k = np.array([strength for _, _, strength in steps])
            x = self._change_some(x, names, k, draws.uniform() < 0.5)
        return x


def _step(text: str) -> tuple[str, float, int]:
    """(change, probability, strength)."""
    name, prob, *strength = text.split()
    return name, float(prob), int(strength[0]) if strength else 0


# Change, probability, strength of 0 to 9; both steps of a pair stand in one line.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6
        Equalize 0.8, Equalize 0.6
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4, Solarize 0.2 4
        Equalize 0.4, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6
        Posterize 0.8 5, Equalize 1.0
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6
        Equalize 0.0, Equalize 0.8
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Rotate 0.8 8, Color 1.0 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6
        ShearX 0.6 5, Equalize 1.0
        Color 0.4 0, Equalize 0.6
        Equalize 0.4, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6
        Invert 0.6, Equalize 1.0
        Color 0.6 4, Contrast 1.0 8
        Equalize 0.8, Equalize 0.6
    """.strip(),
    AutoAugmentPolicy.CIFAR10: """
        Invert 0.1, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5, Equalize 0.9
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6, Equalize 0.5
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3, AutoContrast 0.4
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0.0
        Equalize 0.2, AutoContrast 0.6
        Equalize 0.2, Equalize 0.6
        Color 0.9 9, Equalize 0.6
        AutoContrast 0.8, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9, Solarize 0.8 3
        Equalize 0.8, Invert 0.1
        TranslateY 0.7 9, AutoContrast 0.9
    """.strip(),
    AutoAugmentPolicy.SVHN: """
        ShearX 0.9 4, Invert 0.2
        ShearY 0.9 8, Invert 0.7
        Equalize 0.6, Solarize 0.6 6
        Invert 0.9, Equalize 0.6
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8
        ShearY 0.9 8, Invert 0.4
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9, AutoContrast 0.8
        Equalize 0.6, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7
        Equalize 0.9, TranslateY 0.6 6
        Invert 0.9, Equalize 0.6
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8, TranslateY 0.0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7
        ShearX 0.7 2, Invert 0.1
    """.strip(),
}
