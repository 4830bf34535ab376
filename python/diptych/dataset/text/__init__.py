"""Text: vocabularies, tokenizers and what is done to words."""

from .tokenizers import (
    CaseFold,
    Ngram,
    NormalizeForm,
    NormalizeUTF8,
    PythonTokenizer,
    RegexReplace,
    RegexTokenizer,
    SlidingWindow,
    ToNumber,
    Truncate,
    TruncateSequencePair,
    UnicodeCharTokenizer,
    WhitespaceTokenizer,
)
from .vocab import Lookup, Vocab

__all__ = [
    "CaseFold",
    "Lookup",
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
    "Vocab",
    "WhitespaceTokenizer",
]
