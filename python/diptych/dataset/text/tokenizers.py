"""Text to words, and what is done to text and to rows of words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from ...common.dtype import dtype_to_nptype
from ..config import check_int, check_list

__all__ = [
    "CaseFold",
    "Ngram",
    "NormalizeForm",
    "NormalizeUTF8",
    "PythonTokenizer",
    "RegexReplace",
    "RegexTokenizer",
    "SlidingWindow",
    "ToNumber",
    "Truncate",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "WhitespaceTokenizer",
]


def _text(where: str, value: Any) -> str:
    array = np.asarray(value)
    if array.dtype.kind != "U" or array.ndim:
        raise TypeError(
            f"{where}: the input is {array.dtype} of shape {list(array.shape)}; it must be one text"
        )
    return str(array)


def _pattern(where: str, name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ValueError(
            f"{where}: '{name}' is {pattern!r}, which is no regular expression: {error}"
        ) from None


class _Tokenizer:
    """A subclass gives the (start, end) of the words in characters."""

    def __init__(self, with_offsets: bool = False) -> None:
        self.with_offsets = bool(with_offsets)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        raise NotImplementedError

    def __call__(self, text: Any) -> Any:
        text = _text(type(self).__name__, text)
        # A text without words gives one empty word, so that the column keeps its type.
        spans = self._spans(text) or [(0, 0)]
        words = np.array([text[a:b] for a, b in spans])
        if not self.with_offsets:
            return words
        at = np.cumsum([0, *(len(c.encode()) for c in text)])
        starts, ends = (np.array([at[s[i]] for s in spans], np.uint32) for i in (0, 1))
        return words, starts, ends


class WhitespaceTokenizer(_Tokenizer):
    """Splits at white space. with_offsets adds two columns: where each word starts and ends, in
    bytes of UTF-8.

    >>> from diptych.dataset import text
    >>> text.WhitespaceTokenizer()("deep  learning").tolist()
    ['deep', 'learning']
    """

    def _spans(self, text: str) -> list[tuple[int, int]]:
        return [m.span() for m in re.finditer(r"\S+", text)]


class UnicodeCharTokenizer(_Tokenizer):
    """Splits into characters.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.UnicodeCharTokenizer()(np.array("abc"))
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def _spans(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(text))]


class RegexTokenizer(_Tokenizer):
    """Splits where delim_pattern matches; matches that keep_delim_pattern matches whole stay as
    words.

    >>> from diptych.dataset import text
    >>> text.RegexTokenizer(r"[ ,]", ",")("a b,c").tolist()
    ['a', 'b', ',', 'c']
    """

    def __init__(
        self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False
    ) -> None:
        super().__init__(with_offsets)
        self._delim = _pattern("RegexTokenizer", "delim_pattern", delim_pattern)
        self._keep = _pattern("RegexTokenizer", "keep_delim_pattern", keep_delim_pattern)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        spans, at = [], 0
        for match in self._delim.finditer(text):
            if match.start() > at:
                spans.append((at, match.start()))
            if match.group() and self._keep.fullmatch(match.group()):
                spans.append(match.span())
            at = match.end()
        if at < len(text):
            spans.append((at, len(text)))
        return spans


class PythonTokenizer:
    """A function of a str that gives a list of words, as an operation.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.PythonTokenizer(str.split)(np.array("a b"))
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, tokenizer: Callable[[str], Sequence[str]]) -> None:
        if not callable(tokenizer):
            raise TypeError(f"PythonTokenizer: 'tokenizer' is {tokenizer!r}; must be a function")
        self.tokenizer = tokenizer

    def __call__(self, text: Any) -> np.ndarray:
        words = self.tokenizer(_text("PythonTokenizer", text))
        return np.array(check_list("PythonTokenizer", "what the tokenizer gave", words), str)


class NormalizeForm(StrEnum):
    """The normal forms of Unicode.

    >>> from diptych.dataset import text
    >>> text.NormalizeForm.NFC.name
    'NFC'
    """

    NFC = "NFC"
    NFD = "NFD"
    NFKC = "NFKC"
    NFKD = "NFKD"


def _each(function: Callable[[str], str], value: Any, where: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind != "U":
        raise TypeError(f"{where}: the input is {array.dtype}; it must be text")
    return np.array([function(text) for text in array.reshape(-1).tolist()], str).reshape(
        array.shape
    )


class NormalizeUTF8:
    """Text in a normal form of Unicode, NFKC by default.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.NormalizeUTF8(text.NormalizeForm.NFKC)(np.array("ﬁne"))
    array('fine', dtype='<U4')
    """

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        if normalize_form not in tuple(NormalizeForm):
            raise ValueError(
                f"NormalizeUTF8: 'normalize_form' is {normalize_form!r}; it must be a NormalizeForm"
            )
        self._form: Any = str(normalize_form)

    def __call__(self, text: Any) -> np.ndarray:
        return _each(lambda t: unicodedata.normalize(self._form, t), text, "NormalizeUTF8")


class CaseFold:
    """Text in small letters, as Unicode folds case.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.CaseFold()(np.array("Straße"))
    array('strasse', dtype='<U7')
    """

    def __call__(self, text: Any) -> np.ndarray:
        return _each(str.casefold, text, "CaseFold")


class RegexReplace:
    """What pattern matches becomes replace, everywhere or at the first place.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.RegexReplace("[0-9]", "#")(np.array("a1b2"))
    array('a#b#', dtype='<U4')
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self._pattern = _pattern("RegexReplace", "pattern", pattern)
        self._replace, self._count = replace, 0 if replace_all else 1

    def __call__(self, text: Any) -> np.ndarray:
        return _each(
            lambda t: self._pattern.sub(self._replace, t, count=self._count), text, "RegexReplace"
        )


class ToNumber:
    """Text that spells numbers, as numbers of data_type.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.ToNumber(np.int32)(np.array(["1", "2"]))
    array([1, 2], dtype=int32)
    """

    def __init__(self, data_type: Any) -> None:
        self._type = np.dtype(dtype_to_nptype(data_type))

    def __call__(self, text: Any) -> np.ndarray:
        array = np.asarray(text)
        try:
            return array.astype(self._type)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"ToNumber: {error}; the type is {self._type}") from None


class SlidingWindow:
    """All windows of ``width`` neighbours along an axis, as a new axis behind it.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.SlidingWindow(2)(np.array([1, 2, 3])).tolist()
    [[1, 2], [2, 3]]
    """

    def __init__(self, width: int, axis: int = 0) -> None:
        self.width = check_int("SlidingWindow", "width", width, 1)
        self.axis = check_int("SlidingWindow", "axis", axis, -8, 7)

    def __call__(self, data: Any) -> np.ndarray:
        array = np.asarray(data)
        if not -array.ndim <= self.axis < array.ndim:
            raise ValueError(
                f"SlidingWindow: 'axis' is {self.axis}; the data has {array.ndim} dimensions"
            )
        if array.shape[self.axis] < self.width:
            return np.zeros(0, array.dtype)
        axis = self.axis % array.ndim
        windows = np.lib.stride_tricks.sliding_window_view(array, self.width, axis)
        return np.ascontiguousarray(np.moveaxis(windows, -1, axis + 1))


class TruncateSequencePair:
    """Two sequences shortened from their ends, always the longer one, to max_length together.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> a, b = text.TruncateSequencePair(4)(np.array([1, 2, 3]), np.array([4, 5]))
    >>> a.tolist(), b.tolist()
    ([1, 2], [4, 5])
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = check_int("TruncateSequencePair", "max_length", max_length, 0)

    def __call__(self, first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
        a, b = np.asarray(first), np.asarray(second)
        n, m = len(a), len(b)
        while n + m > self.max_length:
            if n > m:
                n -= 1
            else:
                m -= 1
        return a[:n], b[:m]


class Truncate:
    """The first max_seq_len elements.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.Truncate(2)(np.array(["a", "b", "c"]))
    array(['a', 'b'], dtype='<U1')
    """

    def __init__(self, max_seq_len: int) -> None:
        self.max_seq_len = check_int("Truncate", "max_seq_len", max_seq_len, 0)

    def __call__(self, data: Any) -> np.ndarray:
        return np.asarray(data)[: self.max_seq_len]


class Ngram:
    """Runs of n neighbouring words joined by a separator, for each n of a list.

    left_pad and right_pad are (word, how often) put around first.

    >>> import numpy as np
    >>> from diptych.dataset import text
    >>> text.Ngram(2)(np.array(["a", "b", "c"])).tolist()
    ['a b', 'b c']
    """

    def __init__(
        self,
        n: int | Sequence[int],
        left_pad: tuple[str, int] = ("", 0),
        right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:
        self._lengths = [check_int("Ngram", "n", k, 1) for k in ([n] if isinstance(n, int) else n)]
        self._left = [left_pad[0]] * check_int("Ngram", "left_pad", left_pad[1], 0)
        self._right = [right_pad[0]] * check_int("Ngram", "right_pad", right_pad[1], 0)
        self._separator = separator

    def __call__(self, words: Any) -> np.ndarray:
        row = [*self._left, *np.asarray(words).tolist(), *self._right]
        made = [
            self._separator.join(row[i : i + n])
            for n in self._lengths
            for i in range(len(row) - n + 1)
        ]
        return np.array(made or [""], str)
