"""Gradients around and inside compiled calls; GRAPH_MODE; whole training steps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops


def vector(*values: float) -> ms.Tensor:
    return ms.Tensor(list(values), ms.float32)


@pytest.fixture
def graph_mode() -> Iterator[None]:
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def cube(x: ms.Tensor) -> ms.Tensor:
    return (x * x * x).sum()


def mlp() -> nn.Cell:
    ms.set_seed(5)
    return nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(8, 3))


def batch() -> tuple[ms.Tensor, ms.Tensor]:
    rng = np.random.default_rng(0)
    return (
        ms.Tensor(rng.normal(size=(6, 4)).astype(np.float32)),
        ms.Tensor(rng.integers(0, 3, 6).astype(np.int32)),
    )


# ---- around compiled calls


def test_grad_of_a_compiled_function() -> None:
    f = ms.jit(cube)
    x = vector(1, 2, 3)
    for _ in range(2):
        assert ms.grad(f)(x).tolist() == [3, 12, 27]
    value, slope = ms.value_and_grad(f)(x)
    assert value.item() == 36 and slope.tolist() == [3, 12, 27]
    assert f.cache_info()["compiles"] == 1


def test_second_and_third_order() -> None:
    f = ms.jit(cube)
    x = vector(1, 2, 3)
    second = ms.grad(lambda x: ms.grad(f)(x).sum())
    assert second(x).tolist() == [6, 12, 18]
    third = ms.grad(lambda x: second(x).sum())
    assert third(x).tolist() == [6, 6, 6]
    g = ms.jit(lambda x: ms.grad(cube)(x).sum())
    assert ms.grad(g)(x).tolist() == [6, 12, 18]


def test_backward_through_a_mix_of_compiled_and_eager_calls() -> None:
    def run(f, g) -> list[np.ndarray]:
        p = ms.Parameter(vector(1, 2), name="p")
        a = f(p * 2)
        b = ops.exp(a) + p
        c, d = g(b, p)
        (c.sum() + (d * a).sum()).backward()
        return [p.grad.asnumpy(), c.asnumpy(), d.asnumpy()]

    def f(x: ms.Tensor) -> ms.Tensor:
        return ops.sin(x)

    def g(x: ms.Tensor, p: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
        return x * p, ops.tanh(x)

    for ours, theirs in zip(run(ms.jit(f), ms.jit(g)), run(f, g), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_results_without_gradient_have_none() -> None:
    p = ms.Parameter(vector(1, 2), name="p")
    f = ms.jit(lambda x: (x * p, x * 2, (x * p).astype(ms.int32), ops.stop_gradient(x * p)))
    with_p, without, ints, stopped = f(vector(1, 1))
    assert with_p.requires_grad
    assert not (without.requires_grad or ints.requires_grad or stopped.requires_grad)
    with ms.no_grad():
        assert not f(vector(1, 1))[0].requires_grad


def test_backward_of_a_net_repeats_its_random_numbers() -> None:
    x, y = batch()
    grads = []
    for wrap in (lambda net: net, ms.jit):
        net = mlp().set_train()
        run = wrap(net)
        ms.set_seed(9)
        loss = nn.CrossEntropyLoss()(run(x), y)
        loss.backward()
        grads.append([loss.asnumpy(), *(p.grad.asnumpy() for p in net.trainable_params())])
    for a, b in zip(*grads, strict=True):
        np.testing.assert_array_equal(a, b)


def test_second_order_repeats_random_numbers() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        return (ops.dropout(x, 0.5, training=True) ** 3).sum()

    x = ops.ones((8,))
    results = []
    for g in (f, ms.jit(f)):
        ms.set_seed(4)
        results.append(ms.grad(lambda x, g=g: ms.grad(g)(x).sum())(x).asnumpy())
        results.append(ops.randn((3,)).asnumpy())
    np.testing.assert_array_equal(results[0], results[2])
    np.testing.assert_array_equal(results[1], results[3])


def test_gradients_use_the_values_of_the_call() -> None:
    p = ms.Parameter(vector(2, 3), name="p")
    f = ms.jit(lambda x: (x * x * p).sum())
    x = ms.Parameter(vector(1, 1), name="x")
    loss = f(x)
    p.set_data(vector(100, 100))
    loss.backward()
    assert x.grad.tolist() == [4, 6] and p.grad.tolist() == [1, 1]


def test_walking_back_twice() -> None:
    x = ms.Parameter(vector(1, 2), name="x")
    loss = ms.jit(cube)(x)
    loss.backward(retain_graph=True)
    loss.backward()
    assert x.grad.tolist() == [6, 24]
    with pytest.raises(RuntimeError, match="taken before"):
        loss.backward()


def test_changing_requires_grad_is_seen() -> None:
    p = ms.Parameter(vector(1, 2), name="p")
    f = ms.jit(lambda x: (x * p).sum())
    assert f(vector(1, 1)).requires_grad
    p.requires_grad = False
    assert not f(vector(1, 1)).requires_grad
    p.requires_grad = True
    f(vector(1, 1)).backward()
    assert p.grad.tolist() == [1, 1]


def test_vjp_and_jvp_of_a_compiled_function() -> None:
    f = ms.jit(lambda x: ops.sin(x) * x)
    x, v = vector(1, 2), vector(3, 4)
    plain = lambda x: ops.sin(x) * x  # noqa: E731
    out, pull = ms.vjp(f, x)
    expected, expected_pull = ms.vjp(plain, x)
    np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
    np.testing.assert_array_equal(pull(v).asnumpy(), expected_pull(v).asnumpy())
    for a, b in zip(ms.jvp(f, x, v), ms.jvp(plain, x, v), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def test_gradients_through_branches_and_loops() -> None:
    p = ms.Parameter(vector(1.5, 2), name="p")

    def branch(x: ms.Tensor) -> ms.Tensor:
        if (x * p).sum() > 0:
            return (x * x * p).sum()
        y = x - p
        return (y * y * y).sum()

    def loop(x: ms.Tensor) -> ms.Tensor:
        while x.sum() < 50:
            x = x * p + 1
        return (x * x).sum()

    for fn in (branch, loop):
        f = ms.jit(fn)
        inside = ms.jit(ms.grad(fn))
        for start in (vector(1, 2), vector(-1, -2), vector(0.5, 30)):
            if fn is loop and start.sum() < 0:
                continue
            value, (dx, dp) = ms.value_and_grad(fn, 0, [p])(start)
            ours, (our_dx, our_dp) = ms.value_and_grad(f, 0, [p])(start)
            assert ours.item() == value.item()
            np.testing.assert_allclose(our_dx.asnumpy(), dx.asnumpy(), rtol=1e-6)
            np.testing.assert_allclose(our_dp[0].asnumpy(), dp[0].asnumpy(), rtol=1e-6)
            np.testing.assert_allclose(inside(start).asnumpy(), dx.asnumpy(), rtol=1e-6)
            second = ms.grad(lambda x, g=fn: ms.grad(g)(x).sum())(start)
            ours = ms.grad(lambda x, g=f: ms.grad(g)(x).sum())(start)
            np.testing.assert_allclose(ours.asnumpy(), second.asnumpy(), rtol=1e-6)
        assert (
            f.cache_info()["entries"] <= 2
        )  # recorded inside a gradient of a gradient, and plainly


def test_what_only_passes_through_a_loop_without_gradients() -> None:
    """Values that the turns hand on keep their gradients, as in eager mode."""

    def exchanged(x: ms.Tensor, z: ms.Tensor) -> ms.Tensor:
        a, b, n = x * 2, z * 3, x.sum() * 0
        with ms.no_grad():
            while n < 3:
                a, b, c = b, a, a * 5
                n = n + 1
        return (a * a).sum() + b.sum() + c.sum()

    def replaced(x: ms.Tensor, z: ms.Tensor) -> ms.Tensor:
        y = x * 2
        with ms.no_grad():
            while y.sum() > 100:
                y = z
        return (y * y).sum()

    def kept(x: ms.Tensor, z: ms.Tensor) -> ms.Tensor:
        y = x * 2
        with ms.no_grad():
            while y.sum() > 100:
                y = z * 2
        return (y * y).sum()

    for fn in (exchanged, replaced, kept):
        slope = ms.grad(fn, (0, 1))
        graph = ms.jit(slope)
        for x in (vector(1, 2), vector(1, 200)):
            for ours, theirs in zip(graph(x, vector(3, 5)), slope(x, vector(3, 5)), strict=True):
                assert ours.tolist() == theirs.tolist()


def test_a_gradient_in_a_branch_of_a_loop() -> None:
    """Names born in a loop inside, and a handle of the gradient's own in one side only."""

    def fn(x: ms.Tensor) -> ms.Tensor:
        y, n = x * 2, x.sum() * 0
        while n < 3:
            i = x.sum() * 0
            while i < 1:
                k = i + 1
                i = k
            if y.sum() > y[0]:
                y = y - 0.1 * ms.grad(cube)(y)
            n = n + 1
        return (y * x).sum()

    for x in (vector(0.5, 0.25), vector(0.5, -1)):
        np.testing.assert_allclose(ms.jit(fn)(x).asnumpy(), fn(x).asnumpy(), rtol=1e-6)


def test_a_gradient_in_a_loop_in_a_loop() -> None:
    def doubled(v: ms.Tensor) -> ms.Tensor:
        while (v * v).sum() < 4:
            v = v * 2
        return v.sum()

    def fn(x: ms.Tensor) -> ms.Tensor:
        y, n = x, x.sum() * 0
        while n < 2:
            i = x.sum() * 0
            while i < 3:
                z = y * 2
                y = y - ms.grad(doubled)(z)
                i = i + 1
            n = n + 1
        return (y * x).sum()

    x = vector(0.5, 0.9)
    np.testing.assert_allclose(ms.jit(fn)(x).asnumpy(), fn(x).asnumpy(), rtol=1e-6)
    slope = ms.grad(fn)
    np.testing.assert_allclose(ms.jit(slope)(x).asnumpy(), slope(x).asnumpy(), rtol=1e-6)


# ---- GRAPH_MODE


def test_the_outermost_cell_is_one_graph(graph_mode: None) -> None:
    calls = []

    class Inner(nn.Cell):
        def construct(self, x: ms.Tensor) -> ms.Tensor:
            calls.append("inner")
            return x * 2

    class Outer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return self.inner(self.inner(x))

    net = Outer()
    for _ in range(2):
        assert net(vector(1, 2)).tolist() == [4, 8]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    calls.clear()
    assert net(vector(1, 2)).tolist() == [4, 8] and calls == ["inner"] * 2


def test_modes_train_alike() -> None:
    x, y = batch()
    losses = {}
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            net = mlp().set_train()
            optimizer = nn.Adam(net.trainable_params(), 1e-2)
            loss_fn = nn.CrossEntropyLoss()
            step = ms.value_and_grad(
                lambda x, y, n=net, f=loss_fn: f(n(x), y), None, net.trainable_params()
            )
            found = []
            for _ in range(4):
                loss, grads = step(x, y)
                optimizer(grads)
                found.append(loss.item())
            for _ in range(4):
                loss = loss_fn(net(x), y)
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            losses[mode] = found
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert losses[ms.PYNATIVE_MODE] == losses[ms.GRAPH_MODE]


def test_gradient_functions_made_anew_share_a_graph(graph_mode: None) -> None:
    from diptych.compile.function import _gradients

    x = vector(1, 2, 3)
    before = len(_gradients)
    for _ in range(3):
        assert ms.grad(cube)(x).tolist() == [3, 12, 27]
    assert len(_gradients) == before + 1
    assert ms.grad(lambda x: ms.grad(cube)(x).sum())(x).tolist() == [6, 12, 18]
    for _ in range(2):
        assert ms.vjp(cube, x)[1](ms.Tensor(2.0)).tolist() == [6, 24, 54]
        assert ms.jvp(cube, x, x)[1].item() == 108
    assert len(_gradients) == before + 4


def test_the_cells_of_a_training_step(graph_mode: None) -> None:
    x, y = batch()
    losses = {}
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = nn.WithLossCell(mlp(), nn.CrossEntropyLoss())
        step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
        ms.set_seed(1)
        losses[mode] = [step(x, y).item() for _ in range(5)]
    assert losses[ms.PYNATIVE_MODE] == losses[ms.GRAPH_MODE]


# ---- whole steps


def test_a_whole_training_step_is_one_graph() -> None:
    x, y = batch()
    results = []
    for wrap in (lambda f: f, ms.jit):
        net = mlp().set_train()
        loss_fn = nn.CrossEntropyLoss()
        optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-2)

        def step(x, y, net=net, loss_fn=loss_fn, optimizer=optimizer):
            loss = loss_fn(net(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = wrap(step)
        ms.set_seed(2)
        losses = []
        for i in range(6):
            if i == 3:
                optimizer.learning_rate.set_data(ms.Tensor(0.1, ms.float32))
            losses.append(run(x, y).item())
        results.append([losses, *(p.tolist() for p in net.trainable_params())])
    assert results[0] == results[1]
    assert run.cache_info()["compiles"] == 1


def test_gathered_gradients_between_steps() -> None:
    p = ms.Parameter(vector(1, 2), name="p")
    q = ms.Parameter(vector(1, 2), name="q")

    def step(x: ms.Tensor, w: ms.Parameter) -> None:
        (x * w).sum().backward()

    f = ms.jit(step)
    for i in range(3):
        step(vector(1, i), p)
        f(vector(1, i), q)
        assert p.grad.tolist() == q.grad.tolist()
    q.grad = None
    f(vector(1, 1), q)
    assert q.grad.tolist() == [1, 1]


def rounds(x: ms.Tensor, n: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
    y, i = x, 0
    while i < n:
        y = y * x
        i += 1
    return y, x * x


def test_gradients_of_calls_that_run_again() -> None:
    """A loop's gradient runs the forward graph again, on the values of the call: some results
    unused, inputs made from others of its parameters, given twice, written afterwards."""
    two = ms.Tensor(np.int32(2))
    for n in (two, ms.Tensor(np.int32(70))):
        found = []
        for fn in (rounds, ms.jit(rounds)):
            p = ms.Parameter(ms.Tensor([0.75, -1.0, 1.125]), name="p")
            twice = p * 1.25
            fn(twice, n)[0].sum().backward()
            grads = [p.grad]
            p.grad = None
            twice = p * 1.25
            second = fn(twice, n)[1]
            twice += 1
            second.sum().backward()
            found.append([g.asnumpy() for g in (*grads, p.grad)])
        np.testing.assert_array_equal(*found)


def test_gradients_of_calls_whose_inputs_are_written_afterwards() -> None:
    compiled = ms.jit(rounds)
    n = ms.Tensor(np.int32(2))

    def slope(fn: Any) -> Any:
        def value(p: ms.Tensor) -> ms.Tensor:
            x = p * 2
            y = fn(x, n)[0].sum()
            x += 1
            return y

        return lambda p: ms.grad(value)(p).sum()

    p = ms.Tensor([0.75, -1.0, 1.125])
    np.testing.assert_array_equal(
        ms.grad(slope(compiled))(p).asnumpy(), ms.grad(slope(rounds))(p).asnumpy()
    )


def test_gradients_of_calls_that_write_their_inputs() -> None:
    def fn(x: ms.Tensor, n: ms.Tensor) -> ms.Tensor:
        y, i = x * x, 0
        while i < n:
            x[0] += 1
            y = y * x
            i += 1
        return y

    n = ms.Tensor(np.int32(2))
    grads = [
        ms.grad(lambda x, f=f: f(x, n).sum())(ms.Tensor([0.5, 2.0])).asnumpy()
        for f in (fn, ms.jit(fn))
    ]
    np.testing.assert_array_equal(*grads)


def test_a_parameter_behind_an_input_counts_once() -> None:
    p = ms.Parameter(ms.Tensor([0.75, -1.0]), name="p")
    n = ms.Tensor(np.int32(2))

    def fn(x: ms.Tensor) -> ms.Tensor:
        i = 0
        while i < n:
            x = x * p
            i += 1
        return x

    grads = []
    for f in (fn, ms.jit(fn)):
        f(p * 3).sum().backward()
        grads.append(p.grad.asnumpy())
        p.grad = None
    np.testing.assert_array_equal(*grads)


def test_a_result_walked_back_in_part() -> None:
    """The sum of losses whose gradients the function has taken: none is left to take."""
    p = ms.Parameter(ms.Tensor([0.75, -1.0]), name="p")

    def step(x: ms.Tensor) -> ms.Tensor:
        total = 0.0
        for i in range(3):
            loss = (x[i] * p).sum()
            loss.backward()
            total = total + loss
        return total

    x = ms.ops.arange(6).reshape(3, 2) * 0.5
    results = []
    for f in (step, ms.jit(step)):
        results.append((float(f(x)), *p.grad.tolist()))
        p.grad = None
    assert results[0] == results[1]


@pytest.mark.parametrize("capture_mode", ["ast", "trace"])
def test_gradients_with_respect_to_inputs_that_are_written(capture_mode: str) -> None:
    """They are those of the values that came in."""

    def twice(x: ms.Tensor) -> ms.Tensor:
        x *= 2
        x[0] += 1
        return x

    grads = []
    for f in (twice, ms.jit(twice, capture_mode=capture_mode)):

        def through(x: ms.Tensor, f: Any = f) -> ms.Tensor:
            y = x * 3
            f(y)
            return (y * y).sum()

        x = vector(1, 2)
        p = ms.Parameter(vector(1, 2), name="p")
        f(p * 3).sum().backward()
        first = ms.grad(lambda x, f=f: f(x * 1).sum())(x)
        grads.append([first.tolist(), ms.grad(through)(x).tolist(), p.grad.tolist()])
    assert grads[0] == grads[1]
