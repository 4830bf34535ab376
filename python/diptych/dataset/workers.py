"""Work on chunks of rows in threads or spawned processes, results in order.

Processes are spawned, never forked: a fork copies locks that other threads hold. Each process
belongs to one thread here, which sends it a chunk and waits, so an ended process shows at once.
"""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import queue
import signal
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

__all__ = ["Pool", "chunks"]


def chunks(items: Iterable[Any], n: int) -> Iterator[list[Any]]:
    """Lists of n items, the last one shorter."""
    items = iter(items)
    while part := list(itertools.islice(items, n)):
        yield part


class WorkerTraceback(Exception):
    """The cause of an error that a worker process met: its traceback as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def _portable(error: BaseException) -> BaseException:
    """The error if it survives pickling, else a RuntimeError that says the same."""
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    stand_in = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        stand_in.add_note(note)
    return stand_in


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A process started here does not hear Ctrl-C before it says what to do about it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Any) -> None:
    """The life of a worker process: a function first, then chunks until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        work = pickle.loads(connection.recv_bytes())
        while True:
            task = pickle.loads(connection.recv_bytes())
            try:
                answer = (True, work(task))
            except BaseException as error:
                answer = (False, (_portable(error), traceback.format_exc()))
            connection.send_bytes(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    except (EOFError, BrokenPipeError):
        pass


def _stop(processes: list[Any], threads: ThreadPoolExecutor) -> None:
    threads.shutdown(wait=False, cancel_futures=True)
    for process, connection in processes:
        process.terminate()
        process.join()
        connection.close()


class Pool:
    """num_workers threads, or threads with a process each, that apply ``work`` to chunks."""

    def __init__(
        self, where: str, work: Callable[[Any], Any], num_workers: int, processes: bool
    ) -> None:
        self._where, self._work, self._num = where, work, num_workers
        self._threads = ThreadPoolExecutor(num_workers, thread_name_prefix="dataset")
        self._processes: list[Any] = []
        self._idle: queue.SimpleQueue[Any] = queue.SimpleQueue()
        if processes:
            self._start_processes()
            self._run = self._ask
        else:
            self._run = work
        self.close = weakref.finalize(self, _stop, self._processes, self._threads)

    def _start_processes(self) -> None:
        try:
            payload = pickle.dumps(self._work)
        except Exception as error:
            raise TypeError(
                f"{self._where}: python_multiprocessing=True needs operations and sources that can "
                f"be pickled (no lambda, no local function): {error}; "
                "python_multiprocessing=False uses threads"
            ) from error
        spawn = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # starting it would let the signal through
        for _ in range(self._num):
            here, there = spawn.Pipe()
            process = spawn.Process(target=_serve, args=(there,), daemon=True)
            with _deaf_to_interrupts():
                process.start()
            there.close()
            self._processes.append((process, here))
            here.send_bytes(payload)
            self._idle.put((process, here))

    def _ask(self, task: Any) -> Any:
        process, connection = self._idle.get()
        try:
            connection.send_bytes(pickle.dumps(task, pickle.HIGHEST_PROTOCOL))
            fine, answer = pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            process.join(timeout=1)
            raise RuntimeError(
                f"{self._where}: a worker process ended with code {process.exitcode}. If it never "
                "started, put the script's top level beneath `if __name__ == '__main__':`"
            ) from None
        finally:
            self._idle.put((process, connection))
        if fine:
            return answer
        error, text = answer
        raise error from WorkerTraceback(text)

    def map(self, tasks: Iterable[Any]) -> Iterator[Any]:
        """work(task) for each task in order; a few run ahead."""
        waiting: deque[Any] = deque()
        try:
            for task in tasks:
                waiting.append(self._threads.submit(self._run, task))
                if len(waiting) > self._num + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
