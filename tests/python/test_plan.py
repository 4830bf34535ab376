"""What passes and the plan do to the memory and the order of a compiled training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, nn, ops

WIDTH, DEPTH = 256, 8


class Chain(nn.Cell):
    """Square layers, so that every gradient is as large as every other."""

    def __init__(self) -> None:
        super().__init__()
        ms.set_seed(3)
        self.layers = nn.CellList([nn.Dense(WIDTH, WIDTH) for _ in range(DEPTH)])

    def construct(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = ops.tanh(layer(x))
        return x


def make_step(net: nn.Cell, optimizer: Any) -> Callable[[Tensor, Tensor], Tensor]:
    def step(x: Tensor, labels: Tensor) -> Tensor:
        loss = ops.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def batch(n: int = 4) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, WIDTH)).astype(np.float32)
    return Tensor(x), Tensor(rng.integers(0, WIDTH, n).astype(np.int32))


def values(net: nn.Cell) -> list[bytes]:
    return [p.asnumpy().tobytes() for p in net.get_parameters()]


OPTIMIZERS = [
    lambda p: nn.SGD(p, 0.1),
    lambda p: nn.Momentum(p, 0.1, 0.9),
    lambda p: nn.Adam(p, 0.01),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_updates_run_as_early_as_they_may(
    optimizer: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, labels = batch()
    made = {}
    for skip in ("", "updates"):
        monkeypatch.setenv("DIPTYCH_SKIP", skip)
        net = Chain()
        step = ms.jit(make_step(net, optimizer(net.trainable_params())))
        losses = [step(x, labels).item() for _ in range(3)]
        made[skip] = losses, values(net), step.memory_plan()[0]["arena"]
    eager = Chain()
    step = make_step(eager, optimizer(eager.trainable_params()))
    losses = [step(x, labels).item() for _ in range(3)]
    assert made[""][:2] == made["updates"][:2] == (losses, values(eager))
    gradient = 4 * WIDTH * WIDTH
    assert made["updates"][2] >= DEPTH * gradient
    assert made[""][2] <= 3 * gradient


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_by_gradients_from_outside(optimizer: Callable[[Any], Any]) -> None:
    """Nothing is computed but the update: its numbers come before it all the same."""
    made = []
    for wrap in (ms.jit, lambda f: f):
        net = Chain()
        update = optimizer(net.trainable_params())
        step = wrap(lambda *g, update=update: update(g))
        for k in range(3):
            step(*[ops.full(p.shape, 0.1 * k + 0.1) for p in net.trainable_params()])
        made.append(values(net))
    assert made[0] == made[1]


def test_results_do_not_overwrite_what_a_view_reads() -> None:
    def fn(x: Tensor) -> tuple[Tensor, ...]:
        y, z, w = ops.exp(x), ops.sin(x), ops.tanh(x)
        return y + y.T, z * z[0], w.flip(0) - w

    x = Tensor(np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32))
    for ours, eager in zip(ms.jit(fn)(x), fn(x), strict=True):
        assert np.array_equal(ours.asnumpy(), eager.asnumpy())


def test_a_step_that_fails_late_changes_nothing() -> None:
    net = Chain()
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    inner = make_step(net, optimizer)
    table = Tensor(np.arange(4, dtype=np.float32))

    @ms.jit
    def step(x: Tensor, labels: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        loss = inner(x, labels)
        return loss, ops.gather(table, index, 0)

    x, labels = batch()
    step(x, labels, Tensor([1]))
    before = values(net), optimizer.global_step.item()
    with pytest.raises(IndexError):
        step(x, labels, Tensor([9]))
    assert (values(net), optimizer.global_step.item()) == before
    step(x, labels, Tensor([3]))
    assert values(net) != before[0]


def test_a_value_held_outside_outlives_an_early_update() -> None:
    net = Chain()
    step = ms.jit(make_step(net, nn.SGD(net.trainable_params(), 0.1)))
    held = [p.asnumpy() for p in net.trainable_params()]
    kept = [a.copy() for a in held]
    step(*batch())
    assert all(np.array_equal(a, b) for a, b in zip(held, kept, strict=True))
    assert not np.array_equal(net.layers[0].weight.asnumpy(), kept[0])


@pytest.fixture
def context() -> Iterator[Callable[..., None]]:
    """set_context; what was set is as before afterwards."""
    before: dict[str, Any] = {}

    def change(**settings: Any) -> None:
        for key in settings:
            before.setdefault(key, ms.get_context(key))
        ms.set_context(**settings)

    yield change
    ms.set_context(**before)


def test_values_share_memory_unless_told_otherwise(context: Callable[..., None]) -> None:
    @ms.jit
    def f(x: Tensor) -> Tensor:
        for _ in range(10):
            x = ops.softmax(x, -1) * 2
        return x

    x = Tensor(np.random.default_rng(1).normal(size=(64, 64)).astype(np.float32))
    shared = f(x), f.memory_plan()[0]
    context(enable_mem_reuse=False)
    apart = f(x), f.memory_plan()[0]
    assert shared[0].tolist() == apart[0].tolist()
    assert shared[1]["arena"] <= 2 * 64 * 64 * 4
    assert apart[1]["arena"] >= 9 * 64 * 64 * 4
    context(enable_mem_reuse=True)
    assert f.memory_plan()[0] == shared[1]


class Block(nn.Cell):
    """Much inside, little outside: what recomputing is for."""

    def __init__(self, seed: int, norm: bool = False) -> None:
        super().__init__()
        ms.set_seed(seed)
        self.up, self.down = nn.Dense(64, 1024), nn.Dense(1024, 64)
        self.dropout = nn.Dropout(p=0.3)
        self.norm = nn.BatchNorm1d(1024) if norm else None

    def construct(self, x: Tensor) -> Tensor:
        y = ops.gelu(self.up(x))
        if self.norm is not None:
            y = self.norm(y)
        return (x + self.down(self.dropout(ops.tanh(y)))).reshape(x.shape)


def train_blocks(again: bool, compiled: bool, norm: bool = True, n: int = 64) -> tuple[Any, ...]:
    net = nn.SequentialCell([Block(i, norm) for i in range(4)]).set_train()
    if again:
        for cell in net:
            cell.recompute()
    optimizer = nn.SGD(net.trainable_params(), 0.1)

    def step(x: Tensor) -> Tensor:
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = ms.jit(step) if compiled else step
    ms.set_seed(7)
    x = Tensor(np.random.default_rng(0).normal(size=(n, 64)).astype(np.float32))
    losses = [run(x).item() for _ in range(3)]
    arena = run.memory_plan()[0]["arena"] if compiled else 0
    return losses, values(net), arena


def test_recomputed_cells_give_the_same_bits_in_less_memory() -> None:
    plain, again = train_blocks(False, True), train_blocks(True, True)
    assert plain[:2] == again[:2]
    assert again[2] <= 0.55 * plain[2]
    assert train_blocks(False, False)[:2] == plain[:2] == train_blocks(True, False)[:2]


def test_recomputing_saves_memory_at_once_too() -> None:
    peaks = []
    for again in (False, True):
        ms.runtime.reset_peak_memory_stats()
        before = ms.runtime.memory_allocated()
        train_blocks(again, False, norm=False, n=512)
        peaks.append(ms.runtime.max_memory_allocated() - before)
    assert peaks[1] <= 0.6 * peaks[0]


def test_a_recomputed_cell_inside_another_and_second_order() -> None:
    def slopes(again: bool) -> list[Any]:
        net = nn.SequentialCell([Block(1), Block(2)])
        if again:
            net.recompute()
            net[0].recompute()
        x = Tensor(np.random.default_rng(2).normal(size=(3, 64)).astype(np.float32))
        first = ms.grad(lambda v: ops.tanh(net(v)).sum())
        second = ms.grad(lambda v: (first(v) ** 2).sum())
        return [f(x) for f in (first, ms.jit(first), second)]

    plain, again = slopes(False), slopes(True)
    for one, two in zip(plain[:2], again[:2], strict=True):
        assert one.tolist() == two.tolist()
    np.testing.assert_allclose(again[2].asnumpy(), plain[2].asnumpy(), rtol=2e-5, atol=1e-6)


def test_settings_of_recompute_are_checked() -> None:
    cell = nn.Dense(2, 2)
    with pytest.warns(UserWarning, match="parallel training"):
        assert cell.recompute(mp_comm_recompute=True) is cell
    with pytest.raises(TypeError, match="recompute_slice_activation"):
        cell.recompute(mode=True)


def test_the_order_of_nodes_saves_memory_where_asked_for(context: Callable[..., None]) -> None:
    def f(x: Tensor) -> Tensor:
        wide = [ops.cumsum(x * float(i), 1) for i in range(8)]
        wide = [ops.softmax(w, 1) for w in wide]
        sums = [ops.cumsum(w, 1).sum() for w in wide]
        return ops.stack(sums)

    x = Tensor(np.random.default_rng(1).normal(size=(32, 64)).astype(np.float32))
    plain, saving = ms.jit(f), ms.jit(f)
    plain(x)
    context(memory_optimize_level="O1")
    assert saving(x).tolist() == plain(x).tolist() == f(x).tolist()
    assert plain.memory_plan()[0]["arena"] >= 8 * 32 * 64 * 4
    assert saving.memory_plan()[0]["arena"] <= 4 * 32 * 64 * 4


def test_the_peak_is_known_before_the_run() -> None:
    net = Chain()
    step = ms.jit(make_step(net, nn.SGD(net.trainable_params(), 0.1)))
    before = values(net)
    (plan,) = step.memory_plan(*batch())
    assert plan["peak"] == plan["arena"] + plan["results"] >= plan["floor"] > 0
    assert values(net) == before
    step(*batch())
    assert step.memory_plan(*batch()) == step.memory_plan() == [plan]
    assert step.cache_info()["compiles"] == 1


class Residual(nn.Cell):
    """What activations of convolutional nets are made of."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3)
        self.norm = nn.BatchNorm2d(channels)
        self.dropout = nn.Dropout(p=0.1)

    def construct(self, x: Tensor) -> Tensor:
        return self.dropout(ops.relu(self.norm(self.conv(x)))) + x


def make_residual() -> tuple[nn.Cell, Tensor]:
    net = nn.SequentialCell([Residual(16) for _ in range(6)])
    return net, Tensor(np.random.default_rng(0).normal(size=(4, 16, 32, 32)).astype(np.float32))


def make_transformer() -> tuple[nn.Cell, Tensor]:
    layer = nn.TransformerEncoderLayer(32, 4, 128, dropout=0.1, activation="gelu")
    x = np.random.default_rng(0).normal(size=(16, 64, 32)).astype(np.float32)
    return nn.TransformerEncoder(layer, 4), Tensor(x)


@pytest.mark.parametrize("make", [make_residual, make_transformer])
def test_cheap_values_are_computed_again_where_asked_for(
    make: Callable[[], tuple[nn.Cell, Tensor]], context: Callable[..., None]
) -> None:
    def train(level: str) -> tuple[Any, ...]:
        context(memory_optimize_level=level)
        ms.set_seed(5)
        net, x = make()
        net.set_train()
        optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)

        @ms.jit
        def step(x: Tensor) -> Tensor:
            loss = (net(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(x).item() for _ in range(3)]
        return losses, values(net), step.memory_plan()[0]["peak"]

    plain, saving = train("O0"), train("O2")
    assert plain[:2] == saving[:2]
    assert saving[2] <= 0.8 * plain[2]
