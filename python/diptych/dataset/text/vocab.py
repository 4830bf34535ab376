"""Words and their numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...common.dtype import dtype_to_nptype, int32
from ..base import Dataset
from ..config import check_int
from ..draws import Run

__all__ = ["Lookup", "Vocab"]


def _words(where: str, name: str, values: Iterable[Any]) -> list[str]:
    words = list(values)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{where}: '{name}' holds {word!r}; it must hold words (str)")
    if len(set(words)) < len(words):
        twice = next(word for word, n in Counter(words).items() if n > 1)
        raise ValueError(f"{where}: '{name}' holds {twice!r} more than once")
    return words


class Vocab:
    """Words numbered from 0; made by from_list, from_dict, from_file or from_dataset.

    >>> from diptych.dataset import text
    >>> vocab = text.Vocab.from_list(["deep", "learning"], special_tokens=["<unk>"])
    >>> vocab.tokens_to_ids(["learning", "deep"]), vocab.ids_to_tokens(0)
    ([2, 1], '<unk>')
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._ids = {word: i for i, word in enumerate(self._words)}

    def __len__(self) -> int:
        return len(self._words)

    @classmethod
    def _joined(
        cls, where: str, words: list[str], special: Sequence[str] | None, first: bool
    ) -> Vocab:
        marks = _words(where, "special_tokens", special or [])
        for mark in marks:
            if mark in words:
                raise ValueError(f"{where}: special token {mark!r} is a word as well")
        return cls(marks + words if first else words + marks)

    @classmethod
    def from_list(
        cls,
        word_list: Sequence[str],
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words in this order, with special_tokens before or behind them."""
        words = _words("Vocab.from_list", "word_list", word_list)
        return cls._joined("Vocab.from_list", words, special_tokens, special_first)

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """{word: number}; the numbers must be 0 to len - 1."""
        words = sorted(word_dict, key=lambda word: word_dict[word])
        if sorted(word_dict.values()) != list(range(len(words))):
            raise ValueError(
                f"Vocab.from_dict: the numbers must be 0 to {len(words) - 1}, each once"
            )
        return cls(_words("Vocab.from_dict", "word_dict", words))

    @classmethod
    def from_file(
        cls,
        file_path: str | os.PathLike,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """One word a line, up to the delimiter if one is given; the first vocab_size of them."""
        where = "Vocab.from_file"
        if vocab_size is not None:
            check_int(where, "vocab_size", vocab_size, 1)
        with open(file_path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file]
        words = [line.split(delimiter)[0] if delimiter else line for line in lines]
        words = _words(where, "file_path", [word for word in words if word][:vocab_size])
        return cls._joined(where, words, special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls,
        dataset: Dataset,
        columns: str | Sequence[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: Sequence[str] | None = None,
        special_first: bool = True,
    ) -> Vocab:
        """The words of a dataset's text columns, the most frequent first, then in order of letters.

        Args:
            columns: which; all by default.
            freq_range: (least, most) counts of words to take; None: no limit.
            top_k: at most so many words.
        """
        where = "Vocab.from_dataset"
        if not isinstance(dataset, Dataset):
            raise TypeError(f"{where}: 'dataset' is of type {type(dataset).__name__}; must be one")
        take = dataset._find(where, "columns", columns or dataset.get_col_names())
        if top_k is not None:
            check_int(where, "top_k", top_k, 1)
        counts: Counter[str] = Counter()
        for _, row in dataset._rows(Run(0, 0)):
            for i in take:
                counts.update(np.asarray(row[i]).reshape(-1).tolist())
        least, most = freq_range or (None, None)
        ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        words = [word for word, n in ranked if (least or 0) <= n and (most is None or n <= most)][
            :top_k
        ]
        return cls._joined(where, _words(where, "columns", words), special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """{word: number}."""
        return dict(self._ids)

    def tokens_to_ids(self, tokens: str | Sequence[str]) -> int | list[int]:
        """The number of a word, or of each; -1 for words that are not there."""
        if isinstance(tokens, str):
            return self._ids.get(tokens, -1)
        return [self._ids.get(token, -1) for token in tokens]

    def ids_to_tokens(self, ids: int | Sequence[int]) -> str | list[str]:
        """The word of a number, or of each; '' for numbers that are not there."""
        single = isinstance(ids, int | np.integer)
        numbers = [ids] if single else list(ids)  # type: ignore[arg-type,list-item]
        words = [self._words[i] if 0 <= i < len(self._words) else "" for i in numbers]
        return words[0] if single else words


class Lookup:
    """Words to their numbers in a Vocab, of data_type (int32 by default).

    Raises ValueError for a word that is not there, unless unknown_token stands for such words.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.Lookup(text.Vocab.from_list(["a", "b", "?"]), "?")(np.array(["b", "z"]))
    array([1, 2], dtype=int32)
    """

    def __init__(
        self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = int32
    ) -> None:
        if not isinstance(vocab, Vocab):
            raise TypeError(f"Lookup: 'vocab' is of type {type(vocab).__name__}; must be a Vocab")
        self._ids, self._unknown = vocab.vocab(), -1
        if unknown_token is not None:
            if unknown_token not in self._ids:
                raise ValueError(f"Lookup: 'unknown_token' {unknown_token!r} is not in the vocab")
            self._unknown = self._ids[unknown_token]
        self._type = np.dtype(dtype_to_nptype(data_type))

    def __call__(self, words: Any) -> np.ndarray:
        array = np.asarray(words)
        numbers = [self._ids.get(word, self._unknown) for word in array.reshape(-1).tolist()]
        if -1 in numbers:
            word = array.reshape(-1)[numbers.index(-1)]
            raise ValueError(f"Lookup: the word {str(word)!r} is not in the vocab")
        return np.array(numbers, self._type).reshape(array.shape)
