"""Lists that grow in loops whose number of rounds is known at run time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from staging import plain

import diptych as ms
from diptych import nn, ops
from diptych.stage.errors import GraphError


def powers(x: Any, limit: Any) -> Any:
    out = []
    while x.sum() < limit:
        x = x * 2
        out.append(x)
    return out


def x2() -> ms.Tensor:
    return ms.Tensor([1.0, 2.0])


def limit(value: float) -> ms.Tensor:
    return ms.Tensor(value)


def same(fn: Any, *calls: tuple[Any, ...]) -> Any:
    """Each call in both modes; the compiled function."""
    compiled = ms.jit(fn)
    for args in calls:
        assert plain(compiled(*args)) == plain(fn(*args))
    return compiled


class TestLength:
    def test_returned_list_is_as_long_as_the_run_made_it(self) -> None:
        same(powers, *[(x2(), limit(v)) for v in (30.0, 300.0, 3.0, 30.0)])

    def test_each_length_is_compiled_once(self) -> None:
        compiled = ms.jit(powers)
        for value in (30.0, 300.0, 30.0, 300.0, 30.0):
            compiled(x2(), limit(value))
        assert compiled.cache_info()["compiles"] == 3  # one that counts, two lengths
        assert compiled.cache_info()["entries"] == 2

    def test_what_follows_is_python(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = powers(x, limit)
            total = sum(y.sum() for y in out)
            return ops.stack(out), len(out), out[-1], out[1:], total, [y for y in out]

        same(fn, (x2(), limit(30.0)), (x2(), limit(60.0)))

    def test_no_round_at_all(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = powers(x, limit)
            return ops.stack(out) if out else x

        same(fn, (x2(), limit(0.0)), (x2(), limit(9.0)))

    def test_many_rounds(self) -> None:
        def fn(n: Any) -> Any:
            out, i = [], n * 0
            while i < n:
                out.append(i * i)
                i += 1
            return ops.stack(out)

        compiled = same(fn, (ms.Tensor(500),))
        assert compiled.cache_info()["entries"] == 1

    def test_cache_limit_warns(self) -> None:
        compiled = ms.jit(powers, cache_limit=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for value in (30.0, 300.0, 3000.0):
                assert len(compiled(x2(), limit(value))) == len(powers(x2(), limit(value)))
        assert any("cache_limit=2" in str(w.message) for w in caught)
        assert compiled.cache_info()["entries"] <= 2


class TestAppending:
    def test_to_a_list_that_holds_something(self) -> None:
        def fn(x: Any, n: Any) -> Any:
            out = ["first", x]
            for i in range(n):
                out.append(x + i)
            return out

        same(fn, (x2(), ms.Tensor(3)), (x2(), ms.Tensor(70)))

    def test_on_some_paths(self) -> None:
        def fn(x: Any, n: Any) -> Any:
            odd, even = [], []
            for i in range(n):
                y = x * i
                if i == 5:
                    continue
                if y.sum() % 2 > 0:
                    odd.append(y)
                else:
                    even.append((y, i))
                if y.sum() > 40:
                    break
            else:
                even.append((x, -1))
            return odd, even

        same(fn, (x2(), ms.Tensor(4)), (x2(), ms.Tensor(30)))

    def test_extend(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = []
            while x.sum() < limit:
                x = x * 2
                out.extend([x, -x])
            return out

        same(fn, (x2(), limit(30.0)))

    def test_numbers_tuples_and_dicts(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out, i = [], 0
            while x.sum() < limit:
                x = x * 2
                out.append({"at": i, "pair": (x, x.sum() > 10), "third": 0.5})
                i += 1
            return out

        same(fn, (x2(), limit(30.0)), (x2(), limit(300.0)))

    def test_in_functions_and_closures(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = []

            def note(value: Any) -> None:
                out.append(value * 10)

            add = out.append
            while x.sum() < limit:
                x = x * 2
                note(x)
                add(x)
            return out

        same(fn, (x2(), limit(30.0)))

    def test_in_inner_loops(self) -> None:
        def fn(x: Any, n: Any) -> Any:
            out, sizes = [], []
            for i in range(n):
                y = x + i
                k = 0
                while y.sum() < 20:
                    y = y * 2
                    k += 1
                    out.append(y)
                sizes.append(k)
            return out, sizes

        same(fn, (x2(), ms.Tensor(4)), (x2(), ms.Tensor(2)))

    def test_lists_made_in_the_round(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = []
            while x.sum() < limit:
                parts = []
                for i in range(3):
                    parts.append(x * i)
                x = x * 2
                out.append(ops.stack(parts))
            return out

        same(fn, (x2(), limit(30.0)))

    def test_two_loops_one_after_the_other(self) -> None:
        def fn(x: Any, a: Any, b: Any) -> Any:
            first = powers(x, a)
            second = powers(first[-1], b)
            return first + second, len(first) * len(second)

        same(fn, (x2(), limit(30.0), limit(500.0)), (x2(), limit(9.0), limit(90.0)))

    def test_under_a_condition(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            y = x.sum()
            if y > 2:
                y = ops.stack(powers(x, limit)).sum()
            return y

        same(fn, (x2(), limit(30.0)), (x2() * 0, limit(30.0)), (x2(), limit(300.0)))


class TestState:
    def test_lists_that_live_on(self) -> None:
        class Log:
            def __init__(self) -> None:
                self.seen: list[Any] = []

        def fn(log: Log, x: Any, limit: Any) -> Any:
            while x.sum() < limit:
                x = x * 2
                log.seen.append(x)
            return x

        logs = Log(), Log()
        compiled = ms.jit(fn)
        for value in (30.0, 9.0, 300.0):
            fn(logs[0], x2(), limit(value))
            compiled(logs[1], x2(), limit(value))
        assert plain(logs[0].seen) == plain(logs[1].seen)

    def test_a_run_that_counts_changes_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        class Net(nn.Cell):
            def __init__(self) -> None:
                super().__init__()
                self.calls = 0
                self.w = ms.Parameter(ms.Tensor([1.0, 1.0]), name="w")

            def construct(self, x: Any, limit: Any) -> Any:
                self.calls += 1
                self.w += 1
                print("called")
                x = ops.dropout(x, 0.0) + ops.randn((2,)) * 0
                return ops.stack(powers(x, limit)) * self.w

        net = Net()
        ms.set_seed(1)
        made = ms.jit(net)(x2(), limit(30.0))
        assert (net.calls, net.w.asnumpy().tolist()) == (1, [2.0, 2.0])
        assert made.shape == (4, 2) and capsys.readouterr().out == "called\n"
        state = ms.get_rng_state().asnumpy()
        ms.set_seed(1)
        Net()(x2(), limit(30.0))
        assert np.array_equal(state, ms.get_rng_state().asnumpy())

    def test_training_step(self) -> None:
        def steps(mode: int) -> list[Any]:
            ms.set_seed(3)
            net = nn.Dense(3, 3)
            optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)

            def step(x: Any, n: Any) -> Any:
                out = []
                for _ in range(n):
                    x = ops.tanh(net(x))
                    out.append(x)
                loss = (ops.stack(out) ** 2).mean()
                loss.backward()
                optimizer.step()
                return loss

            run = ms.jit(step) if mode else step
            x = ms.Tensor(np.linspace(-1, 1, 6).reshape(2, 3), ms.float32)
            losses = [float(run(x, ms.Tensor(n))) for n in (3, 5, 3, 4)]
            return [losses, *(p.asnumpy().tolist() for p in net.trainable_params())]

        np.testing.assert_allclose(
            np.concatenate([np.ravel(v) for v in steps(0)]),
            np.concatenate([np.ravel(v) for v in steps(1)]),
            rtol=1e-6,
        )


class TestGradients:
    @staticmethod
    def loss(x: Any, limit: Any) -> Any:
        out = powers(x, limit)
        return sum((i + 1) * (y * y).sum() for i, y in enumerate(out))

    def test_inside(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            return ms.grad(TestGradients.loss)(x, limit)

        same(fn, (x2(), limit(30.0)), (x2(), limit(300.0)))

    def test_of_a_compiled_function(self) -> None:
        expected = ms.grad(self.loss)(x2(), limit(30.0))
        assert plain(ms.grad(ms.jit(self.loss))(x2(), limit(30.0))) == plain(expected)


class TestRefused:
    @pytest.mark.parametrize(
        "use",
        ["len(out)", "out[-1]", "sum(out)", "out.pop()", "[y for y in out]"],
    )
    def test_reading_in_an_endless_loop(self, use: str, tmp_path: Any) -> None:
        source = (
            "def fn(x):\n    out = [x]\n    while True:\n        x = x * 2\n"
            f"        out.append(x)\n        y = {use}\n        if x.sum() > 30:\n"
            "            break\n    return out\n"
        )
        path = tmp_path / "reading.py"
        path.write_text(source)
        names: dict[str, Any] = {}
        exec(compile(source, str(path), "exec"), names)
        with pytest.raises(GraphError, match="A list that grows in a loop is read inside of it"):
            ms.jit(names["fn"])(x2())

    def test_items_of_different_types(self) -> None:
        def fn(x: Any, limit: Any) -> Any:
            out = []
            while x.sum() < limit:
                x = x * 2
                out.append(x)
                out.append(x.sum())
            return out

        with pytest.raises(TypeError, match="Loop appends items of different types to a list"):
            ms.jit(fn)(x2(), limit(30.0))
