"""TensorBoard's event files: records of protobuf messages, written by hand.

A record is the length (8 bytes), its checksum, the message, its checksum; checksums are crc32c,
turned and moved by a constant. Of the messages only what is written here is known: Event with
wall_time, step, file_version, summary; Summary with scalars, images and histograms.
"""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

__all__ = ["EventWriter", "crc32c", "histogram", "image", "scalar"]

_POLYNOMIAL = 0x82F63B78  # Castagnoli, bits reversed


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum of RFC 3720.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# ---- protobuf: a key is number << 3 | wire type (0 varint, 1 double, 2 bytes, 5 float)


def _varint(n: int) -> bytes:
    out = bytearray()
    n &= 2**64 - 1
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", np.float32(value))


def _bytes(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


# ---- values of a summary


def scalar(tag: str, value: float) -> bytes:
    """A number."""
    return _bytes(1, _bytes(1, tag) + _float(2, value))


def histogram(tag: str, values: Any, buckets: int = 30) -> bytes:
    """How the finite values of an array are spread."""
    x = np.asarray(values, np.float64).ravel()
    x = x[np.isfinite(x)]
    counts, edges = np.histogram(x, buckets) if x.size else (np.zeros(1), np.zeros(2))
    low, high = (x.min(), x.max()) if x.size else (0.0, 0.0)
    numbers = (low, high, x.size, x.sum(), np.square(x).sum())
    message = b"".join(_double(i + 1, float(n)) for i, n in enumerate(numbers))
    message += _bytes(6, edges[1:].astype("<f8").tobytes())
    message += _bytes(7, counts.astype("<f8").tobytes())
    return _bytes(1, _bytes(1, tag) + _bytes(5, message))


def _png(pixels: np.ndarray) -> bytes:
    """An uint8 array (height, width, 1 or 3) as PNG."""
    height, width, channels = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    rows = np.hstack([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)])
    body = zlib.compress(rows.tobytes())
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def image(tag: str, values: Any) -> bytes:
    """An image (height, width), (channels, height, width) or the first of (n, channels, height,
    width); uint8, or floats which are spread from their least to their largest."""
    x = np.asarray(values)
    x = x[0] if x.ndim == 4 else x
    x = x[None] if x.ndim == 2 else x
    if x.ndim != 3 or x.shape[0] not in (1, 3):
        raise ValueError(f"image '{tag}' has shape {x.shape}; it must be (1 or 3, height, width)")
    if x.dtype != np.uint8:
        x = x.astype(np.float64)
        low, high = x.min(), x.max()
        x = (255 * (x - low) / (high - low if high > low else 1)).astype(np.uint8)
    pixels = np.ascontiguousarray(x.transpose(1, 2, 0))
    height, width, channels = pixels.shape
    message = _int(1, height) + _int(2, width) + _int(3, channels) + _bytes(4, _png(pixels))
    return _bytes(1, _bytes(1, tag) + _bytes(4, message))


class EventWriter:
    """Appends events to a new file ``events.out.tfevents.TIME.HOST.PID`` in a directory."""

    def __init__(self, directory: str | os.PathLike) -> None:
        os.makedirs(directory, exist_ok=True)
        stem = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self.path = os.path.join(directory, stem)
        self._file: BinaryIO | None = open(self.path, "xb")
        self._record(_double(1, time.time()) + _bytes(3, "brain.Event:2"))

    def write(self, step: int, values: Sequence[bytes]) -> None:
        """The values of a step: results of scalar, histogram and image."""
        event = _double(1, time.time()) + _int(2, step) + _bytes(5, b"".join(values))
        self._record(event)

    def _record(self, event: bytes) -> None:
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))
        self._file.flush()

    def close(self) -> None:
        """Ends the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()
            self._file = None
