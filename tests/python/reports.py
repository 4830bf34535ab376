"""Helpers of the tests made of public bug reports: the outcome of a call in both modes."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import diptych as ms


def f32(values: Any) -> ms.Tensor:
    """A float32 tensor of numbers or an array."""
    return ms.Tensor(np.array(values, np.float32))


def i32(values: Any) -> ms.Tensor:
    """An int32 tensor of numbers or an array."""
    return ms.Tensor(np.array(values, np.int32))


def copied(value: Any) -> Any:
    return value.copy() if isinstance(value, ms.Tensor) else value


def plain(value: Any) -> Any:
    """Tensors as type, shape and a digest of their bytes (NaN equals NaN, -0 differs from 0)."""
    if isinstance(value, ms.Tensor):
        digest = hashlib.sha256(value.asnumpy().tobytes()).hexdigest()
        return value.dtype.name, value.shape, digest
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def outcome(fn: Callable, *args: Any) -> tuple[Any, Any]:
    """What a call gives: its value in comparable form, or its exception's type; and the value."""
    try:
        value = fn(*map(copied, args))
    except Exception as error:
        return type(error), error
    return plain(value), value


def both(fn: Callable, *args: Any) -> Any:
    """The value of a call, of which eager, the first and the second compiled call say the same;
    an exception of the same type in all is raised."""
    eager, _ = outcome(fn, *args)
    compiled = ms.jit(fn)
    for _ in range(2):
        graph, value = outcome(compiled, *args)
        assert graph == eager, (graph, eager)
    if isinstance(value, Exception):
        raise value
    return value


def compiles(fn: Callable) -> int:
    return fn.cache_info()["compiles"]


def printed(fn: Callable) -> list[str]:
    """The words that a call prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        fn()
    return text.getvalue().split()


def rss() -> float:
    """Resident memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextlib.contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Ends the whole run, naming the place, if its body hangs."""
    import faulthandler

    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def in_threads(count: int, fn: Callable[[int], None]) -> None:
    """fn(0) ... fn(count - 1), each in a thread of its own; the first exception is raised."""
    errors: list[BaseException] = []

    def work(k: int) -> None:
        try:
            fn(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
