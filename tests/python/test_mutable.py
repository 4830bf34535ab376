"""Numbers that compiled functions take as inputs (mutable), tensors that they take as constants."""

from __future__ import annotations

from typing import Any

import pytest

import diptych as ms
from diptych import Tensor, mutable, nn

ONE = Tensor([1.0])


def test_other_values_run_the_same_graph() -> None:
    def f(x: Tensor, n: int, options: dict) -> Any:
        for _ in range(n):
            x = x + options["a"][0]
        if options["flag"]:
            x = x * 2
        return x, n + 1, options["a"][1] * 2, options["flag"]

    compiled = ms.jit(f)
    for n, a, flag in [(2, [1.5, 3], True), (3, [2.5, 4], False), (0, [1.0, 5], True)]:
        given = mutable(n), mutable({"a": a, "flag": flag})
        got, want = compiled(ONE, *given), f(ONE, n, {"a": a, "flag": flag})
        assert got[0].tolist() == want[0].tolist()
        assert got[1:] == want[1:]
        assert [type(v) for v in got[1:]] == [int, int, bool]
    assert compiled.cache_info()["compiles"] == 1
    plain = compiled(ONE, 2, mutable({"a": [1.5, 3], "flag": True}))
    assert plain[0].tolist() == [8.0]
    assert compiled.cache_info()["compiles"] == 2
    assert "int -> int 2" in compiled.explain()


def test_a_needed_value_is_compiled_for() -> None:
    @ms.jit
    def f(n: int) -> Any:
        return ms.ops.ones((n, 2))

    assert [f(mutable(n)).shape for n in (2, 3, 2)] == [(2, 2), (3, 2), (2, 2)]
    assert f.cache_info()["compiles"] == 2


def test_plain_numbers_in_the_same_place_count_by_value() -> None:
    @ms.jit
    def f(x: Tensor, n: int, as_size: bool) -> Any:
        return ms.ops.ones((n,)) if as_size else x * n

    assert f(ONE, mutable(2), False).tolist() == [2.0]
    assert f(ONE, 3, True).shape == (3,)
    assert f(ONE, mutable(4), False).tolist() == [4.0]
    assert f.cache_info()["compiles"] == 2


def test_traced_functions_count_by_value() -> None:
    f = ms.jit(lambda x, n: x * n, capture_mode="trace")
    assert [f(ONE, mutable(n)).tolist() for n in (2, 3)] == [[2.0], [3.0]]


def test_cells_and_gradients_take_them() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor, s: tuple) -> Tensor:
            return x * x * s[0] + s[1]

    net = Net()
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            assert net(ONE, mutable((2, 3.0))).tolist() == [5.0]
            assert ms.grad(net)(ONE, mutable((3, 4.0))).tolist() == [6.0]
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)


def test_inside_a_compiled_function() -> None:
    @ms.jit
    def f(x: Tensor, n: int) -> Any:
        m = mutable([n, 2])
        return x * m[0], m

    got, m = f(ONE, mutable(3))
    assert got.tolist() == [3.0] and m == [3, 2] and type(m[0]) is int


def test_eager_values() -> None:
    x = mutable({"a": [1, 2.5, True], "b": ONE})
    assert x == {"a": [1, 2.5, True], "b": ONE} and x["b"] is ONE
    assert repr(x["a"]) == "[1, 2.5, True]"
    assert (ONE * mutable(2.0)).tolist() == [2.0]
    assert mutable(mutable(3)) == 3


def test_refused() -> None:
    with pytest.raises(TypeError, match="is of type str"):
        mutable([1, "a"])
    with pytest.raises(TypeError, match="when the variable_len is True"):
        mutable(ONE, True)
    with pytest.warns(UserWarning, match="one graph for each length"):
        assert mutable((1, 2), True) == (1, 2)


def test_constant_tensors_may_be_looked_at() -> None:
    @ms.jit
    def f(x: Tensor, n: Tensor) -> Any:
        if n.item() > 2:
            x = x * 2
        return x + n, ms.ops.ones((n.tolist(), 1)).shape

    for _ in range(2):
        for n, want in ((2, 3.0), (3, 5.0)):
            got, shape = f(ONE, Tensor(n, const_arg=True))
            assert got.tolist() == [want] and shape == (n, 1)
    assert f.cache_info()["compiles"] == 2
    assert "constant int64[]" in f.explain()
    with pytest.raises((TypeError, RuntimeError)):
        f(ONE, Tensor(2))


def test_constant_tensors_that_change() -> None:
    @ms.jit
    def f(x: Tensor) -> Tensor:
        x += 1
        return x

    x = Tensor([1.0]).set_const_arg()
    assert f(x).tolist() == [2.0] and x.tolist() == [2.0]
    assert f(x).tolist() == [3.0] and x.tolist() == [3.0]
    assert x.const_arg and not x.set_const_arg(False).const_arg


def test_constant_tensors_keep_gradients() -> None:
    f = ms.jit(lambda x: (x * x).sum())
    x = Tensor([3.0], const_arg=True)
    assert f(x).item() == 9.0
    assert ms.grad(f)(x).tolist() == [6.0]


def test_constants_are_small() -> None:
    with pytest.raises(TypeError, match="const_arg=True; constants"):
        ms.jit(lambda x: x)(Tensor([0.0] * 2000, const_arg=True))
    for make in (lambda: Tensor([0], const_arg=1), lambda: Tensor([0]).set_const_arg(1)):
        with pytest.raises(TypeError, match="should be 'bool', but got type 'int'"):
            make()
