"""What Graph mode takes of Python's control flow. Each class is a row of docs/syntax.md."""

from __future__ import annotations

from typing import Any

import pytest
from staging import assert_refused, assert_same

import diptych as ms
from diptych import ops

NUMBERS = (-7.0, -1.0, 0.0, 0.5, 2.0, 3.0, 9.0)


class TestIf:
    """`if`/`elif`/`else`, `x if c else y`

    both branches are compiled, and joined.
    """

    def test_static(self) -> None:
        def fn(x: Any, flag: bool) -> Any:
            if flag:
                x = x + 1
            return x if not flag else -x

        assert_same(fn, (2.0, True))
        assert_same(fn, (2.0, False))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            if x > 2:
                y = x * 2
            elif x > 0:
                y = x + 1
            else:
                y = -x
            return y if x < 5 else y / 2

        assert_same(fn, *NUMBERS)


class TestBranchesOfOtherTypes:
    """branches that differ in dtype or shape

    each keeps its own; the call tells which.
    """

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            y = x.astype(ms.float16) if x.sum() > 0 else ops.concat((x, x))
            return y * 2

        assert_same(fn)


class TestNameOfOneBranch:
    """a variable defined in one branch

    an error only on the path that reads it.
    """

    def test_static(self) -> None:
        def fn(x: Any, flag: bool) -> Any:
            if flag:
                y = x + 1
            return y

        assert_same(fn, (2.0, True))
        with pytest.raises(UnboundLocalError):
            ms.jit(fn)(ms.Tensor(2.0), False)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            if x > 2:
                y = x + 1
            return y

        assert_same(fn, *NUMBERS)


class TestNone:
    """`None` beside a tensor

    `is None` becomes the condition.
    """

    def test_static(self) -> None:
        def fn(x: Any, bias: Any = None) -> Any:
            return x if bias is None else x + bias

        assert_same(fn, 2.0)
        assert_same(fn, (2.0, 3.0))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            best = None
            if x > 2:
                best = x
            return x if best is None else best * 10

        assert_same(fn, *NUMBERS)


class TestEarlyReturn:
    """early `return`, several of them

    anywhere; results may be of other structures.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            if n > 3:
                return x, n
            return x * n

        assert_same(fn, (2.0, 4))
        assert_same(fn, (2.0, 1))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            if x > 2:
                return x
            if x < 0:
                return x, "low"
            return [x, None]

        assert_same(fn, *NUMBERS)


class TestLoops:
    """`while`, `for` over a range or tensor

    unrolled up to 64 turns, else a loop of the graph.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            for i in range(n):
                x = x + i
            while n > 0:
                x, n = x * 2, n - 1
            return x

        assert_same(fn, (2.0, 3))
        assert_same(fn, (2.0, 100))

    def test_tensor(self) -> None:
        def fn(x: Any, n: Any) -> Any:
            while x < 50:
                x = x * 2 + 1
            for i in range(int(n)):
                x = x + i
            for row in ops.stack((x, x + 1)):
                x = x - row
            return x

        assert_same(fn, *((x, n) for x in (1.0, 60.0) for n in (0.0, 70.0)))


class TestLeavingLoops:
    """`break`, `continue`, `return` in loops

    any mix, also in `while True`.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            for i in range(9):
                if i == n:
                    break
                if i % 2:
                    continue
                x = x + i
            while True:
                n += 1
                if n > 5:
                    return x * n

        assert_same(fn, (2.0, 3))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            for i in range(5):
                if x > 6:
                    break
                if x < 0:
                    x = -x
                    continue
                x = x + i
            while True:
                x = x * 2
                if x > 100:
                    return x
                if x == 0:
                    break
            return x - 1

        assert_same(fn, *NUMBERS)


class TestElseOfLoops:
    """`for`...`else`, `while`...`else`

    after a loop that no `break` has left.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            for i in range(4):
                if i == n:
                    break
            else:
                x = -x
            return x

        assert_same(fn, (2.0, 3))
        assert_same(fn, (2.0, 7))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            while x < 20:
                x = x * 2 + 1
                if x == 7:
                    break
            else:
                x = x * 10
            return x

        assert_same(fn, *NUMBERS[2:])


class TestLoopOfOtherTypes:
    """a loop that changes a dtype

    with a known number of turns only.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            for i in range(3):
                x = x.astype((ms.float16, ms.float32, ms.float64)[i])
            return x

        assert_same(fn)

    def test_tensor_refused(self) -> None:
        def fn(x: Any) -> Any:
            while x.sum() < 10:
                x = x.astype(ms.float32 if x.dtype == ms.float64 else ms.float64) + 1
            return x

        assert_refused(fn, "Loop changes the type of 'x'", [1.0])


class TestLoopsThatChangeSizes:
    """a loop that changes a shape

    a version for each number of turns, of at most 48.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            for _ in range(3):
                x = ops.concat((x, x))
            return x

        assert_same(fn)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            while x.sum() < 10:
                x = ops.concat((x, x))
            return x

        assert_same(fn, [1.0], [2.0, 9.0], graphs=2)


class TestRecursion:
    """recursion

    ended by what is known while compiling; write a loop where a tensor ends it.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            return x if n == 0 else fn(x * 2, n - 1) + n

        assert_same(fn, (2.0, 20))

    def test_tensor_refused(self) -> None:
        def fn(x: Any) -> Any:
            return fn(x - 1) if x > 0 else x

        assert_refused(fn, "Exceed function call depth limit", 2.0)


class TestComprehensions:
    """comprehensions and generator expressions, of any depth

    a tensor may not filter items.
    """

    def test_static(self) -> None:
        def fn(n: int) -> Any:
            table = {i: {j for j in range(i)} for i in range(n) if i % 2}
            return [(i, j) for i in table for j in table[i]], sum(i for i in table)

        assert fn(5) == ms.jit(fn)(5)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            rows = [[x * i + j for j in range(2)] for i in range(3)]
            return sum(r for row in rows for r in row), {i: r[0] for i, r in enumerate(rows)}

        assert_same(fn, *NUMBERS[:2])

    def test_tensor_filter_refused(self) -> None:
        assert_refused(lambda x: [v for v in (x, -x) if v > 0], "Static value needed", 2.0)


class TestGenerators:
    """generator functions (`yield`)

    run by Python while compiling, without conditions on tensors.
    """

    def test_static(self) -> None:
        def turns(n: int) -> Any:
            while n > 0:
                yield n
                n -= 1

        assert_same(lambda x: x * sum(turns(3)), 2.0)

    def test_tensor(self) -> None:
        def powers(x: Any) -> Any:
            for i in range(3):
                yield x * i

        def fn(x: Any) -> Any:
            for y in powers(x):
                x = x + y if y < 3 else x
            return x

        assert_same(fn, *NUMBERS)

    def test_tensor_condition_refused(self) -> None:
        def positive(x: Any) -> Any:
            if x > 0:
                yield x

        with pytest.raises(TypeError, match="known only when the compiled function runs"):
            ms.jit(lambda x: list(positive(x)))(ms.Tensor(2.0))


class TestAsync:
    """`async`, `await`

    refused.
    """

    def test_static_refused(self) -> None:
        async def later() -> int:
            return 3

        assert_refused(lambda x: later(), "Unsupported type in Graph mode", 2.0)

    def test_tensor_refused(self) -> None:
        async def later(x: Any) -> Any:
            return x

        assert_refused(lambda x: later(x), "Unsupported type in Graph mode", 2.0)


class TestTry:
    """`try`, `except`, `else`, `finally`

    exceptions of the program; not those of a run's kernels.
    """

    def test_static(self) -> None:
        def fn(x: Any, key: str) -> Any:
            try:
                x = x * {"a": 2}[key]
            except KeyError:
                x = -x
            else:
                x = x + 1
            finally:
                x = x * 10
            return x

        assert_same(fn, (2.0, "a"))
        assert_same(fn, (2.0, "b"))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            try:
                if x > 2:
                    raise ValueError("large")
                x = x + 1
            except ValueError:
                x = -x
            finally:
                x = x * 10
            return x

        assert_same(fn, *NUMBERS)


class TestRaise:
    """`raise`, `assert`

    at run time, with values and the line.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            assert n > 0, f"n is {n}"
            return x

        assert_same(fn, (2.0, 1))
        with pytest.raises(AssertionError, match="n is -1"):
            ms.jit(fn)(ms.Tensor(2.0), -1)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            if x > 5:
                raise ValueError(f"{x} is too much")
            assert x >= 0, f"{x} is too little"
            return x

        assert_same(fn, *NUMBERS)


class TestWith:
    """`with`

    `no_grad` and `enable_grad`, around branches too.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            with ms.no_grad():
                y = x * 2
            return y + x

        assert_same(fn, 2.0)
        assert ms.grad(ms.jit(fn))(ms.Tensor(2.0)).item() == 1.0

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            with ms.no_grad():
                if x > 2:
                    return x * 2
                y = x * 3
            return y + x

        assert_same(fn, *NUMBERS)
        for value, slope in ((3.0, 0.0), (1.0, 1.0)):
            assert ms.grad(ms.jit(fn))(ms.Tensor(value)).item() == slope

        def chosen(x: Any) -> Any:
            with ms.no_grad():
                return x if x > 2 else -x

        for value, slope in ((3.0, 1.0), (1.0, 0.0)):
            for call in (chosen, ms.jit(chosen)):
                assert ms.grad(call)(ms.Tensor(value)).item() == slope


class TestMatch:
    """`match`

    patterns of values, sequences, mappings and classes; a tensor meets value patterns.
    """

    def test_static(self) -> None:
        def fn(x: Any, shape: Any) -> Any:
            match shape:
                case [a, *rest] if rest:
                    return x * a
                case {"size": n}:
                    return x + n
                case str():
                    return -x
            return x

        for shape in ([3, 4], {"size": 5}, "wide", None):
            assert fn(ms.Tensor(2.0), shape) == ms.jit(fn)(ms.Tensor(2.0), shape)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            match x:
                case 2.0:
                    return x * 10
                case 3.0 | 9.0:
                    return x * 100
                case _:
                    return x

        assert_same(fn, *NUMBERS)


class TestImport:
    """`import` inside of a function

    once, while compiling.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            import math
            from operator import mul as times

            return times(x, math.pi)

        assert_same(fn, 2.0)
