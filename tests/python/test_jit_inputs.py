"""input_signature and set_inputs: what calls get, and placeholders with sizes None."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import diptych as ms
from diptych import nn, ops


@pytest.fixture
def graph_mode() -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=before)


def rows(*sizes: int) -> ms.Tensor:
    return ms.Tensor(shape=sizes, dtype=ms.float32, init="ones")


def anyrows(*sizes: int | None) -> ms.Tensor:
    return ms.Tensor(shape=list(sizes), dtype=ms.float32)


def test_a_placeholder_knows_its_type() -> None:
    x = anyrows(None, 3)
    assert x.shape == (None, 3) and x.ndim == 2 and x.dtype is ms.float32
    assert "None, 3" in repr(x)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert again.shape == (None, 3)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: ops.relu(x),
        lambda x: x[0],
        lambda x: x.asnumpy(),
        lambda x: x.size,
        lambda x: len(x),
        lambda x: x.tolist(),
        lambda x: ms.Parameter(x),
        lambda x: ms.jit(lambda y: y + 1)(x),
        lambda x: ops.concat([x, x]),
        lambda x: x.reshape(3, -1),
        lambda x: ms.grad(lambda y: y.sum())(x),
    ],
)
def test_a_placeholder_has_no_values(use) -> None:
    with pytest.raises(ValueError, match="can not be None in graph mode.*set_inputs"):
        use(anyrows(None, 3))


def test_wrong_placeholders() -> None:
    with pytest.raises(ValueError, match=r"shape\[0\] is -2"):
        ms.Tensor(shape=[-2, None], dtype=ms.float32)
    with pytest.raises(ValueError, match="every size"):
        ms.Tensor(shape=[None], dtype=ms.float32, init="ones")
    with pytest.raises(ValueError, match="at most"):
        ms.Tensor(shape=[None] * 40, dtype=ms.float32)
    with pytest.raises(TypeError):
        ms.Tensor(shape=["a", None], dtype=ms.float32)


def test_set_inputs(graph_mode) -> None:
    net = nn.Dense(4, 2)
    net.set_inputs(anyrows(None, 4))
    assert net.get_inputs()[0].shape == (None, 4)
    for n in (1, 3, 8):
        assert net(rows(n, 4)).shape == (n, 2)
    with pytest.raises(ValueError, match=r"\(2, 5\).*\(None, 4\)"):
        net(rows(2, 5))
    with pytest.raises(ValueError, match="1 inputs, 2 were given"):
        net(rows(2, 4), rows(2, 4))
    with pytest.raises(TypeError, match="float16.*float32"):
        net(rows(2, 4).astype(ms.float16))
    with pytest.raises(ValueError, match="can not be None"):
        net(anyrows(None, 4))
    net.set_inputs()
    assert net.get_inputs() is None


def test_any_number_of_axes(graph_mode) -> None:
    net = nn.ReLU()
    net.set_inputs(ms.Tensor(dtype=ms.float32))
    assert net.get_inputs()[0].shape == (...,) and "[...]" in repr(net.get_inputs()[0])
    for sizes in ((), (3,), (2, 1, 4)):
        assert net(rows(*sizes)).shape == sizes
    with pytest.raises(TypeError, match="float16.*float32"):
        net(rows(2).astype(ms.float16))
    with pytest.raises(ValueError, match="can not be None"):
        ms.Tensor(dtype=ms.float32) + 1


def test_constants_among_the_inputs(graph_mode) -> None:
    class Scale(nn.Cell):
        def construct(self, x, factors):
            return x * factors[0] + factors[1]

    net = Scale()
    net.set_inputs(anyrows(None, 3), (2, 5))
    assert net(rows(2, 3), (2, 5)).shape == (2, 3)
    for other in ((2, 6), rows(1, 3)):
        with pytest.raises(ValueError, match=r"input 1 is .*; set_inputs asks for \(2, 5\)"):
            net(rows(2, 3), other)


def test_a_signature_with_sizes_left_open() -> None:
    f = ms.jit(lambda x: x * 2, input_signature=[anyrows(None, 3)])
    for n in (1, 2, 5):
        assert f(rows(n, 3)).shape == (n, 3)
    with pytest.raises(TypeError, match=r"float32\[2, 4\].*float32\[None, 3\]"):
        f(rows(2, 4))
    with pytest.raises(TypeError, match=r"float32\[3\]"):
        f(rows(3))
    with pytest.raises(TypeError, match="input_signature"):
        ms.jit(lambda x: x, input_signature=[3])


# ---- which tensors are the same object


class Pair:
    def __init__(self) -> None:
        self.a = self.b = ms.Tensor([1.0, 2.0])


@pytest.mark.parametrize("capture_mode", ["ast", "trace"])
def test_attributes_that_showed_one_tensor_may_show_two(capture_mode: str) -> None:
    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.h = self.c = ms.Tensor([1.0, 2.0])

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.h = self.h * 0.5 + x
            self.c = self.c + 2 * x
            return self.h * self.c

    found = []
    for wrap in (lambda f: f, lambda f: ms.jit(f, capture_mode=capture_mode)):
        cell = Both()
        step = wrap(cell.construct)
        found.append([step(ms.Tensor([1.0, 3.0])).tolist() for _ in range(4)])
    assert found[0] == found[1]


def test_writes_reach_all_names_of_a_tensor_outside() -> None:
    """Attributes and arguments that are one object in some calls and two in others."""

    def both(write: Callable) -> list[Any]:
        made = []
        for wrap in (lambda f: f, ms.jit):
            made.append(calls(wrap, write, Pair()))
        return made

    def calls(wrap: Callable, write: Callable, pair: Pair) -> Any:
        step, seen = wrap(lambda x: write(pair, x)), []

        def call(x: ms.Tensor) -> None:
            seen.append([t.tolist() for t in (step(x), x, pair.a, pair.b)])

        call(ms.Tensor([1.0, 1.0]))
        pair.b = ms.Tensor([5.0, 5.0])
        call(ms.Tensor([1.0, 1.0]))
        pair.a = pair.b
        call(ms.Tensor([1.0, 1.0]))
        call(pair.a)
        pair.b = ms.Tensor([7.0, 5.0])
        call(pair.a)
        call(pair.b)
        call(ms.Tensor([1.0, 1.0]))
        return seen

    def write_attribute(pair: Pair, x: ms.Tensor) -> ms.Tensor:
        pair.a += x
        return pair.b * 1

    def write_argument(pair: Pair, x: ms.Tensor) -> ms.Tensor:
        x[0] = 9
        return pair.a * pair.b

    def ask(pair: Pair, x: ms.Tensor) -> ms.Tensor:
        return x * (2 if pair.a is pair.b else 3) * (5 if pair.a is x else 7)

    for write in (write_attribute, write_argument, ask):
        eager, compiled = both(write)
        assert eager == compiled, write.__name__


def test_one_tensor_in_several_places_of_a_result_is_one_object() -> None:
    pair = Pair()

    @ms.jit
    def step(x: ms.Tensor) -> Any:
        y = x * 2
        pair.a = pair.b = y
        return y, [y, (x,)], y * 1

    x = ms.Tensor([1.0, 2.0])
    for _ in range(2):
        y, (again, (argument,)), other = step(x)
        assert y is again and argument is x and other is not y
        assert pair.a is pair.b is y
        y += 1
        assert again.tolist() == [3, 5] and other.tolist() == [2, 4]
