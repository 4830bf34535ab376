"""BLEU, the share of word sequences that a translation has in common with references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...nn.bounds import counted
from .metric import Metric, rearrange_inputs

__all__ = ["BleuScore"]


def _ngrams(words: Sequence[Any], n: int) -> Counter:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


class BleuScore(Metric):
    """BLEU over a corpus (Papineni et al. 2002).

    Args:
        n_gram: sequences up to so many words, 1 to 4.
        smooth: adds 1 to all counts.

    ``update(candidates, references)``: a list of lists of words, and for each several references.

    >>> import diptych as ms
    >>> words = "the cat is on the mat".split()
    >>> float(ms.train.BleuScore()([words], [[words, ["a", "dog"]]]))
    1.0
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram = counted("BleuScore", "n_gram", n_gram)
        if n_gram > 4:
            raise ValueError(f"BleuScore: n_gram is {n_gram}; it must be in [1, 4]")
        if not isinstance(smooth, bool):
            raise TypeError(f"BleuScore: smooth must be a bool, but got {smooth!r}")
        self.smooth = smooth
        self.clear()

    def clear(self) -> None:
        self._common = np.zeros(self.n_gram)
        self._total = np.zeros(self.n_gram)
        self._length = self._reference_length = 0
        self._has_any = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        candidates, references = self._take(inputs, 2)
        if len(candidates) != len(references):
            raise ValueError(
                f"BleuScore: {len(candidates)} candidates but {len(references)} sets of references"
            )
        for candidate, several in zip(candidates, references, strict=True):
            lengths = [len(r) for r in several]
            self._length += len(candidate)
            self._reference_length += min(lengths, key=lambda n: abs(n - len(candidate)))
            for n in range(1, self.n_gram + 1):
                mine, best = _ngrams(candidate, n), Counter()
                for reference in several:
                    best |= _ngrams(reference, n)
                self._common[n - 1] += (mine & best).total()
                self._total[n - 1] += mine.total()
        self._has_any = True

    def eval(self) -> np.ndarray:
        self._need(self._has_any)
        if not self._common.all():
            return np.array(0.0)
        more = 1 if self.smooth else 0
        precision = np.exp(np.log((self._common + more) / (self._total + more)).mean())
        return np.array(precision * min(1.0, np.exp(1 - self._reference_length / self._length)))
