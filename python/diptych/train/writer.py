"""Saving beside the program: one file at a time, errors told at the next call."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable

__all__ = ["AsyncWriter"]


class AsyncWriter:
    """Runs one job at a time in a thread.

    ``submit`` waits for the job before it and raises what that one failed with, as ``wait`` does.
    An error that nobody asked for is printed when the interpreter ends, which waits for the last
    job.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._name = ""
        atexit.register(self._last)

    def submit(self, name: str, job: Callable[[], None]) -> None:
        """Starts ``job``; ``name`` stands in its error."""
        self.wait()
        self._name = name
        self._thread = threading.Thread(target=self._run, args=(job,), name=f"save {name}")
        self._thread.start()

    def wait(self) -> None:
        """Waits for the job and raises what it failed with."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise RuntimeError(f"the asynchronous save of {self._name} failed: {error}") from error

    def is_running(self) -> bool:
        """Whether a job is running."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            self._error = error

    def _last(self) -> None:
        try:
            self.wait()
        except RuntimeError as error:
            print(error, file=sys.stderr)
