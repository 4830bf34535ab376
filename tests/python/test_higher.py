"""Ops that call the user's functions: WhileLoop, ForiLoop, Scan, HyperMap, MultitypeFuncGraph."""

from collections.abc import Callable
from typing import Any

import pytest

import diptych as ms
from diptych import ops

CALLERS: list[Callable] = [lambda f: f, ms.jit]
both = pytest.mark.parametrize("compiled", CALLERS, ids=["plain", "jit"])


def values(nested: Any) -> Any:
    if isinstance(nested, tuple | list):
        return type(nested)(map(values, nested))
    return nested.item() if isinstance(nested, ms.Tensor) else nested


@both
def test_while_loop(compiled: Callable) -> None:
    def collatz(state: list[Any]) -> list[Any]:
        x, n = state
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        return [x, n + 1]

    def fn(x: ms.Tensor) -> Any:
        return ops.WhileLoop()(lambda s: s[0] != 1, collatz, [x, 0])

    assert values(compiled(fn)(ms.Tensor(27))) == [1, 111]
    assert values(compiled(fn)(ms.Tensor(1))) == [1, 0]


@both
@pytest.mark.parametrize("unroll", [True, False])
def test_fori_loop(compiled: Callable, unroll: bool) -> None:
    def fn(x: ms.Tensor) -> ms.Tensor:
        return ops.ForiLoop()(2, 100, lambda i, v: v + i, x, unroll)

    assert compiled(fn)(ms.Tensor(1)).item() == 1 + sum(range(2, 100))


@both
def test_fori_loop_over_bounds_known_at_run_time(compiled: Callable) -> None:
    def fn(n: ms.Tensor, x: ms.Tensor) -> ms.Tensor:
        return ops.ForiLoop()(0, int(n), lambda i, v: v * 2, x, False)

    fn = compiled(fn)
    assert [fn(ms.Tensor(n), ms.Tensor(3)).item() for n in (0, 5)] == [3, 96]


@both
def test_scan(compiled: Callable) -> None:
    def step(total: Any, x: Any) -> tuple[Any, Any]:
        return total + x, total * x

    def fn(x: ms.Tensor) -> Any:
        return ops.Scan()(step, x, [1, 2, 3]), ops.Scan()(lambda c, _: (c + 1, c), x, None, 2)

    assert values(compiled(fn)(ms.Tensor(5))) == ((11, [5, 12, 24]), (7, [5, 6]))
    rows = ms.Tensor([[1.0], [2.0]])
    total, products = compiled(lambda r: ops.Scan()(step, ms.Tensor([0.5]), r))(rows)
    assert values(total) == 3.5 and values(products) == [0.5, 3.0]


def test_scan_refuses_lengths_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="length is 4, but xs has 3"):
        ops.Scan()(lambda c, x: (c, x), 0, [1, 2, 3], 4)
    with pytest.raises(ValueError, match="both None"):
        ops.Scan()(lambda c, x: (c, x), 0, None)


@both
def test_maps_choose_by_kind_and_hold_branches_on_tensors(compiled: Callable) -> None:
    larger = ops.MultitypeFuncGraph("larger")

    @larger.register("Tensor", "Tensor")
    def _(a: ms.Tensor, b: ms.Tensor) -> ms.Tensor:
        if a > b:
            return a
        return b

    @larger.register("Number", "Number")
    def _(a: float, b: float) -> float:
        return max(a, b)

    def fn(a: ms.Tensor, b: ms.Tensor) -> Any:
        return ops.HyperMap(larger)((a, [b, 2]), (b, [a, 3])), ops.Map()(larger, (a, 4), (b, 1))

    got = compiled(fn)(ms.Tensor(1), ms.Tensor(7))
    assert values(got) == ((7, [7, 3]), (7, 4))


@both
def test_a_kind_that_is_not_registered_is_refused(compiled: Callable) -> None:
    only = ops.MultitypeFuncGraph("only")
    only.register("Number")(lambda x: x)
    with pytest.raises(TypeError, match="only: no function is registered for"):
        compiled(lambda x: only(x))(ms.Tensor(1))


@both
def test_switch_and_tuples(compiled: Callable) -> None:
    def fn(x: ms.Tensor) -> Any:
        pair = ops.make_tuple(x, ops.switch(x > 2, x * 2, -x))
        while x < 5:
            pair = ops.make_tuple(ops.tuple_getitem(pair, 1), x.value() + 1)
            x = x + 1
        return pair

    for value in (1.0, 3.0, 9.0):
        assert values(compiled(fn)(ms.Tensor(value))) == values(fn(ms.Tensor(value)))
