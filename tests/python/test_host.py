"""ms.host_callback, ms.static, ms.static_range; gradients of one's own in compiled functions."""

import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import diptych as ms
from diptych import nn


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


@ms.host_callback(
    out=ms.TensorSpec((), ms.float32), vjp=lambda x, g: g * x / np.linalg.norm(x).astype(x.dtype)
)
def norm(x: np.ndarray) -> np.floating:
    return np.linalg.norm(x)


CALLERS: list[Callable] = [lambda f: f, ms.jit]


@pytest.mark.parametrize("compiled", CALLERS, ids=["plain", "jit"])
def test_host_callback_gives_values_and_gradients(mode: None, compiled: Callable) -> None:
    fn = compiled(lambda x: norm(x) * 2 + 1)
    for row in ([3.0, 4.0], [6.0, 8.0]):
        x = ms.Tensor(row)
        assert fn(x).item() == pytest.approx(2 * np.hypot(*row) + 1)
        np.testing.assert_allclose(ms.grad(fn)(x).asnumpy(), [1.2, 1.6], rtol=1e-6)


@pytest.mark.parametrize("compiled", CALLERS, ids=["plain", "jit"])
def test_host_callback_of_several_results_and_other_arguments(compiled: Callable) -> None:
    calls: list[str] = []

    @ms.host_callback(out=(ms.TensorSpec((2,), ms.int32), ms.TensorSpec((), ms.float64)))
    def pair(x: np.ndarray, scale: int, n: np.ndarray) -> tuple[np.ndarray, float]:
        assert isinstance(x, np.ndarray) and scale == 3
        calls.append("pair")
        return x.astype(np.int64) * scale, float(n)

    def fn(x: ms.Tensor, n: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
        return pair(x, 3, n + 1)

    fn = compiled(fn)
    for n in range(2):
        a, b = fn(ms.Tensor([1.0, 2.0]), ms.Tensor(n))
        assert a.dtype is ms.int32 and a.tolist() == [3, 6]
        assert b.dtype is ms.float64 and b.item() == n + 1
    assert len(calls) == 2


@pytest.mark.parametrize("compiled", CALLERS, ids=["plain", "jit"])
def test_host_callback_runs_only_where_the_path_leads(compiled: Callable) -> None:
    seen: list[float] = []

    @ms.host_callback(out=ms.TensorSpec((), ms.float32))
    def note(x: np.ndarray) -> np.ndarray:
        seen.append(float(x))
        return x

    def fn(x: ms.Tensor) -> ms.Tensor:
        while x < 10:
            if x > 3:
                x = note(x)
            x = x * 2
        return x

    assert compiled(fn)(ms.Tensor(1.0)).item() == 16.0
    assert seen == [4.0, 8.0]


@pytest.mark.parametrize("compiled", CALLERS, ids=["plain", "jit"])
def test_host_callback_keeps_its_promise(compiled: Callable) -> None:
    def call(out: object, fn: Callable) -> None:
        wrapped = ms.host_callback(out=out)(fn)
        compiled(lambda x: wrapped(x))(ms.Tensor([1.0, 2.0]))

    with pytest.raises(ValueError, match=r"shape \(2,\); out says \(3,\)"):
        call(ms.TensorSpec((3,), ms.float32), lambda x: x)
    with pytest.raises(TypeError, match="float32; out says int32"):
        call(ms.TensorSpec((2,), ms.int32), lambda x: x)
    with pytest.raises(ValueError, match="gave 1 arrays; out promises 2"):
        call((ms.TensorSpec((2,), ms.int32),) * 2, lambda x: x)
    with pytest.raises(ZeroDivisionError):
        call(ms.TensorSpec((), ms.int32), lambda x: 1 // 0)


def test_host_callback_refuses_bad_specs_and_gradients_it_has_not() -> None:
    with pytest.raises(TypeError, match="must be a TensorSpec"):
        ms.host_callback(out=(2, 3))
    with pytest.raises(ValueError, match="ints from 0 on"):
        ms.TensorSpec((2, -1), ms.float32)
    plain = ms.host_callback(out=ms.TensorSpec((), ms.float32))(np.sum)
    with pytest.raises(NotImplementedError, match="has no vjp"):
        ms.grad(lambda x: plain(x) * x.sum())(ms.Tensor([1.0, 2.0]))


def test_static_keeps_one_value() -> None:
    @ms.jit
    def noisy(x: ms.Tensor) -> ms.Tensor:
        return x + ms.static(random.random()) + ms.static(float(np.random.default_rng().normal()))

    x = ms.Tensor(0.0)
    assert noisy(x).item() == noisy(x).item()
    assert ms.static(3) == 3


def test_what_changes_from_run_to_run_is_refused_outside_of_static() -> None:
    import datetime
    import os
    import uuid

    rng = np.random.default_rng(0)
    reads = [
        random.random,
        rng.normal,
        np.random.rand,
        datetime.datetime.now,
        uuid.uuid4,
        lambda: os.urandom(2),
        lambda: open(os.devnull),
        input,
    ]
    for read in reads:

        def fn(x: ms.Tensor, read: Callable = read) -> ms.Tensor:
            read()
            return x

        with pytest.raises(TypeError, match=r"same in every run(.|\n)*ms.static"):
            ms.jit(fn)(ms.Tensor(1.0))
    with pytest.raises(TypeError, match="Static value needed"):
        ms.jit(lambda x: ms.static(x.sum()))(ms.Tensor([1.0]))


def test_static_range_stages_every_turn() -> None:
    @ms.jit
    def fn(x: ms.Tensor) -> ms.Tensor:
        for i in ms.static_range(100):
            x = x + WEIGHTS[i]
        return x

    assert fn(ms.Tensor(0)).item() == sum(WEIGHTS)
    assert list(ms.static_range(1, 9, 3)) == [1, 4, 7]
    with pytest.raises(TypeError, match="known only at run time"):
        ms.jit(lambda n, x: [x for _ in ms.static_range(n)][0])(ms.Tensor(3), ms.Tensor(0))


WEIGHTS = list(range(100))


class Squared(nn.Cell):
    """Its gradient is not that of what it computes."""

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return x * x

    def bprop(self, x: ms.Tensor, out: ms.Tensor, dout: ms.Tensor) -> tuple[ms.Tensor]:
        return (dout * 100,)


def test_gradients_of_ones_own_around_compiled_calls() -> None:
    net = Squared()

    def fn(x: ms.Tensor) -> ms.Tensor:
        return net(x) * x

    x = ms.Tensor(2.0)  # 100 x + x^2
    assert ms.grad(fn)(x).item() == ms.grad(ms.jit(fn))(x).item() == 204.0


def test_gradients_of_ones_own_are_refused_where_they_would_be_lost() -> None:
    net = Squared()

    def fn(x: ms.Tensor, n: ms.Tensor) -> ms.Tensor:
        i = n * 0
        while i < n:
            x = net(x)
            i += 1
        return x

    x, n = ms.Tensor(2.0), ms.Tensor(2)
    assert ms.grad(fn)(x, n).item() == 100.0**2
    for differentiated in (
        lambda: ms.jit(lambda x, n: ms.grad(fn)(x, n))(x, n),
        lambda: ms.grad(ms.jit(fn))(x, n),
        lambda: ms.grad(ms.grad(ms.jit(lambda x: net(x) * x)))(x),
    ):
        with pytest.raises(NotImplementedError, match="gradients? of its own"):
            differentiated()


def test_constants_are_not_forgotten_around_compiled_calls() -> None:
    def stopped(x: ms.Tensor) -> ms.Tensor:
        return ms.ops.stop_gradient(x) * x * x

    def looped(x: ms.Tensor) -> ms.Tensor:
        with ms.no_grad():
            y = x * 1
        while x < 10:
            x = x * x * y
        return x

    x = ms.Tensor(3.0)
    assert ms.grad(ms.jit(stopped))(x).item() == 18.0
    assert ms.jit(lambda x: ms.grad(ms.grad(stopped))(x))(x).item() == 6.0
    assert ms.jit(lambda x: ms.grad(looped)(x))(x).item() == ms.grad(looped)(x).item() == 18.0
    for differentiated in (
        lambda: ms.grad(ms.grad(ms.jit(stopped)))(x),
        lambda: ms.grad(ms.jit(looped))(x),
    ):
        with pytest.raises(NotImplementedError, match="what it makes constant"):
            differentiated()


def test_jit_class_is_for_plain_classes() -> None:
    class Kept:
        pass

    assert ms.jit_class(Kept) is Kept
    with pytest.raises(TypeError, match="must be a class"):
        ms.jit_class(3)
    with pytest.raises(TypeError, match="is a Cell"):
        ms.jit_class(Squared)
