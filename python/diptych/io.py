"""Files: IDX data sets (MNIST and its successors) and tensors by name in safetensors."""

from __future__ import annotations

import os

from . import _core
from ._core import Tensor

__all__ = ["load_tensors", "read_idx", "save_tensors"]


def read_idx(path: str | os.PathLike) -> Tensor:
    """The array of an IDX file, plain or gzip-compressed, in the file's dtype (uint8 for images).

    Raises OSError when it cannot be read and ValueError when it is damaged, naming the file.
    """
    return _core.read_idx(path)


def save_tensors(path: str | os.PathLike, tensors: dict[str, Tensor]) -> None:
    """Writes {name: Tensor} as safetensors: beside the place first, then renamed, so that an
    interrupted save leaves an older file whole."""
    _core.save_safetensors(path, dict(tensors))


def load_tensors(path: str | os.PathLike) -> dict[str, Tensor]:
    """{name: Tensor} of a safetensors file. Raises OSError or ValueError when it is damaged."""
    return _core.load_safetensors(path)
