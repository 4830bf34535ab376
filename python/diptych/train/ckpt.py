"""Reading of MindSpore's ``.ckpt`` files.

Such a file is one protobuf message, from mindspore/ccsrc/utils/checkpoint.proto:

    Checkpoint { repeated Value value = 1 }
    Value { string tag = 1; oneof { TensorProto tensor = 2; MapTensorProto maptensor = 3 } }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

Large tensors come as several Values of one tag; a scalar has dims [0]; a text is UTF-32. With
``crc_check=True`` the file ends in "crc_num" and the CRC-32 of what is before, 10 bytes big-endian.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core import Tensor
from ..common.dtype import bfloat16

__all__ = ["read_ckpt"]

_TYPES = {
    "bool": np.bool_,
    "float16": np.float16,
    "float32": np.float32,
    "float64": np.float64,
    "bfloat16": np.uint16,
    **{f"int{n}": np.dtype(f"i{n // 8}") for n in (8, 16, 32, 64)},
    **{f"uint{n}": np.dtype(f"u{n // 8}") for n in (8, 16, 32, 64)},
}
_CRC_MARK, _CRC_BYTES = b"crc_num", 10


class _Damaged(Exception):
    """What is wrong with a message."""


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at a place (base 128, lowest digits first), and the place behind it."""
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
    raise _Damaged("is cut short" if at >= len(data) else "is damaged")


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field of a message. Of one that is cut short the last value comes as
    far as it goes, then _Damaged."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value: Any
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            n, at = _varint(data, at)
            value, at = data[at : at + n], at + n
        else:
            raise _Damaged("is damaged")
        yield key >> 3, value
        if at > len(data):
            raise _Damaged("is cut short")


@dataclass
class _Entry:
    """One tensor or text, as far as it has been read."""

    dims: list[int] = field(default_factory=list)
    kind: str = ""
    parts: list[memoryview] = field(default_factory=list)

    def read(self, message: memoryview) -> None:
        """Adds a TensorProto."""
        self.dims = []
        for number, value in _fields(message):
            if number == 1:
                self.dims += [value] if isinstance(value, int) else list(_packed(value))
            elif number == 2:
                self.kind = bytes(value).decode()
            elif number == 3:
                self.parts.append(value)

    def value(self) -> Tensor | str:
        """The Tensor or text, or _Damaged."""
        content = b"".join(self.parts)
        if self.kind == "str":
            return content.decode("utf-32-le")
        dtype = _TYPES.get(self.kind.lower().removeprefix("mindspore.").rstrip("_"))
        if dtype is None:
            raise _Damaged(f"has the unknown type {self.kind!r}")
        shape = () if self.dims == [0] and content else tuple(self.dims)
        want = math.prod(shape) * np.dtype(dtype).itemsize
        if len(content) != want:
            raise _Damaged(f"has {len(content)} bytes; {self.kind}{list(shape)} has {want}")
        array = np.frombuffer(content, dtype).reshape(shape)
        if self.kind.lower().endswith("bfloat16"):
            wide = (array.astype(np.uint32) << 16).view(np.float32)
            return Tensor(wide).astype(bfloat16)
        return Tensor(array)


def _packed(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        number, at = _varint(data, at)
        yield number


def _without_crc(path: str, data: memoryview) -> memoryview:
    """The message, without a checksum at its end, which must fit."""
    tail = len(_CRC_MARK) + _CRC_BYTES
    if bytes(data[-tail:-_CRC_BYTES]) != _CRC_MARK:
        return data
    message = data[:-tail]
    if zlib.crc32(message) != int.from_bytes(data[-_CRC_BYTES:], "big"):
        raise ValueError(f"load_checkpoint: {path} is damaged: its CRC-32 differs from its content")
    return message


def read_ckpt(path: str) -> dict[str, Tensor | str]:
    """{name: Tensor or text} of a file, in its order.

    Raises OSError when it cannot be read, ValueError that names the entry when it is damaged, cut
    short, or holds what has no Tensor (hash maps of MapParameter).

    >>> import os, tempfile
    >>> from diptych.train.ckpt import read_ckpt
    >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    >>> with open(path, "wb") as file:
    ...     size = file.write(bytes.fromhex("0a140a0162120f08021205496e7431361a0405000600"))
    >>> read_ckpt(path)["b"].tolist()
    [5, 6]
    """
    with open(path, "rb") as file:
        data = _without_crc(path, memoryview(file.read()))
    entries: dict[str, _Entry] = {}
    tag = None
    try:
        for number, message in _fields(data):
            if number != 1 or isinstance(message, int):
                raise _Damaged("is followed by what no checkpoint has")
            for inner, value in _fields(message):
                if inner == 1:
                    tag = bytes(value).decode()
                elif inner == 2 and tag is not None:
                    entries.setdefault(tag, _Entry()).read(value)
                else:
                    raise _Damaged("is a hash map; only tensors and texts can be read")
        made = {}
        for tag in entries:  # the handler names the last one
            made[tag] = entries[tag].value()
        return made
    except (_Damaged, ValueError, TypeError, OverflowError) as error:
        what = error if isinstance(error, _Damaged) else "is damaged"
        raise ValueError(f"load_checkpoint: {path}: the entry {tag!r} {what}") from None
