"""Kinds of error that users of other frameworks reported: Python inside compiled functions."""

from __future__ import annotations

import numpy as np
import pytest
from reports import both, compiles, ends_within, f32, i32, outcome, printed, rss

import diptych as ms
from diptych import nn, ops

# A loop variable keeps its last value (tensorflow#26293).


def test_the_loop_variable_after_the_loop() -> None:
    def static() -> int:
        for i in range(3):  # noqa: B007
            pass
        return i

    def none() -> int:
        for i in range(0):  # noqa: B007
            pass
        return i

    def counted(n: ms.Tensor) -> tuple:
        i = ms.Tensor(0, ms.int32)
        last = ms.Tensor(-1, ms.int32)
        while i < n:
            last = i
            i = i + 1
        return i, last

    def ranged(n: ms.Tensor) -> ms.Tensor:
        i = ms.Tensor(7, ms.int32)
        for i in range(n):  # noqa: B007
            pass
        return i

    assert both(static) == 2
    assert [int(v) for v in both(counted, i32(3))] == [3, 2]
    assert [int(v) for v in both(counted, i32(0))] == [0, -1]
    assert int(both(ranged, i32(4))) == 3
    with pytest.raises(UnboundLocalError):
        both(none)


# A branch that is invalid for this shape is not taken (tensorflow#38539).


def test_a_branch_that_would_be_invalid() -> None:
    def f(x: ms.Tensor) -> ms.Tensor:
        if ops.size(x) >= 3:
            return x[2]
        return x[0] * 10

    cases = ([1.0], [5.0, 6.0], [7.0, 8.0, 9.0])
    assert [float(both(f, f32(v))) for v in cases] == [10.0, 50.0, 9.0]


# A jitted function that calls itself (tensorflow#35540, #45279).


def test_recursion() -> None:
    @ms.jit
    def power(n: int | ms.Tensor, acc: ms.Tensor) -> ms.Tensor:
        if n == 0:
            return acc
        return power(n - 1, acc * 2)

    def deep(n: int) -> int:
        return n if n == 0 else deep(n - 1)

    with ends_within(60):
        assert float(power(3, f32(1.0))) == 8.0
        kind, value = outcome(power, i32(3), f32(1.0))
        if isinstance(value, Exception):
            assert isinstance(value, RuntimeError | TypeError | RecursionError), value
            assert "recurs" in str(value).lower() or "depth" in str(value).lower()
        else:
            assert float(value) == 8.0
        kind, value = outcome(ms.jit(deep), 5000)
        assert isinstance(value, RuntimeError | RecursionError), value


# Branches that return different types (MindSpore forum 276).


def test_branches_of_different_types() -> None:
    def f(x: ms.Tensor, a: ms.Tensor, b: ms.Tensor) -> ms.Tensor:
        if a > b:
            return ops.relu(x)
        return ops.relu(x).astype(ms.float16)

    def k(x: ms.Tensor, a: ms.Tensor) -> tuple:
        if a > 0:
            return x, None
        return x.sum(), x

    x = f32(np.ones((2, 3)))
    assert f(x, f32(2.0), f32(6.0)).dtype == ms.float16
    _, value = outcome(ms.jit(f), x, f32(2.0), f32(6.0))
    if isinstance(value, Exception):
        text = str(value).lower()
        assert isinstance(value, TypeError), value
        assert "float16" in text and "float32" in text and "line" in text
    else:
        assert value.dtype == ms.float16
    _, value = outcome(ms.jit(k), x, f32(1.0))
    if isinstance(value, Exception):
        assert isinstance(value, TypeError | ValueError), value
    else:
        assert value[1] is None


# Appending to a list that belongs to a class (pytorch#169253).


def test_appending_to_a_list_of_the_class() -> None:
    class Net(nn.Cell):
        log: list = []

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            Net.log.append(x.shape)
            return x + 1

    net = Net()
    net.construct = ms.jit(net.construct)
    for size in (2, 2, 3):
        net(f32(np.ones(size)))
    assert Net.log == [(2,), (2,), (3,)]


# Order of prints and writes (tensorflow#33453).


class Prints(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.n = ms.Parameter(ms.Tensor(2, ms.int32), name="n")

    def construct(self) -> ms.Tensor:
        print(f"start {self.n}")
        self.n *= 3
        print("middle", self.n, "of", 2)
        if self.n > 5:
            self.n -= 4
            print("end", self.n)
        return self.n


def test_prints_and_writes_keep_their_order() -> None:
    eager, net = Prints(), Prints()
    compiled = ms.jit(net)
    for _ in range(3):
        assert printed(compiled) == printed(eager)
        assert int(net.n) == int(eager.n)


# assert inside compiled code (pytorch#120409, #147282).


def test_assert() -> None:
    def shape(x: ms.Tensor) -> ms.Tensor:
        assert x.shape[-1] % 2 == 0, "odd width"
        return x * 2

    def values(x: ms.Tensor) -> ms.Tensor:
        assert (x > 0).all(), "not positive"
        return x.sqrt()

    with pytest.raises(AssertionError, match="odd width"):
        both(shape, f32(np.zeros(3)))
    assert both(shape, f32(np.zeros(4))).shape == (4,)
    with pytest.raises(AssertionError, match="not positive"):
        both(values, f32([1.0, -2.0]))
    assert both(values, f32([1.0, 4.0])).asnumpy().tolist() == [1.0, 2.0]


# Source text not available; super() with *args and **kwargs (pytorch#111328).

WITHOUT_FILE = """
class Lin(nn.Dense):
    def construct(self, *a, **k):
        return super().construct(*a, **k)
"""


class Lin(nn.Dense):
    def construct(self, *a: ms.Tensor, **k: ms.Tensor) -> ms.Tensor:
        return super().construct(*a, **k)


def test_super_with_variadic_arguments() -> None:
    net = Lin(4, 8)
    x = f32(np.ones((3, 4)))
    assert both(lambda x: net.construct(x), x).shape == (3, 8)
    assert both(lambda x: net.construct(x=x), x).shape == (3, 8)
    names: dict = {"nn": nn}
    exec(WITHOUT_FILE, names)
    _, value = outcome(ms.jit(names["Lin"](4, 8)), x)
    if isinstance(value, Exception):
        assert "source" in str(value).lower() and "construct" in str(value)
    else:
        assert value.shape == (3, 8)


def test_every_kind_of_argument() -> None:
    def f(x, y=2, *a, s=1, **k):
        return x * y + sum(a) * s + k.get("z", 0)

    for args, named in (((), {}), ((3,), {"z": 4}), ((3, 4, 5), {"s": 2, "z": 1})):
        eager = f(f32([1.0]), *args, **named)
        assert float(ms.jit(f)(f32([1.0]), *args, **named)[0]) == float(eager[0])


# A bound method as an argument (tensorflow#31175).


def test_a_bound_method_is_one_key() -> None:
    class T:
        def step(self, x: ms.Tensor) -> ms.Tensor:
            return x * 2

    @ms.jit
    def run(fn, x: ms.Tensor) -> ms.Tensor:
        return fn(x)

    t, other = T(), T()
    run(t.step, f32([1.0]))
    before = rss()
    for _ in range(300):
        assert float(run(t.step, f32([1.0]))[0]) == 2.0
    assert compiles(run) == 1 and rss() - before < 20
    other.step = lambda x: x * 3
    assert float(run(other.step, f32([1.0]))[0]) == 3.0
