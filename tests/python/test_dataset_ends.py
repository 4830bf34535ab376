"""How pipelines end: Ctrl-C, a worker that dies, a script without a guard, the program's exit."""

import os
import signal
import subprocess
import sys
import time

import pytest

import diptych.dataset as ds

HEAD = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import numpy as np
import diptych.dataset as ds

def slow(x):
    time.sleep(0.01)
    return x

def die(x):
    if int(x) == 20:
        os._exit(7)
    return x
"""

ENDLESS = """
if __name__ == "__main__":
    data = ds.NumpySlicesDataset(np.arange(1000), "x").map(slow, num_parallel_workers=2{more})
    for i, row in enumerate(data.repeat()):
        if i == 3:
            print("ready", flush=True)
"""


def run(code, tmp_path, **more):
    script = tmp_path / "script.py"
    script.write_text(HEAD + code)
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def group_is_gone(pid):
    """Whether all processes of the group end; the helper of multiprocessing ends last."""
    for _ in range(1200):
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("more", ["", ", python_multiprocessing=True"])
def test_ctrl_c(tmp_path, more):
    """The whole group gets the signal, as in a terminal: one traceback, no process left."""
    process = run(ENDLESS.replace("{more}", more), tmp_path)
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, err = process.communicate(timeout=200)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt"), err
    assert group_is_gone(process.pid)


def test_exit_in_the_middle(tmp_path):
    """A program that ends while its iterators are open ends at once and quietly."""
    code = """
if __name__ == "__main__":
    data = ds.NumpySlicesDataset(np.arange(1000), "x").map(
        slow, num_parallel_workers=2, python_multiprocessing=True)
    iterator = data.create_tuple_iterator()
    print(len(next(iterator)))
"""
    process = run(code, tmp_path)
    out, err = process.communicate(timeout=200)
    assert (process.returncode, out, err) == (0, "1\n", "")
    assert group_is_gone(process.pid)


def test_a_worker_that_dies(tmp_path):
    code = """
if __name__ == "__main__":
    data = ds.NumpySlicesDataset(np.arange(100), "x", shuffle=False)
    for row in data.map(die, num_parallel_workers=2, python_multiprocessing=True):
        pass
"""
    process = run(code, tmp_path)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "RuntimeError: map: a worker process ended with code 7" in err


def test_a_script_without_a_guard(tmp_path):
    code = """
data = ds.NumpySlicesDataset(np.arange(100), "x")
for row in data.map(slow, num_parallel_workers=2, python_multiprocessing=True):
    pass
"""
    process = run(code, tmp_path)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1
    assert "put the script's top level beneath `if __name__ == '__main__':`" in err


class TwoArguments(Exception):
    """Cannot be unpickled: its constructor needs two arguments."""

    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


def odd_error(x):
    raise TwoArguments(1, 2)


def test_errors_that_do_not_pickle():
    data = ds.NumpySlicesDataset([1, 2], "x").map(
        odd_error, num_parallel_workers=2, python_multiprocessing=True
    )
    with pytest.raises(RuntimeError, match="TwoArguments: 1 2") as caught:
        list(data)
    assert "odd_error" in str(caught.value.__cause__)
    data.close_pool()


def test_operations_that_do_not_pickle():
    data = ds.NumpySlicesDataset([1, 2], "x").map(
        lambda x: x, num_parallel_workers=2, python_multiprocessing=True
    )
    with pytest.raises(TypeError, match="needs operations and sources that can be pickled"):
        list(data)
