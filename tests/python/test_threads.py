"""Several Python threads, Ctrl-C, fork, and the start of a fresh interpreter."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, ops


def run_threads(n, work):
    errors = []

    def guarded(i):
        try:
            work(i)
        except Exception as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_gradients_in_threads():
    x = Tensor(np.linspace(-1, 1, 50_000, dtype=np.float32))
    want = ms.grad(lambda a: (ops.tanh(a) * a).sum())(x).asnumpy()

    def work(i):
        for _ in range(20):
            got = ms.grad(lambda a: (ops.tanh(a) * a).sum())(x).asnumpy()
            np.testing.assert_array_equal(got, want)

    run_threads(6, work)


def test_recording_is_per_thread():
    w = ms.Parameter(Tensor([1.0]), name="w")
    inside, done = threading.Event(), threading.Event()

    def other():
        with ms.no_grad():
            inside.set()
            done.wait(10)

    t = threading.Thread(target=other)
    t.start()
    inside.wait(10)
    assert (w * 1).requires_grad
    done.set()
    t.join()


def test_a_shared_handle():
    shared = Tensor(np.zeros(100_000, np.float32))

    def work(i):
        for _ in range(50):
            nonlocal shared
            if i % 2:
                shared += 1
            else:
                (shared * 2).sum()
                shared[10:20].tolist()

    run_threads(4, work)


def test_other_threads_run_during_long_kernels():
    x = Tensor(np.ones(20_000_000, np.float32))
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    t = threading.Thread(target=tick)
    t.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 1:
        ops.tanh(x)
    stop.set()
    t.join()
    longest = max(b - a for a, b in zip(ticks, ticks[1:], strict=False))
    assert longest < 0.5


def run_python(code, **kwargs):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, timeout=200, **kwargs)


INTERRUPTED = """
    import signal, threading, time, diptych as ms, numpy as np
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have none
    calls = sent = 0

    def interrupt():
        global sent
        while calls < 2:
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        sent = calls
"""


@pytest.mark.parametrize("size", [16, 20_000_000])
def test_interrupt(size):
    """By work, not by time: after the signal no more than the call in progress ends."""
    code = INTERRUPTED + f"""
    x = ms.Tensor(np.ones({size}, np.float32))
    threading.Thread(target=interrupt).start()
    try:
        while True:
            y = ms.ops.tanh(x)
            calls += 1
    except KeyboardInterrupt:
        print("stopped", calls - sent <= 2)
    """
    done = run_python(code)
    assert done.stdout == "stopped True\n", done.stderr


def test_interrupt_in_a_compiled_loop(tmp_path):
    """A loop that never ends by itself: it stops, and the writes of the run are undone."""
    code = INTERRUPTED + """
    p = ms.Parameter(ms.Tensor([1.0]), name="p")

    @ms.jit
    def grow(x):
        p.set_data(x)
        while (x > 0).all():
            x = x + 1
        return x

    grow(ms.Tensor([-1.0]))
    threading.Thread(target=interrupt).start()
    calls = 2
    try:
        grow(ms.Tensor([1.0]))
    except KeyboardInterrupt:
        print("stopped", p.asnumpy())
    """
    script = tmp_path / "grow.py"  # compiling reads the source
    script.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=200)
    assert done.stdout == "stopped [-1.]\n", done.stderr


def test_fork_after_use():
    code = """
        import os, diptych as ms, numpy as np
        x = ms.Tensor(np.ones((512, 512), np.float32))
        want = float((x @ x).sum()), float(ms.ops.tanh(x).sum())
        child = os.fork()
        got = float((x @ x).sum()), float(ms.ops.tanh(x).sum())
        if child == 0:
            os._exit(0 if got == want else 1)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), got == want)
    """
    done = run_python(code)
    assert done.stdout == "0 True\n", done.stderr


def test_import_is_small():
    code = """
        import sys
        import diptych
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print("numpy" in sys.modules, int(peak.split()[1]) // 1024)
    """
    done = run_python(code)
    has_numpy, megabytes = done.stdout.split()
    assert has_numpy == "False" and int(megabytes) < 80


def test_exit_with_arrays_alive():
    code = """
        import diptych as ms, numpy as np
        a = ms.from_numpy(np.ones(1000)); b = a.asnumpy(); c = ms.from_dlpack(np.ones(3))
        w = ms.Parameter(ms.Tensor([1.0]), name="w")
        w.register_hook(lambda g: g)
        y = w * 2
    """
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_trace_of_c_frames():
    code = """
        import diptych as ms
        try:
            ms.Tensor([1.0, 2.0]) + ms.Tensor([1.0, 2.0, 3.0])
        except ValueError as e:
            print(e.__notes__[0].splitlines()[0])
    """
    done = run_python(code, env={**os.environ, "DIPTYCH_TRACE": "full"})
    assert done.stdout == "C frames, innermost first:\n", done.stderr
