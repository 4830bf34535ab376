"""Capturing op calls into a graph: values, gradients, branches, loops, draws, parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import diptych as ms
from diptych import Parameter, Tensor, _core, nn, ops


def vector(*values: float) -> Tensor:
    return Tensor(np.array(values, np.float32))


planned = True


@pytest.fixture(autouse=True, params=[True, False], ids=["plan", "nodes"])
def way_of_running(request: pytest.FixtureRequest) -> None:
    """Every test runs its graphs by plan and node by node."""
    global planned
    planned = request.param


def run(g: _core.Graph, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    if planned:
        assert g.memory_plan() is not None  # it is checked for overlaps, too
    return g.run(inputs, plan=planned)


class Capture:
    """with Capture() as g: op calls on g.input(...) append nodes."""

    def __enter__(self) -> _core.Graph:
        self.graph = _core.Graph()
        self.graph.begin()
        return self.graph

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None:
            self.graph.end()


def trace(function: Callable[..., Tensor], *args: Tensor) -> _core.Graph:
    """The graph of a function of tensors with one result."""
    with Capture() as g:
        g.outputs([function(*(g.input(a.dtype, a.shape) for a in args))])
    g.verify()
    return g


def choose(g: _core.Graph, condition: Tensor, then: Callable, orelse: Callable) -> Tensor:
    """A one-value If."""
    sides = []
    for side in (then, orelse):
        region = g.region()
        g.enter(region)
        sides += [region, [side()]]
        g.leave()
    return g.if_(condition, *sides)[0]


def test_a_symbolic_tensor_knows_its_type_and_refuses_its_values() -> None:
    with Capture() as g:
        x = g.input(ms.float32, (2, 3))
        y = ops.matmul(x, x.T) + 1
        assert _core.is_symbolic(y) and y.shape == (2, 2) and y.dtype is ms.float32
        assert "float32[2, 2]" in repr(y)
        for look in (y.asnumpy, y.tolist, y.sum().item, lambda: bool(y.sum()), lambda: 1 in y):
            with pytest.raises(TypeError, match="known only when the compiled function runs"):
                look()
        with pytest.raises(ValueError, match="matmul"):
            ops.matmul(x, x)
        g.outputs([y])
    with pytest.raises(RuntimeError, match="outside of the function|does not run"):
        y + 1 if not _core.is_symbolic(y) else _core.Graph().outputs([y])


def test_calls_on_known_values_run_at_once() -> None:
    with Capture() as g:
        assert (vector(1, 2) + 1).tolist() == [2, 3]
        g.outputs([vector(1, 2) * 3])
    assert run(g, [])[0].tolist() == [3, 6]


def test_a_run_checks_its_inputs() -> None:
    g = trace(lambda x: x * 2, vector(1, 2))
    with pytest.raises(ValueError, match="takes 1 inputs, 2 were given"):
        run(g, [vector(1, 2), vector(1, 2)])
    with pytest.raises(ValueError, match=r"float32\[3\]; it was compiled for float32\[2\]"):
        run(g, [vector(1, 2, 3)])


def test_errors_of_a_node_name_the_users_line() -> None:
    with Capture() as g:
        table, at = g.input(ms.float32, (3,)), g.input(ms.int32, (1,))
        g.set_line("net.py", 7, 4, 9, "construct")
        g.outputs([ops.gather(table, at, 0)])
    assert run(g, [vector(1, 2, 3), Tensor(np.array([2], np.int32))])[0].tolist() == [3]
    with pytest.raises(IndexError, match=r"error: gather(.|\n)*net\.py:7, in construct"):
        run(g, [vector(1, 2, 3), Tensor(np.array([9], np.int32))])


def test_both_sides_of_an_if_and_its_gradient() -> None:
    """The gradient reads values from inside the taken side."""

    def then(x: Tensor) -> Tensor:
        return ops.exp(x) * ops.sin(x)

    def orelse(x: Tensor) -> Tensor:
        return x * x * 3

    def eager(x: Tensor) -> Tensor:
        return (then(x) if x.sum() > 0 else orelse(x)).sum()

    with Capture() as g:

        def staged(x: Tensor) -> Tensor:
            return choose(g, x.sum() > 0, lambda: then(x), lambda: orelse(x)).sum()

        g.outputs([ms.grad(staged)(g.input(ms.float32, (3,)))])
    g.verify()
    for x in (vector(0.5, 1, 2), vector(-1, -2, 0.5)):
        assert run(g, [x])[0].tolist() == ms.grad(eager)(x).tolist()


def test_second_order_through_an_if() -> None:
    def staged(g: _core.Graph, x: Tensor) -> Tensor:
        def inner(v: Tensor) -> Tensor:
            return choose(g, v.sum() > 0, lambda: v * v * v, lambda: ops.sin(v)).sum()

        return ms.grad(lambda v: (ms.grad(inner)(v) * v).sum())(x)

    with Capture() as g:
        g.outputs([staged(g, g.input(ms.float32, (2,)))])
    g.verify()
    x = np.array([0.5, 1.5])
    np.testing.assert_allclose(run(g, [vector(*x)])[0].asnumpy(), 9 * x**2, rtol=1e-6)
    np.testing.assert_allclose(
        run(g, [vector(*-x)])[0].asnumpy(), np.cos(-x) - -x * np.sin(-x), rtol=1e-5
    )


def test_nested_ifs_hand_values_out() -> None:
    """A gradient inside reads values two regions down."""

    def staged(g: _core.Graph, x: Tensor) -> Tensor:
        def f(v: Tensor) -> Tensor:
            def deep() -> Tensor:
                return choose(g, v.max() > 2, lambda: ops.exp(v) * v, lambda: ops.tanh(v) * v)

            return choose(g, v.sum() > 0, deep, lambda: v * v).sum()

        return ms.grad(f)(x)

    def eager(v: Tensor) -> Tensor:
        if v.sum() > 0:
            return (ops.exp(v) * v if v.max() > 2 else ops.tanh(v) * v).sum()
        return (v * v).sum()

    with Capture() as g:
        g.outputs([staged(g, g.input(ms.float32, (2,)))])
    g.verify()
    for x in (vector(1, 3), vector(1, 1), vector(-1, -4)):
        assert run(g, [x])[0].tolist() == ms.grad(eager)(x).tolist()


def test_a_loop_carries_values() -> None:
    with Capture() as g:
        x = g.input(ms.float32, (2,))
        loop, (v, n), condition, body = g.loop([x, Tensor(0, ms.int32)])
        g.enter(condition)
        goes_on = v.sum() < 100
        g.leave()
        g.enter(body)
        following = [v * 2, n + 1]
        g.leave()
        g.outputs(g.while_(loop, goes_on, following))
    g.verify()
    value, count = run(g, [vector(1, 2)])
    assert value.tolist() == [64, 128] and count.item() == 6
    assert run(g, [vector(70, 70)])[1].item() == 0


def test_a_value_of_a_loop_stays_inside() -> None:
    with Capture() as g:
        loop, (v,), condition, body = g.loop([g.input(ms.float32, ())])
        g.enter(condition)
        goes_on = v < 100
        g.leave()
        g.enter(body)
        inside = v * 2
        g.leave()
        g.while_(loop, goes_on, [inside])
        with pytest.raises(RuntimeError, match="inside a loop or branch"):
            inside + 1
        g.end()


def test_draws_are_those_of_eager_and_new_in_each_run() -> None:
    def f(x: Tensor) -> Tensor:
        return ops.dropout(x, 0.5) + ops.standard_normal((4,))

    x = vector(1, 2, 3, 4)
    g = trace(f, x)
    ms.set_seed(3)
    eager = [f(x).tolist() for _ in range(3)]
    ms.set_seed(3)
    assert [run(g, [x])[0].tolist() for _ in range(3)] == eager


def test_the_gradient_of_a_draw_repeats_it() -> None:
    def f(x: Tensor) -> Tensor:
        return ms.grad(lambda v: ops.dropout(v, 0.5).sum())(x)

    x = vector(*range(64))
    g = trace(f, x)
    ms.set_seed(11)
    eager = [f(x).tolist() for _ in range(2)]
    ms.set_seed(11)
    assert [run(g, [x])[0].tolist() for _ in range(2)] == eager


def training(rule: Callable) -> tuple[Callable, nn.Cell]:
    ms.set_seed(5)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.ReLU(), nn.Dropout(p=0.25), nn.Dense(8, 3))
    loss_of, optimizer = nn.CrossEntropyLoss(), rule(net.trainable_params())

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, net


@pytest.mark.parametrize(
    "rule",
    [
        lambda p: nn.Adam(p, 1e-2),
        lambda p: nn.SGD(p, 1e-1),
        lambda p: nn.Momentum(p, 1e-1, 0.9),
        lambda p: nn.AdamWeightDecay(p, 1e-2),
    ],
    ids=["adam", "sgd", "momentum", "adamw"],
)
def test_a_training_step_is_one_graph_with_the_bits_of_eager(rule: Callable) -> None:
    x = Tensor(np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32))
    y = Tensor(np.array([0, 1, 2, 1, 0], np.int32))
    step, net = training(rule)
    ms.set_seed(9)
    eager = [step(x, y).item() for _ in range(4)]
    weights = [p.asnumpy() for p in net.get_parameters()]

    step, net = training(rule)
    before = [p.asnumpy() for p in net.get_parameters()]
    g = trace(step, x, y)
    for p, old in zip(net.get_parameters(), before, strict=True):
        assert np.array_equal(p.asnumpy(), old) and p.grad is None
    ms.set_seed(9)
    assert [run(g, [x, y])[0].item() for _ in range(4)] == eager
    for p, new in zip(net.get_parameters(), weights, strict=True):
        assert np.array_equal(p.asnumpy(), new)


def test_a_failing_run_changes_nothing() -> None:
    p = Parameter(vector(1, 2, 3), name="p")
    said: list[str] = []
    with Capture() as g:
        at = g.input(ms.int32, (1,))
        ops.assign(p, p + ops.standard_normal((3,)))
        g.host(lambda: said.append("late"), [], [], deferred=True)
        g.outputs([ops.gather(p, at, 0)])
    ms.set_seed(1)
    with pytest.raises(IndexError):
        run(g, [Tensor(np.array([5], np.int32))])
    assert p.tolist() == [1, 2, 3] and said == []
    after_failure = ops.standard_normal((3,)).tolist()
    ms.set_seed(1)
    assert ops.standard_normal((3,)).tolist() == after_failure
    run(g, [Tensor(np.array([1], np.int32))])
    assert p.tolist() != [1, 2, 3] and said == ["late"]


def test_weights_changed_outside_are_seen() -> None:
    p = Parameter(vector(1, 2), name="p")
    g = trace(lambda x: x * p, vector(1, 1))
    assert run(g, [vector(3, 3)])[0].tolist() == [3, 6]
    p.set_data(vector(5, 5))
    assert run(g, [vector(3, 3)])[0].tolist() == [15, 15]


def test_gradients_gather_across_runs() -> None:
    p = Parameter(vector(1, 2), name="p")

    def f(x: Tensor) -> Tensor:
        loss = (x * p).sum()
        loss.backward()
        return loss

    g = trace(f, vector(1, 1))
    run(g, [vector(3, 4)])
    assert p.grad.tolist() == [3, 4]
    more = trace(f, vector(1, 1))
    run(more, [vector(1, 1)])
    assert p.grad.tolist() == [4, 5]


def test_host_calls_run_in_order_with_values() -> None:
    seen: list[object] = []

    def double(x: Tensor) -> tuple[Tensor]:
        seen.append(x.tolist())
        return (x * 2,)

    with Capture() as g:
        x = g.input(ms.float32, (2,))
        (y,) = g.host(double, [x], [(ms.float32, (2,))])
        g.host(lambda v: seen.append(("late", v.tolist())), [y], [], deferred=True)
        (z,) = g.host(double, [y], [(ms.float32, (2,))])
        g.outputs([z])
    assert run(g, [vector(1, 2)])[0].tolist() == [4, 8]
    assert seen == [[1, 2], [2, 4], ("late", [2, 4])]


def test_an_exception_of_a_host_function_passes_through() -> None:
    def fail(x: Tensor) -> tuple[()]:
        raise KeyError("mine")

    with Capture() as g:
        x = g.input(ms.float32, (2,))
        g.host(fail, [x], [])
        g.outputs([x])
    with pytest.raises(KeyError, match="mine"):
        run(g, [vector(1, 2)])


def test_a_host_function_that_breaks_its_promise() -> None:
    with Capture() as g:
        x = g.input(ms.float32, (2,))
        g.outputs(g.host(lambda v: (v.sum(),), [x], [(ms.float32, (2,))]))
    with pytest.raises(TypeError, match="something else than the tensors it promised"):
        run(g, [vector(1, 2)])


def test_an_interrupted_capture_restores_parameters() -> None:
    p = Parameter(vector(1, 2), name="p")
    with pytest.raises(ZeroDivisionError), Capture() as g:
        ops.assign(p, p * g.input(ms.float32, (2,)))
        assert _core.is_symbolic(p)
        raise ZeroDivisionError
    assert p.tolist() == [1, 2]


def test_the_text_names_lines_and_types() -> None:
    with Capture() as g:
        x = g.input(ms.float32, (2, 3))
        g.set_line("/home/me/net.py", 12, 0, 0, "construct")
        g.outputs([ops.relu(x)])
    line = next(row for row in g.text().splitlines() if "relu" in row)
    assert line.split("#")[0].strip() == "%2 = relu(%1) : float32[2, 3]"
    assert line.split("#")[1].strip() == "net.py:12"


def repeat(g: _core.Graph, body: Callable, goes_on: Callable, *init: Tensor) -> tuple[Tensor, ...]:
    """A While over the values of init."""
    loop, values, condition, region = g.loop(list(init))
    g.enter(condition)
    test = goes_on(*values)
    g.leave()
    g.enter(region)
    following = body(*values)
    g.leave()
    return g.while_(loop, test, list(following))


def test_the_gradient_of_a_loop() -> None:
    """Through the carried value and through what the body reads from outside."""
    w = Parameter(vector(1.5, 2), name="w")

    def body(v: Tensor) -> tuple[Tensor]:
        return (ops.tanh(v) * w + v,)

    def goes_on(v: Tensor) -> Tensor:
        return v.sum() < 20

    def eager(x: Tensor) -> Tensor:
        while goes_on(x):
            (x,) = body(x)
        return (x * x).sum()

    with Capture() as g:
        x = g.input(ms.float32, (2,))

        def staged(v: Tensor) -> Tensor:
            (v,) = repeat(g, body, goes_on, v)
            return (v * v).sum()

        value, (dx, dw) = ms.value_and_grad(staged, 0, [w])(x)
        g.outputs([value, dx, *dw] if isinstance(dw, tuple) else [value, dx, dw])
    g.verify()
    for start in (vector(0.5, 1), vector(30, 1), vector(3, 3)):
        want, (want_x, want_w) = ms.value_and_grad(eager, 0, [w])(start)
        value, dx, dw = run(g, [start])
        assert value.item() == want.item()
        np.testing.assert_allclose(dx.asnumpy(), want_x.asnumpy(), rtol=1e-6)
        want_w = want_w[0] if isinstance(want_w, tuple) else want_w
        np.testing.assert_allclose(dw.asnumpy(), want_w.asnumpy(), rtol=1e-6)


def test_the_gradient_of_a_loop_with_a_branch_a_loop_and_draws() -> None:
    def eager(x: Tensor) -> Tensor:
        n = 0
        while n < 3:
            x = ops.dropout(x, 0.3)
            x = x * 1.5 if x.sum() > 2 else ops.sin(x) + x
            while x.max() < 1:
                x = x * x + 0.6
            n += 1
        return x.sum()

    with Capture() as g:

        def turn(v: Tensor, n: Tensor) -> tuple[Tensor, Tensor]:
            v = ops.dropout(v, 0.3)
            v = choose(g, v.sum() > 2, lambda: v * 1.5, lambda: ops.sin(v) + v)
            (v,) = repeat(g, lambda u: (u * u + 0.6,), lambda u: u.max() < 1, v)
            return v, n + 1

        def staged(v: Tensor) -> Tensor:
            return repeat(g, turn, lambda v, n: n < 3, v, Tensor(0, ms.int32))[0].sum()

        g.outputs([ms.grad(staged)(g.input(ms.float32, (3,)))])
    g.verify()
    for start in (vector(0.1, 0.2, 0.3), vector(2, 1, 0.5)):
        ms.set_seed(4)
        want = ms.grad(eager)(start).asnumpy()
        ms.set_seed(4)
        np.testing.assert_allclose(run(g, [start])[0].asnumpy(), want, rtol=1e-5)


def test_the_second_order_of_a_loop() -> None:
    with Capture() as g:

        def staged(v: Tensor) -> Tensor:
            return repeat(g, lambda u: (u * u,), lambda u: u.sum() < 9, v)[0].sum()

        x = g.input(ms.float32, (2,))
        g.outputs([ms.grad(lambda v: ms.grad(staged)(v).sum())(x)])
    assert run(g, [vector(2, 1)])[0].tolist() == [48, 12]  # of x ** 4, twice
    assert run(g, [vector(9, 1)])[0].tolist() == [0, 0]


def test_a_strided_input_runs_node_by_node() -> None:
    """A plan is for dense inputs; others give the bits of eager through the same kernels."""
    x = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    g = trace(lambda v: ops.matmul(v, x) + v.sum(), x.T)
    assert run(g, [x.T])[0].tolist() == (ops.matmul(x.T, x) + x.T.sum()).tolist()


def test_views_share_the_buffer_they_look_at() -> None:
    def f(x: Tensor) -> Tensor:
        y = ops.relu(x)
        return y.T.reshape(2, 6)[1:, ::2] + y.reshape(-1)[:3] + y.swapaxes(0, 1)[0, :3]

    x = Tensor(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    assert run(trace(f, x), [x])[0].tolist() == f(x).tolist()


def test_results_are_never_overwritten_by_later_runs() -> None:
    g = trace(lambda x: ops.exp(x) * 2, vector(1, 2))
    first = run(g, [vector(0, 0)])[0]
    second = run(g, [vector(1, 1)])[0]
    assert first.tolist() == [2, 2] and second.tolist() != first.tolist()


def test_an_update_in_place_spares_those_who_hold_the_old_value() -> None:
    p = Parameter(vector(1, 2), name="p")
    optimizer = nn.SGD([p], 1.0)
    with Capture() as g:
        optimizer([g.input(ms.float32, (2,))])
        g.outputs([])
    seen = p.asnumpy()
    run(g, [vector(1, 1)])
    assert p.tolist() == [0, 1] and seen.tolist() == [1, 2]
    run(g, [vector(1, 1)])
    assert p.tolist() == [-1, 0] and seen.tolist() == [1, 2]


def test_values_that_change_places_in_a_loop() -> None:
    with Capture() as g:
        outs = repeat(
            g,
            lambda a, b, n: (b, a, n + 1),
            lambda a, b, n: n < 3,
            g.input(ms.float32, (2,)),
            g.input(ms.float32, (2,)),
            Tensor(0, ms.int32),
        )
        g.outputs(list(outs))
    assert [t.tolist() for t in run(g, [vector(1, 2), vector(3, 4)])] == [[3, 4], [1, 2], 3]


def test_the_plan_of_a_deep_chain_reuses_memory() -> None:
    with Capture() as g:
        y = x = g.input(ms.float32, (1000,))
        for _ in range(500):
            y = ops.tanh(y).cumsum(0) + x
        g.outputs([y])
    plan = g.memory_plan()
    assert plan["steps"] == 1500 and plan["arena"] == plan["floor"] <= 3 * 4096


def test_twenty_thousand_chained_calls() -> None:
    with Capture() as g:
        y = x = g.input(ms.float32, (4,))
        for _ in range(20_000):
            y = ops.sin(y)
        g.outputs([y])
    expected = x = vector(1, 2, 3, 4)
    for _ in range(20_000):
        expected = ops.sin(expected)
    assert run(g, [x])[0].tolist() == expected.tolist()


def test_three_thousand_parameters() -> None:
    parameters = [Parameter(vector(1, 2), name=f"p{i}") for i in range(3000)]
    optimizer = nn.Momentum(parameters, 1.0, 0.5)
    with Capture() as g:
        total = g.input(ms.float32, (2,))
        for p in parameters:
            total = total + p
        total = total.sum()
        total.backward()
        optimizer.step()
        g.outputs([total])
    assert run(g, [vector(0, 0)])[0].item() == 9000
    assert all(p.tolist() == [0, 1] for p in parameters)


def test_a_hundred_thousand_turns() -> None:
    with Capture() as g:
        outs = repeat(
            g,
            lambda v, n: (v + 1, n + 1),
            lambda v, n: n < 100_000,
            g.input(ms.float32, ()),
            Tensor(0, ms.int32),
        )
        g.outputs(list(outs))
    assert run(g, [Tensor(5.0, ms.float32)])[0].item() == 100_005


def test_prints_come_at_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    with Capture() as g:
        x = ops.Print()(g.input(ms.float32, (2,)), "seen")
        g.outputs([x * 2])
    assert capsys.readouterr().out == ""
    run(g, [vector(1, 2)])
    run(g, [vector(3, 4)])
    assert capsys.readouterr().out == "[1. 2.]\nseen\n[3. 4.]\nseen\n"


def test_a_dependence_against_the_order_of_the_program_is_refused() -> None:
    p = Parameter(vector(1, 2), name="p")
    with Capture() as g:
        x = g.input(ms.float32, (2,))
        before = p * 2
        written = ops.assign(p, x)
        after = p * 2
        ms.control_depend(written, after)
        with pytest.raises(ValueError, match="control_depend"):
            ms.control_depend(written, before)
        g.outputs([before, after])
    assert [t.tolist() for t in run(g, [vector(5, 6)])] == [[2, 4], [10, 12]]
    ms.control_depend(p, p)  # nothing in eager mode
