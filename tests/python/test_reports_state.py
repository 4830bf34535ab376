"""Kinds of error that users of other frameworks reported: state, caches, memory, threads, files."""

from __future__ import annotations

import copy
import gc
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
from reports import both, compiles, ends_within, f32, i32, in_threads, rss

import diptych as ms
from diptych import nn, ops

# Hundreds of input shapes (jax#2072, #7930).


@pytest.mark.filterwarnings("ignore:.*was compiled")
def test_hundreds_of_shapes() -> None:
    g = ms.jit(lambda x: (x @ x.T).mean())
    memory = []
    for n in range(2, 802):
        g(f32(np.ones((n, 4))))
        if n % 200 == 1:
            gc.collect()
            memory.append(rss())
    assert memory[-1] - memory[1] < 60
    assert float(g(f32(np.ones((2, 4))))) == 4.0
    before = rss()
    del g
    big = np.ones((256, 1024))
    for _ in range(50):
        h = ms.jit(lambda x: x + f32(big))
        h(f32(big))
        del h
    gc.collect()
    assert rss() - before < 40


# Seed, dropout and compiled code (pytorch#141557, #172207, #118735).


def test_dropout_under_a_seed() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        return ops.dropout(x, p=0.5, training=True)

    x, g = f32(np.ones(10000)), ms.jit(f)

    def seeded(fn, *args: ms.Tensor) -> np.ndarray:
        ms.set_seed(0)
        return fn(*args).asnumpy()

    assert (seeded(f, x) == seeded(f, x)).all() and (seeded(g, x) == seeded(f, x)).all()
    a, b = g(x).asnumpy(), g(x).asnumpy()
    assert (a != b).any()
    assert abs((a == 0).mean() - 0.5) < 0.03 and set(np.unique(a)) <= {0.0, 2.0}
    assert (ms.jit(lambda x: ops.dropout(x, p=0.5, training=False))(x).asnumpy() == 1).all()
    for fn in (ms.grad(lambda x: f(x).sum()), ms.jit(ms.grad(lambda x: f(x).sum()))):
        assert (seeded(fn, x) == seeded(f, x)).all()


# Switching between training and evaluation (pytorch#105653, #132986).


def test_switching_between_training_and_evaluation() -> None:
    net = nn.SequentialCell(nn.BatchNorm2d(2), nn.Dropout(p=0.5))
    g = ms.jit(net)
    x = f32(np.random.RandomState(0).randn(8, 2, 3, 3) + 4)
    mean = lambda: net[0].moving_mean.asnumpy().copy()  # noqa: E731
    net.set_train(True)
    g(x)
    trained = mean()
    net.set_train(False)
    y1, y2 = g(x), g(x)
    assert (mean() == trained).all() and (y1.asnumpy() == y2.asnumpy()).all()
    assert (y1.asnumpy() == net(x).asnumpy()).all()
    for mode in (True, False, True):
        net.set_train(mode)
        g(x)
    assert (mean() != trained).any()
    assert compiles(g) == 2


# Loops that should not grow (pytorch#839, jax#5210, tensorflow#50765).


def test_loops_that_do_not_grow() -> None:
    w = ms.Parameter(f32(np.ones(1024)), name="w")
    total = f32(0.0)
    jitted = ms.jit(lambda x: x)

    def in_place() -> None:
        t = ops.zeros((64, 1024), ms.float32)
        t[0] = ops.ones((1024,), ms.float32)
        t *= 2

    def grad() -> None:
        ms.grad(lambda x: (x * x).sum())(f32(np.ones(65536)))

    def call() -> None:
        jitted(f32(np.zeros((6, 6, 7))))

    def keep() -> None:
        nonlocal total
        loss, _ = ms.value_and_grad(lambda: (w * w).sum(), None, [w])()
        total = total + loss

    def backward() -> None:
        (w * w).sum().backward()
        w.grad = None

    gc.disable()
    try:
        for fn, n in ((in_place, 500), (grad, 500), (call, 5000), (keep, 500), (backward, 500)):
            fn()
            before = rss()
            for _ in range(n):
                fn()
            assert rss() - before < 16, fn.__name__
    finally:
        gc.enable()


# Several Python threads calling one jitted function (pytorch#118260, #105943, #136833).


@pytest.mark.filterwarnings("ignore:.*was compiled")
def test_threads_call_one_function_and_its_gradient() -> None:
    g = ms.jit(lambda x: (x * x).sum())
    gradient = ms.grad(g)

    def work(k: int) -> None:
        for n in range(1, 9):
            x = f32(np.full((n,), k))
            assert abs(float(g(x)) - n * k * k) <= 1e-3
            assert (gradient(x).asnumpy() == 2 * k).all()

    with ends_within(300):
        in_threads(8, work)
    assert compiles(g) <= 16  # each size with and without gradient, once for all threads


# Ctrl-C (jax#18246).

INTERRUPTED = """
import signal
import diptych as ms, numpy as np
from diptych import ops
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
x = ms.Tensor(np.ones(64, np.float32))
def chain(x, n):
    for _ in range(n):
        x = ops.tanh(x) + 0.1
    return x
def compiling():
    while True:
        ms.jit(lambda x: chain(x, 500))(x)
def graph():
    while True:
        jitted(x)
def eager():
    while True:
        chain(x, 1000)
jitted = ms.jit(lambda x: chain(x, 100))
jitted(x)  # what an import is interrupted in stays half imported
try:
    print("ready", flush=True)
    CALL()
except KeyboardInterrupt:
    assert float(ms.jit(lambda x: x + 1)(ms.Tensor([1.0], ms.float32))[0]) == 2
    print("clean", flush=True)
"""


@pytest.mark.parametrize("call", ["compiling", "graph", "eager"])
def test_one_interrupt_ends_a_long_call(call: str) -> None:
    program = [sys.executable, "-c", INTERRUPTED.replace("CALL", call)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "clean\n"
            assert process.returncode == 0
        finally:
            process.kill()


# Names of parameters after compiling (pytorch#113422, #101107).


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.body(x)


def test_names_stay_after_compiling(tmp_path) -> None:
    path = str(tmp_path / "net.safetensors")
    x = f32(np.ones((2, 3)))
    a = Net()
    names = [p.name for p in a.get_parameters()]
    wanted = a(x).asnumpy()
    g = ms.jit(a)
    assert (g(x).asnumpy() == wanted).all()
    assert [p.name for p in a.get_parameters()] == names
    ms.save_checkpoint(a, path)
    assert sorted(ms.load_checkpoint(path)) == sorted(names)
    b = Net()
    ms.load_param_into_net(b, ms.load_checkpoint(path))
    c, d = copy.deepcopy(a), pickle.loads(pickle.dumps(a))
    for net in (b, c, d):
        assert (net(x).asnumpy() == wanted).all() and (ms.jit(net)(x).asnumpy() == wanted).all()
    c.body[0].weight[0] = 7.0
    assert (a(x).asnumpy() == wanted).all()


# Truncated and damaged files (pytorch#53708, pytorch-lightning#688).


def test_damaged_files_change_nothing(tmp_path) -> None:
    path, bad = tmp_path / "net.safetensors", tmp_path / "bad.safetensors"
    net = Net()
    ms.save_checkpoint(net, str(path))
    raw = path.read_bytes()
    weights = lambda: [p.asnumpy().tobytes() for p in net.get_parameters()]  # noqa: E731
    before = weights()
    rng = np.random.RandomState(0)
    files = [raw[:n] for n in (0, 1, 7, len(raw) // 3, len(raw) // 2, len(raw) - 9, len(raw) - 1)]
    for _ in range(60):
        flipped = bytearray(raw)
        for place in rng.randint(len(raw), size=8):
            flipped[place] ^= 1 << rng.randint(8)
        files.append(bytes(flipped))
    for content in [*files, raw + b"junk"]:
        bad.write_bytes(content)
        try:
            loaded = ms.load_checkpoint(str(bad))
        except (ValueError, RuntimeError, OSError) as error:
            assert bad.name in str(error), error
        else:  # flipped bits of the numbers cannot be seen
            assert content in files[7:] and loaded
        assert weights() == before


# A schedule compiles no graph a step (pytorch#130467, #163093, #120934).

SCHEDULES = {
    "list": lambda: nn.cosine_decay_lr(1e-4, 0.1, 20, 20, 1),
    "cell": lambda: nn.ExponentialDecayLR(0.1, 0.9, 4),
    "by hand": lambda: 0.1,
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_compiles_once(schedule: str) -> None:
    x, y = f32(np.random.RandomState(0).randn(8, 3)), i32([0, 1] * 4)

    def run(compiled: bool) -> list:
        ms.set_seed(1)
        net = Net()
        opt = nn.Adam(net.trainable_params(), SCHEDULES[schedule]())
        grad = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, opt.parameters)

        def step(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
            loss, grads = grad(x, y)
            opt(grads)
            return loss

        call = ms.jit(step) if compiled else step
        for k in range(20):
            if schedule == "by hand":
                ops.assign(opt.learning_rate, ms.Tensor(0.1 / (k + 1), ms.float32))
            call(x, y)
        assert not compiled or compiles(call) <= 2
        return [p.asnumpy() for p in net.get_parameters()]

    for a, b in zip(run(False), run(True), strict=True):
        np.testing.assert_array_equal(a, b)


# Very long chains (pytorch#5534, tvm#5594).

CHAIN = """
import resource, diptych as ms
from diptych import ops
def chain(x, n):
    for _ in range(n):
        x = ops.tanh(x) + 0.1
    return x
x = ops.ones((9,), ms.float32)
assert ops.isfinite(ms.grad(lambda x: chain(x, 50000).sum())(x)).all()
n = 3000
assert (ms.jit(lambda x: chain(x, n))(x) == chain(x, n)).all()
g = ms.jit(ms.grad(lambda x: chain(x, n).sum()))(x)
assert (g == ms.grad(lambda x: chain(x, n).sum())(x)).all()
print("done")
"""


def test_long_chains_on_a_small_stack() -> None:
    program = f"ulimit -s 8192; exec {sys.executable} -c '{CHAIN}'"
    out = subprocess.run(["sh", "-c", program], capture_output=True, text=True, timeout=300)
    assert out.stdout == "done\n", out.stderr


def test_a_batch_of_one_and_both_modes() -> None:
    """A net of every mode called in turn keeps its results (mixing modes, #105653's family)."""
    net, x = Net(), f32(np.ones((1, 3)))
    wanted = net(x).asnumpy()
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE) * 2:
        ms.set_context(mode=mode)
        assert (net(x).asnumpy() == wanted).all()
    assert both(lambda x: net(x), x).shape == (1, 2)
