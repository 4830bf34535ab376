"""One compiled version for all sizes: captured once with sizes that vary, made again for others."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

SIZES = (3, 5, 8, 1, 13)


def block(*shape: int, seed: int = 0) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def same(ours: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        assert type(ours) is type(expected) and len(ours) == len(expected)
        for a, b in zip(ours, expected, strict=True):
            same(a, b)
    elif isinstance(expected, ms.Tensor):
        assert ours.dtype is expected.dtype and ours.shape == expected.shape
        assert ours.asnumpy().tobytes() == expected.asnumpy().tobytes()
    else:
        assert type(ours) is type(expected) and ours == expected


def check(fn: Callable, *, compiles: int = 2, sizes: Any = SIZES, **options: Any) -> Any:
    """The function gives eager results for all numbers of rows, with so many captures."""
    f = ms.jit(fn, **options)
    for n in (*sizes, *sizes):
        same(f(block(n, 4)), fn(block(n, 4)))
    assert f.cache_info()["compiles"] == compiles, f.explain()
    return f


@pytest.mark.parametrize("mode", ["ast", "trace"])
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x + 1,
        lambda x: x.sum(axis=0) / x.shape[0],
        lambda x: x.mean(axis=0),
        lambda x: x.reshape(x.shape[0] * 2, -1),
        lambda x: x.reshape(-1, x.shape[0]),
        lambda x: x[1:] if x.shape[1] == 4 else x,
        lambda x: x[-1] + x[0],
        lambda x: x[:, 1:3],
        lambda x: x[..., None][::2],
        lambda x: x[::-1],
        lambda x: ops.zeros((x.shape[0], 2)) + x[:, :2],
        lambda x: ops.ones_like(x) * x.shape[0],
        lambda x: ops.concat([x, x]),
        lambda x: ops.arange(x.shape[0]),
        lambda x: (x.shape[0], x.shape, x.size, x.ndim),
        lambda x: x @ x.T,
        lambda x: ops.softmax(x.T, axis=-1),
        lambda x: x.broadcast_to((2, x.shape[0], 4)),
        lambda x: ops.tile(x, (1, x.shape[0])),
        lambda x: x * x.shape[0] - x.shape[0] // 2 + x.shape[0] % 3,
        lambda x: [x.shape[0] + 1, {"n": 2 * x.shape[0]}][0],
        lambda x: ops.full((x.shape[0],), 3.0),
        lambda x: x.flatten(),
        lambda x: x / x.shape[0] ** 0.5 + x.shape[0] / 7,
        lambda x: x * (1.0 * x.shape[0]) - (x.shape[0] + 0.5),
        lambda x: ops.linspace(0, 1, x.shape[0]),
        lambda x: ops.eye(x.shape[0]) if x.shape[0] > 0 else x,
        lambda x: ms.grad(lambda y: (y * y).mean())(x),
        lambda x: ms.grad(lambda y: ops.softmax(y).max(axis=0).sum())(x),
        lambda x: ms.grad(ms.grad(lambda y: (y * y * y).sum()))(x[0].sum()) + x,
        lambda x: ops.stack([x, x]).transpose(1, 0, 2).reshape(x.shape[0], 8),
    ],
)
def test_one_capture_for_all_sizes(fn, mode) -> None:
    check(fn, capture_mode=mode)


def test_decisions_by_size_are_guards() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        return x * 2 if x.shape[0] > 4 else x - 1

    made = check(f, compiles=3, sizes=(3, 5, 8, 4, 9, 2, 1))
    assert "is false now" in made.explain() or "is true now" in made.explain()


def test_equal_sizes_are_a_decision() -> None:
    f = ms.jit(lambda x, y: x + y if x.shape == y.shape else x)
    for n, m in [(2, 2), (3, 3), (4, 4), (4, 3), (3, 3), (2, 5)]:
        expected = 2.0 if n == m else 1.0
        got = f(ops.ones((n, 2)), ops.ones((m, 2)))
        assert got.shape == (n, 2) and got.asnumpy().max() == expected
    assert f.cache_info()["compiles"] == 3


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: sum(x[i] for i in range(x.shape[0])),
        lambda x: [row.sum() for row in x],
        lambda x: {3: x, 5: x + 1}.get(x.shape[0], x * 2),
        lambda x: x + np.ones(x.shape, np.float32).shape[0],
        lambda x: ops.unstack(x, axis=0),
        lambda x: x.squeeze(),
    ],
)
def test_numbers_that_leave_are_never_stale(fn) -> None:
    f = ms.jit(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in (*SIZES, *SIZES, 2, 7, 9, 11):
            same(f(block(n, 4)), fn(block(n, 4)))


def test_errors_are_those_of_the_size() -> None:
    f = ms.jit(lambda x: x.reshape(2, -1))
    for n in (2, 4, 6):
        assert f(block(n, 3)).shape == (2, n * 3 // 2)
    with pytest.raises(ValueError, match="reshape"):
        f(block(5, 3))
    assert f(block(8, 3)).shape == (2, 12)


def test_errors_that_are_caught_are_a_decision() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        try:
            return x.reshape(2, -1)
        except ValueError:
            return x

    g = ms.jit(f)
    for n in (2, 4, 3, 6, 5, 8):
        same(g(block(n, 3)), f(block(n, 3)))


def test_branches_and_loops_on_tensors() -> None:
    def f(x: ms.Tensor) -> tuple[ms.Tensor, int]:
        turns = 0
        while x.sum() < 100:
            x = x * 2 if x.sum() > 0 else x + x.shape[0]
            turns += 1
        y = x[1:] if x.mean() > 0 else x[:-1]
        return y, turns

    check(f, sizes=(3, 5, 8, 2))


def test_a_training_step() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            ms.set_seed(1)
            self.first, self.norm, self.last = nn.Dense(4, 8), nn.BatchNorm1d(8), nn.Dense(8, 3)
            self.drop = nn.Dropout(p=0.25)
            self.steps = 0

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.steps += 1
            return self.last(self.drop(ops.relu(self.norm(self.first(x)))))

    def losses(compiled: bool) -> tuple[list[float], list[bytes], Any]:
        net = Net()
        net.set_train()
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        loss_fn = nn.CrossEntropyLoss()
        forward = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

        def step(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
            loss, grads = forward(x, y)
            optimizer(grads)
            return loss

        run = ms.jit(step) if compiled else step
        ms.set_seed(7)
        found = []
        for n in (4, 6, 9, 4, 6, 12, 5):
            labels = ms.Tensor(np.arange(n) % 3, ms.int32)
            found.append(run(block(n, 4, seed=n), labels).item())
        assert net.steps == 7
        weights = [p.asnumpy().tobytes() for p in net.get_parameters()]
        return found, weights, run

    ours, our_weights, run = losses(True)
    expected, weights, _ = losses(False)
    assert ours == expected and our_weights == weights
    assert run.cache_info()["compiles"] == 2 and run.cache_info()["sizes"] >= 3


def test_backward_and_step_inside() -> None:
    def losses(compiled: bool) -> list[float]:
        ms.set_seed(3)
        net = nn.Dense(4, 2)
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

        def step(x: ms.Tensor) -> ms.Tensor:
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        run = ms.jit(step) if compiled else step
        found = [run(block(n, 4, seed=n)).item() for n in (4, 6, 9, 5, 7)]
        if compiled:
            assert run.cache_info()["compiles"] <= 3
        return found

    assert losses(True) == losses(False)


def test_gradients_around_compiled_calls() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        return (x * x[:1]).mean() * x.shape[0]

    g = ms.jit(f)
    for n in (*SIZES, 5):
        same(ms.grad(g)(block(n, 4)), ms.grad(f)(block(n, 4)))
        same(
            ms.grad(ms.grad(lambda x: g(x).sum()))(block(n, 4)),
            ms.grad(ms.grad(lambda x: f(x).sum()))(block(n, 4)),
        )


def test_printing_sizes(capsys) -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        print("rows", x.shape[0], x.shape)
        return x

    g = ms.jit(f)
    for n in (3, 5, 8):
        g(block(n, 4))
        assert capsys.readouterr().out == f"rows {n} ({n}, 4)\n"
    assert g.cache_info()["compiles"] == 2


def test_sizes_kept_outside() -> None:
    class Net(nn.Cell):
        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.rows = x.shape[0]
            return x

    net = Net()
    f = ms.jit(net)
    for n in (3, 5, 8, 3):
        f(block(n, 2))
        assert net.rows == n and type(net.rows) is int


def test_writing_into_parts() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        y = x + 0
        y[1:] = 2
        y[-1] += x[0]
        y[:, 0] = x[:, 1]
        y += x
        return y

    check(f, sizes=(3, 5, 8, 2))


def test_hooks_bind_sizes() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        def inner(z: ms.Tensor) -> ms.Tensor:
            y = z * 2
            y.register_hook(lambda g: g * 3)
            return (y * z).sum()

        return ms.grad(inner)(x)

    g = ms.jit(f, capture_mode="trace")
    for n in (3, 5, 8):
        same(g(block(n, 4)), f(block(n, 4)))


def test_dynamic() -> None:
    never = ms.jit(lambda x: x + 1, dynamic=False)
    always = ms.jit(lambda x: x + 1, dynamic=True)
    for n in (2, 3, 4):
        assert never(ops.ones((n,))).shape == always(ops.ones((n,))).shape == (n,)
    assert never.cache_info()["compiles"] == 3 and always.cache_info()["compiles"] == 1
    with pytest.raises(ValueError, match="'dynamic'"):
        ms.jit(lambda x: x, dynamic="sometimes")


def test_a_placeholder_frees_its_sizes_at_once() -> None:
    f = ms.jit(lambda x: x * 2, input_signature=[ms.Tensor(shape=[None, 3], dtype=ms.float32)])
    for n in (2, 4, 5):
        assert f(ops.ones((n, 3))).shape == (n, 3)
    assert f.cache_info()["compiles"] == 1
    assert "float32[s0, 3]" in f.explain()


def test_on_cache_limit() -> None:
    def call(choice: str) -> Any:
        f = ms.jit(lambda x, n: x * n, cache_limit=2, on_cache_limit=choice)
        for n in range(4):
            assert f(ops.ones((2,)), n).tolist() == [n, n]
        return f

    with pytest.warns(RuntimeWarning, match="cache_limit=2.*least recently used one goes"):
        assert call("warn").cache_info()["entries"] == 2
    with pytest.raises(RuntimeError, match="cache_limit=2 versions.*int 1 -> int 2"):
        call("error")
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        assert call("eager").cache_info()["compiles"] == 2
    with pytest.raises(ValueError, match="'on_cache_limit'"):
        ms.jit(lambda x: x, on_cache_limit="panic")


def test_many_sizes_keep_few_graphs() -> None:
    f = ms.jit(lambda x: x.sum() * x.shape[0])
    for n in range(1, 80):
        assert f(ops.ones((n,))).item() == n * n
    assert f.cache_info()["compiles"] == 2 and len(f.memory_plan()) <= 34


def test_len_and_text_while_staging() -> None:
    check(lambda x: (len(x) * x, f"{x.shape[0]:>3} rows", float(len(x)), int(x.shape[0])))


# ---- numbers of Python that sizes are


def test_sizes_pass_for_ints_while_staging() -> None:
    def f(x: ms.Tensor) -> tuple[Any, ...]:
        n = x.shape[0]
        count = 0
        while x.sum() < 50:
            x, count = x + 1, count + n
        return x, count, type(n) is int, isinstance(n, int), isinstance(n / 2, float), abs(-n)

    check(f, sizes=(3, 5, 8, 2))


def test_arithmetic_is_that_of_python() -> None:
    def f(x: ms.Tensor) -> list[Any]:
        n = x.shape[0]
        return [
            n + 1, 1 + n, n - 9, 9 - n, n * n, n // 3, -n // 3, n % 4, -n % 4, 7 % n, 100 // n,
            n / 3, 2 / n, n**2, n**0.5, -n, +n, abs(n - 99), n + 0.5, (n + 1) / n * 2.0 - 1,
            divmod(17, 4), n > 100, n == n, n != n + 1, bool(n), min(n, 1000), max(n, 0),
        ]  # fmt: skip

    check(f)


def test_bit_operations_need_the_number() -> None:
    def f(x: ms.Tensor) -> list[Any]:
        n = x.shape[0]
        return [n & 3, n | 8, n ^ 1, n << 2, n >> 1, divmod(n, 2), pow(n, 2, 5), round(n / 3, 2)]

    g = ms.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for n in SIZES:
            same(g(block(n, 2)), f(block(n, 2)))


def test_a_size_of_zero_divides_nothing() -> None:
    def f(x: ms.Tensor) -> Any:
        return x.sum() / x.shape[0], 12 // x.shape[0]

    g = ms.jit(f)
    for n in (3, 4, 5):
        same(g(block(n, 2)), f(block(n, 2)))
    with pytest.raises(ZeroDivisionError):
        g(ms.Tensor(np.zeros((0, 2), np.float32)))
    same(g(block(6, 2)), f(block(6, 2)))


# ---- parameters and cells


def test_parameters_that_change_between_sizes() -> None:
    net = nn.Dense(4, 2)
    f = ms.jit(net)
    for i, n in enumerate((3, 5, 8, 5, 9)):
        net.weight.set_data(net.weight * 0 + i)
        same(f(block(n, 4)), net(block(n, 4)))
    net.weight = ms.Parameter(ops.ones((7, 4)), name="weight")
    net.bias = ms.Parameter(ops.zeros((7,)), name="bias")
    for n in (3, 10):
        same(f(block(n, 4)), net(block(n, 4)))


def test_attributes_that_change_between_sizes() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.factor = 2

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return x * self.factor if self.training else x

    net = Net()
    f = ms.jit(net)
    for i, n in enumerate((3, 5, 8, 5, 9, 10, 3)):
        net.factor = 2 + i // 3
        net.set_train(i % 2 == 0)
        same(f(block(n, 4)), net(block(n, 4)))


def test_a_branch_that_steps_parameters() -> None:
    def losses(compiled: bool) -> list[Any]:
        ms.set_seed(5)
        net = nn.Dense(4, 2)
        optimizer = nn.Adam(net.trainable_params(), 0.05)
        forward = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

        def step(x: ms.Tensor) -> ms.Tensor:
            loss, grads = forward(x)
            if loss > 0.2:
                optimizer(grads)
            return loss

        run = ms.jit(step) if compiled else step
        found: list[Any] = [run(block(n, 4, seed=n)).item() for n in (4, 6, 9, 5, 7, 4)]
        return [*found, *(p.asnumpy().tobytes() for p in net.get_parameters())]

    assert losses(True) == losses(False)


def test_dropout_draws_what_eager_mode_draws() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        return ops.dropout(x, 0.5) + ops.rand(x.shape[0], 4)

    g = ms.jit(f)
    for n in (3, 5, 8, 4):
        ms.set_seed(n)
        ours = [g(block(n, 4)), g(block(n, 4))]
        ms.set_seed(n)
        same(ours, [f(block(n, 4)), f(block(n, 4))])
    assert g.cache_info()["compiles"] == 2


def test_a_failing_run_changes_nothing() -> None:
    net = nn.Dense(4, 2, bias_init="zeros")
    table = ms.Parameter(ops.ones((6, 4)), name="table")

    @ms.jit
    def f(ids: ms.Tensor) -> ms.Tensor:
        net.bias.set_data(net.bias + 1)
        return net(ops.gather(table, ids, 0))

    for n in (3, 4, 5):
        f(ms.Tensor(np.zeros(n, np.int32)))
    before = net.bias.asnumpy().tolist()
    with pytest.raises(IndexError):
        f(ms.Tensor(np.full(7, 9, np.int32)))
    assert net.bias.asnumpy().tolist() == before
    f(ms.Tensor(np.zeros(7, np.int32)))
    assert net.bias.asnumpy().tolist() == [b + 1 for b in before]


def test_threads_share_versions() -> None:
    f = ms.jit(lambda x: (x * x.shape[0]).sum())
    wrong: list[Any] = []

    def work(start: int) -> None:
        for n in range(start, start + 12):
            got = f(ops.ones((n, 2))).item()
            if got != 2 * n * n:
                wrong.append((n, got))

    threads = [threading.Thread(target=work, args=(s,)) for s in (1, 5, 9, 13)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- looking at it


def test_the_text_names_sizes() -> None:
    def f(x: ms.Tensor, y: ms.Tensor) -> Any:
        return x.reshape(2 * x.shape[0], -1)[1:], x @ y.T, x + x[::2].sum(), y.flatten()

    g = ms.jit(f)
    for n, m in ((4, 7), (6, 9)):
        g(block(n, 4), block(m, 4))
    text = g.graphs()[-1]
    assert "graph(%1: float32[s0, 4], %2: float32[s1, 4])" in text
    for part in ("shape=(2*s0, -1)", "float32[2*s0-1, 2]", "float32[s0, s1]", "float32[4*s1]"):
        assert part in text
    assert "float32[s0, 4], float32[s1, 4]" in g.explain()
    assert "[6, 4]" not in text and "[4, 4]" in g.graphs()[0]


def test_sizes_that_must_be_equal_have_one_name() -> None:
    f = ms.jit(lambda x, y: x + y)
    for n in (4, 6):
        f(ops.ones((n, 2)), ops.ones((n, 2)))
    assert "%1: float32[s0, 2], %2: float32[s0, 2]" in f.graphs()[-1]


def test_saved_graphs_name_sizes(tmp_path) -> None:
    ms.set_context(save_graphs=1, save_graphs_path=str(tmp_path))
    try:
        f = ms.jit(lambda x: x * 2)
        f(ops.ones((3,)))
        f(ops.ones((4,)))
    finally:
        ms.set_context(save_graphs=0)
    texts = [p.read_text() for p in sorted(tmp_path.iterdir())]
    assert "float32[3]" in texts[0] and "float32[s0]" in texts[1]


def test_errors_that_only_sizes_cause_in_branches() -> None:
    def f(x: ms.Tensor) -> Any:
        if x.sum() > 0:
            return x * x.shape[0].bit_length()
        return x

    g = ms.jit(f)
    for n in (3, 5, 8, 3):
        for x in (block(n, 4), ops.ones((n, 4))):
            same(g(x), f(x))


def test_errors_of_branches_are_raised_for_any_size() -> None:
    def f(x: ms.Tensor) -> Any:
        if x.sum() > 0:
            raise KeyError(f"{x.shape[0]} rows")
        return x * x.shape[0]

    g = ms.jit(f)
    for n in (3, 5, 8, 3):
        same(g(-ops.ones((n, 4))), f(-ops.ones((n, 4))))
        with pytest.raises(KeyError, match=f"{n} rows"):
            g(ops.ones((n, 4)))
    assert g.cache_info()["compiles"] == 2


def test_sides_of_other_sizes() -> None:
    def f(x: ms.Tensor) -> Any:
        y = x + 1
        if x.sum() > 0:
            x = ops.tile(x, (3, 1)) if x[0, 0] > 0 and x.shape[0] > 2 else x[::1]
            x = x + 1
        return x, x.shape == y.shape, len(x), ms.grad(lambda v: (v * v[:1]).mean())(x)

    g = ms.jit(f)
    for n in (3, 4, 9, 4, 5, 2, 1, 3):
        for x in (ops.ones((n, 4)), -ops.ones((n, 4)), block(n, 4)):
            same(g(x), f(x))
