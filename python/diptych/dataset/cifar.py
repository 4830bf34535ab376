"""The files of CIFAR: records of bytes, or Python pickles.

The pickles are read by an unpickler that knows the few names a NumPy array of bytes needs and makes
plain containers of them: nothing from the file is called.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["read_cifar"]

_PIXELS = 3 * 32 * 32


class _Array:
    """Stands for a NumPy array while it is unpickled."""

    def __init__(self, *start: Any) -> None:
        self.shape: Any = None
        self.dtype: Any = None
        self.data: Any = None

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, _, self.data = state


class _DType:
    """Stands for its dtype: the name it was made with."""

    def __init__(self, name: Any = None, *more: Any) -> None:
        self.name = name

    def __setstate__(self, state: Any) -> None:
        pass


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any = "C") -> _Array:
    array = _Array()
    array.shape, array.dtype, array.data = shape, dtype, data
    return array


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    """Bytes as Python 3 pickles them in old protocols."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


_KNOWN: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encoded,
}
for _core in ("numpy.core", "numpy._core"):
    _KNOWN[f"{_core}.multiarray", "_reconstruct"] = _Array
    _KNOWN[f"{_core}.numeric", "_frombuffer"] = _from_buffer


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no CIFAR file needs")
        return _KNOWN[module, name]


def _text_keys(table: Any) -> dict[str, Any]:
    return {k.decode("latin1") if isinstance(k, bytes) else k: v for k, v in table.items()}


def _pixels(array: Any) -> np.ndarray:
    """The bytes of the one array, (n, 3072)."""
    name = array.dtype.name
    data = array.data.encode("latin1") if isinstance(array.data, str) else array.data
    if name not in ("u1", b"u1", "uint8", b"uint8"):
        raise ValueError(f"its data is of type {name!r}")
    return np.frombuffer(data, np.uint8).reshape(-1, _PIXELS)


def _read_pickle(path: Path, labels: int) -> list[np.ndarray]:
    with open(path, "rb") as file:
        table = _text_keys(_Unpickler(file, encoding="bytes").load())
    names = ["labels"] if labels == 1 else ["coarse_labels", "fine_labels"]
    columns = [np.array([int(label) for label in table[name]], np.uint32) for name in names]
    return [_pixels(table["data"]), *columns]


def _read_binary(path: Path, labels: int) -> list[np.ndarray]:
    raw = np.fromfile(path, np.uint8)
    if not raw.size or raw.size % (labels + _PIXELS):
        raise ValueError(
            f"it has {raw.size} bytes, which is no multiple of a record's {labels + _PIXELS}"
        )
    table = raw.reshape(-1, labels + _PIXELS)
    return [table[:, labels:], *(table[:, i].astype(np.uint32) for i in range(labels))]


def read_cifar(where: str, path: Path, labels: int) -> list[np.ndarray]:
    """Images (n, 32, 32, 3) and ``labels`` columns of n labels; ValueError for a damaged file."""
    try:
        pixels, *columns = (_read_binary if path.suffix == ".bin" else _read_pickle)(path, labels)
        if any(len(column) != len(pixels) for column in columns):
            raise ValueError(f"it has {len(pixels)} images and {len(columns[0])} labels")
    except OSError:
        raise
    except Exception as error:  # whatever a damaged pickle raises
        raise ValueError(f"{where}: {path} is no CIFAR file: {error}") from None
    images = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return [np.ascontiguousarray(images), *columns]
