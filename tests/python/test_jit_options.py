"""Options of jit and the context that name what there is, and repeated calls."""

from __future__ import annotations

import pytest

import diptych as ms


def test_levels_and_backends_that_change_nothing_say_so() -> None:
    assert ms.jit(lambda x: x * 2, backend="ms_backend")(ms.Tensor([1.0])).tolist() == [2.0]
    with pytest.raises(ValueError, match="backend"):
        ms.jit(lambda x: x, backend="GE")
    ms.set_context(jit_level="O0", jit_syntax_level=ms.LAX)
    with pytest.warns(UserWarning, match="stages all it can"):
        ms.set_context(jit_syntax_level=ms.STRICT)
    ms.set_context(jit_syntax_level=ms.LAX)


def test_a_training_step_is_repeated_from_c_until_a_dict_it_read_is_filled() -> None:
    extras: dict[str, float] = {}

    @ms.jit
    def f(x: ms.Tensor) -> ms.Tensor:
        for v in extras.values():
            x = x * v
        return x + 1

    x = ms.Tensor([1.0])
    for _ in range(3):
        assert f(x).tolist() == [2.0]
    assert f._remembered >= 1
    extras["scale"] = 3.0
    assert f(x).tolist() == [4.0]


def test_compiling_runs_nothing() -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([2.0]))
            self.calls = 0

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.calls += 1
            self.w.set_data(self.w * x)
            return self.w * 1

    net, x = Net(), ms.Tensor([3.0])
    net.compile(x)
    assert net.w.tolist() == [2.0] and net.calls == 0
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert net(x).tolist() == [6.0]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    compiled = net.__dict__["_compiled"]["call"]
    assert compiled.cache_info()["compiles"] == 1 and net.calls == 1
    with pytest.raises(ValueError, match="broadcast"):
        ms.jit(lambda a, b: a + b).compile(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.0, 3.0]))


def test_parameters_of_one_name() -> None:
    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.a = ms.Parameter(ms.Tensor([2.0]), name="w")
            self.b = self.a

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return self.a * x

    net = Net()
    net.check_names()
    net.c = ms.Parameter(ms.Tensor([2.0]), name="w")
    with pytest.raises(ValueError, match="'a' and 'c' are two parameters of the name 'w'"):
        net.compile(ms.Tensor([1.0]))
