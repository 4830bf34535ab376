"""What Graph mode takes of Python's values, calls and state. A class is a row of docs/syntax.md."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
import time
from collections import namedtuple
from typing import Any

import numpy as np
from staging import assert_refused, assert_same

import diptych as ms
from diptych import nn, ops

NUMBERS = (-7.0, -1.0, 0.0, 0.5, 2.0, 3.0, 9.0)


def same(fn: Any, *inputs: Any) -> None:
    """Eager and compiled calls give equal tensors or values, call after call."""
    compiled = ms.jit(fn)
    for given in inputs:
        args = [ms.Tensor(v) if isinstance(v, list | float) else v for v in given]
        assert repr(compiled(*args)) == repr(fn(*args))


class TestListsInBranches:
    """`append`, `pop`, indexing of lists in branches

    lengths may differ.
    """

    def test_static(self) -> None:
        def fn(x: Any, more: bool) -> Any:
            parts = [x, x + 1]
            if more:
                parts.append(parts[0] * 2)
            else:
                parts.pop()
            return parts, len(parts)

        assert_same(fn, (2.0, True))
        assert_same(fn, (2.0, False))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            parts = [x, x + 1]
            if x > 2:
                parts.append(parts[0] * 2)
            elif x > 0:
                parts[1] = x
            else:
                parts.pop()
            return parts, len(parts)

        assert_same(fn, *NUMBERS)


class TestListsInLoops:
    """`append` in a loop

    items of one type; read after the loop.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            parts = []
            for i in range(n):
                parts.append(x * i)
            return ops.stack(parts)

        assert_same(fn, (2.0, 4))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            parts = []
            while x < 10:
                x = x * 2
                parts.append(x)
            return parts, len(parts)

        assert_same(fn, 2.0, 1.0)


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 0


class TestContainers:
    """dicts, sets, tuples, named tuples, dataclasses

    their structure is known while compiling.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            names = {"a": 1, "b": 2}
            names["c"] = len({1, 2})
            first, *rest = Pair(3, 4)
            return x * names["c"] + first + rest[0] + Point(1, 2).y

        assert_same(fn, 2.0)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            held = {"pair": Pair(x, x + 1), "point": Point(x)}
            if x > 2:
                held["pair"] = held["pair"]._replace(first=x * 2)
                held["point"].y = x
            return held["pair"], held["point"].x + held["point"].y

        assert_same(fn, *NUMBERS)


class TestMutation:
    """objects changed inside of called functions and methods

    seen by all who hold them.
    """

    def test_static(self) -> None:
        def fill(table: dict[str, int], n: int) -> None:
            table["n"] = n

        def fn(x: Any) -> Any:
            table: dict[str, int] = {}
            fill(table, 3)
            return x * table["n"]

        assert_same(fn, 2.0)

    def test_tensor(self) -> None:
        class Sum:
            def __init__(self) -> None:
                self.total: Any = 0
                self.seen: list[Any] = []

            def add(self, x: Any) -> None:
                if x > 0:
                    self.total = self.total + x
                self.seen.append(x)

        def fn(x: Any) -> Any:
            kept = Sum()
            kept.add(x)
            kept.add(-x)
            return kept.total, kept.seen

        assert_same(fn, *NUMBERS)


class TestAttributes:
    """attribute writes (`self.count += 1`)

    done after the run; numbers do not compile again.
    """

    def test_static(self) -> None:
        nets = Counting(), Counting()
        compiled = ms.jit(nets[0])
        for _ in range(3):
            assert compiled(ms.Tensor(1.0)).item() == nets[1](ms.Tensor(1.0)).item()
        assert nets[0].count == nets[1].count == 3
        assert compiled.cache_info()["compiles"] == 1

    def test_tensor(self) -> None:
        nets = Counting(), Counting()
        compiled = ms.jit(nets[0])
        for value in NUMBERS:
            compiled(ms.Tensor(value))
            nets[1](ms.Tensor(value))
            assert nets[0].largest.item() == nets[1].largest.item()


class Counting(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.largest = ms.Tensor(0.0)

    def construct(self, x: Any) -> Any:
        self.count += 1
        if x > self.largest:
            self.largest = x
        return x * self.count


class TestParameters:
    """writing Parameters

    in order, on the path that is taken.
    """

    def test_static(self) -> None:
        w = ms.Parameter(ms.Tensor([1.0]))

        def fn(x: Any) -> Any:
            before = w * 1
            ops.assign(w, w + x)
            return before, w * x

        first = [t.item() for t in ms.jit(fn)(ms.Tensor([2.0]))]
        assert first == [1.0, 6.0] and w.item() == 3.0

    def test_tensor(self) -> None:
        weights = [ms.Parameter(ms.Tensor(1.0)) for _ in range(2)]

        def step(w: ms.Parameter, x: Any) -> Any:
            if x > 0:
                ops.assign(w, w * 2)
            return w + x

        compiled = ms.jit(lambda x: step(weights[0], x))
        for value in NUMBERS:
            x = ms.Tensor(value)
            assert compiled(x).item() == step(weights[1], x).item()
        assert weights[0].item() == weights[1].item()


SCALE: Any = 2


class TestChangedOutside:
    """attributes and globals changed outside

    seen at the next call.
    """

    def test_static(self) -> None:
        global SCALE
        compiled = ms.jit(lambda x: x * SCALE)
        for SCALE in (2, 5):  # noqa: B007  the loop sets the global
            assert compiled(ms.Tensor(1.0)).item() == SCALE

    def test_tensor(self) -> None:
        net = Counting()
        compiled = ms.jit(lambda x: x + net.largest)
        for value in (1.0, 4.0):
            net.largest = ms.Tensor(value)
            assert compiled(ms.Tensor(0.0)).item() == value
        assert compiled.cache_info()["compiles"] == 1


class TestFunctions:
    """functions, lambdas, closures, `nonlocal`

    become part of the graph.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: int) -> Any:
            def count() -> int:
                nonlocal n
                n += 1
                return n

            return x * count() + (lambda k: k + count())(1)

        assert_same(fn, (2.0, 3))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            total = x

            def add(y: Any) -> None:
                nonlocal total
                if y > 0:
                    total = total + y

            add(x)
            add(1 - x)
            pick = (lambda v: v * 2) if x > 2 else (lambda v: -v)
            return pick(total)

        assert_same(fn, *NUMBERS)


class TestArguments:
    """`*args`, `**kwargs`, defaults, keyword-only

    defaults may be tensors.
    """

    def test_static(self) -> None:
        def inner(x: Any, *rest: int, scale: int = 2, **more: int) -> Any:
            return x * scale + sum(rest) + more.get("shift", 0)

        assert_same(lambda x: inner(x, 1, 2, scale=3, **{"shift": 4}), 2.0)

    def test_tensor(self) -> None:
        one = ms.Tensor(1.0)

        def inner(x: Any, *rest: Any, base: Any = one, **more: Any) -> Any:
            return x * base + sum(rest) - more["shift"]

        assert_same(lambda x: inner(x, x, 2, shift=x * x), 2.0)


class TestClasses:
    """decorators, class and static methods, properties, `super`

    become part of the graph.
    """

    def test_static(self) -> None:
        assert_same(lambda x: x * Child(3).size + Child.make(2).size, 2.0)

    def test_tensor(self) -> None:
        assert_same(lambda x: Child.make(x).scaled(x), *NUMBERS)


def doubled(fn: Any) -> Any:
    @functools.wraps(fn)
    def wrapped(*args: Any) -> Any:
        return fn(*args) * 2

    return wrapped


class Parent:
    def __init__(self, size: Any) -> None:
        self._size = size

    @property
    def size(self) -> Any:
        return self._size

    def scaled(self, x: Any) -> Any:
        if x > 2:
            return x * self.size
        return x


class Child(Parent):
    @classmethod
    def make(cls, size: Any) -> Any:
        return cls(cls.grown(size))

    @staticmethod
    def grown(size: Any) -> Any:
        return size + 1

    @doubled
    def scaled(self, x: Any) -> Any:
        return super().scaled(x) + 1


class TestSpecialMethods:
    """classes with `__call__`, `__getitem__`, `__add__`, `__iter__` ...

    called as Python does.
    """

    def test_static(self) -> None:
        assert_same(lambda x: x * Table([3, 4])[1] + len(Table([1])) + Table([5])(0), 2.0)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            table = Table([x, -x]) + Table([x * 2])
            return table(0), [v + 1 for v in table], table[2]

        assert_same(fn, *NUMBERS)


class Table:
    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __getitem__(self, i: int) -> Any:
        return self.rows[i]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __add__(self, other: Any) -> Any:
        return Table(self.rows + other.rows)

    def __call__(self, i: int) -> Any:
        if self.rows[i] > 1:
            return self.rows[i]
        return self.rows[i] * 10


class TestSmallStatements:
    """`:=`, `del`, `x: T = v`, set literals, starred targets

    as in Python.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            n: int = 3
            if (m := n + 1) in {4, 5}:
                first, *rest = range(m)
                del n
            return x * m + first + rest[-1]

        assert_same(fn, 2.0)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            held: Any = {"x": x, "y": x * 2}
            if (y := held["y"]) > 2:
                del held["x"]
            first, *rest = (y, x, -x)
            return first, rest, len(held)

        assert_same(fn, *NUMBERS)


class TestText:
    """`print`, f-strings, `%`, `.format`

    at run time, in order.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            print("shape", x.shape, f"{x.dtype}", "%d" % 3, "{:>4}".format("n"))  # noqa: UP031
            return x

        assert_same(fn, 2.0)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            print("x is", x)
            if x > 2:
                print(f"large: {x}", f"{x}")
            return x

        assert_same(fn, *NUMBERS)


class TestLogic:
    """`and`, `or`, `not`, chained comparisons, `in`, `is`

    `is` asks for the same object, not the value.
    """

    def test_static(self) -> None:
        def fn(x: Any, n: Any) -> Any:
            if n is None or (1 < n <= 3 and n not in (2, 5)):
                return -x
            return x

        assert_same(fn, (2.0, None))
        assert_same(fn, (2.0, 3))
        assert_same(fn, (2.0, 2))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            y = x
            if -1 <= x < 3 and not x == 0.5:
                y = x or x + 7
            return (y, x is None, x in (2.0, 9.0), x > 0 or x < -3)

        assert_same(fn, *NUMBERS)


class TestTypes:
    """`isinstance`, `type`, `hasattr`, `getattr`, `len`

    answered while compiling.
    """

    def test_static(self) -> None:
        def fn(x: Any, v: Any) -> Any:
            if isinstance(v, int):
                return x * v
            return x * len(getattr(v, "items", "")) if hasattr(v, "items") else x * len(v)

        assert_same(fn, (2.0, 3))
        assert_same(fn, (2.0, "abc"))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            assert isinstance(x, ms.Tensor) and hasattr(x, "shape") and type(x) is ms.Tensor
            return x * len(x) * getattr(x, "ndim")  # noqa: B009

        assert_same(fn)


class TestBuiltins:
    """`zip`, `enumerate`, `map`, `filter`, `sorted`, `sum`, `any`, `all`, `min`, `max`, ...

    `sorted` and `filter` not by tensors.
    """

    def test_static(self) -> None:
        def fn(x: Any, rows: Any) -> Any:
            best = max(min(a, b) for a, b in zip(rows, reversed(rows), strict=True))
            odd = list(filter(lambda v: v % 2, map(abs, sorted(rows))))
            return x * best + sum(odd) + any(rows) + all(i >= 0 for i, _ in enumerate(rows))

        assert_same(fn, (2.0, (3, -5, 4)))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            rows = [x, -x, x * x]
            total = sum(a * b for a, b in zip(rows, map(abs, rows), strict=True))
            return total, max(rows), min(*rows), any(r > 8 for r in rows), all(rows)

        assert_same(fn, *NUMBERS)

    def test_tensor_sorted_refused(self) -> None:
        assert_refused(lambda x: sorted([x, -x]), "Static value needed", 2.0)


class TestIndexing:
    """slices, indices, tensors and masks as indices

    `x[:n]` too; what a mask takes is another version for each size.
    """

    def test_static(self) -> None:
        assert_same(lambda x: (x[0], x[..., ::-1], x[None], x[[1, 0]]))

    def test_tensor(self) -> None:
        def fn(x: Any, i: Any) -> Any:
            return x[i], x[i : i + 1] if isinstance(i, int) else x[i - 1]

        same(fn, ([3.0, 4.0], ms.Tensor(1)), ([3.0, 4.0], ms.Tensor(0)))

    def test_tensor_mask(self) -> None:
        assert_same(lambda x: (x[x > 0], x[x > 100].sum()), [3.0, -4.0])


class TestInPlace:
    """`x[i] = v`, `x += v`

    every name of the tensor shows the new value.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            alias = x
            x[0] = 7.0
            x += 1
            return alias

        assert_same(fn)

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            alias = x
            if x.sum() > 0:
                x[0] = x[1] * 2
            else:
                x *= 3
            return alias, x

        assert_same(fn)


class TestNumbers:
    """`int`, `float`, `bool` of a tensor

    numbers known at run time, which come back as numbers.
    """

    def test_static(self) -> None:
        assert_same(lambda x, s: x * int(s) + float("2.5"), (2.0, "3"))

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            n = int(x) + 1
            return n, float(x) / 2, bool(x > 2), x * n

        assert_same(fn, *NUMBERS)


class TestValuesNow:
    """`asnumpy`, `tolist`

    of constants only; `ms.host_callback` gets arrays at run time.
    """

    def test_static(self) -> None:
        table = np.array([1.5, 2.5])
        assert_same(lambda x: x * float(table[1]) + ms.Tensor([2.0]).tolist()[0], 2.0)

    def test_tensor_refused(self) -> None:
        assert_refused(lambda x: x.asnumpy(), "Unsupported type in Graph mode", 2.0)
        assert_refused(lambda x: x.tolist(), "Unsupported type in Graph mode", 2.0)


class TestForeignFunctions:
    """NumPy and other foreign functions

    called once, while compiling; not of tensors.
    """

    def test_static(self) -> None:
        assert_same(lambda x: x * math.sqrt(2) + float(np.linalg.norm([3.0, 4.0])), 2.0)

    def test_tensor_refused(self) -> None:
        assert_refused(lambda x: np.linalg.norm(x), "Unsupported type in Graph mode", [1.0])


class TestHostCallback:
    """`ms.host_callback`

    calls a function of NumPy arrays in each run.
    """

    def test_tensor(self) -> None:
        norm = ms.host_callback(out=ms.TensorSpec((), ms.float32))(np.linalg.norm)

        def fn(x: Any) -> Any:
            return x / norm(x) if x.sum() > 0 else x

        assert_same(fn)


class TestFrozen:
    """the time, random numbers of Python's, files

    refused, but inside of `ms.static(...)`.
    """

    def test_static_refused(self) -> None:
        assert_refused(lambda x: x * random.random(), "Unsupported type in Graph mode", 2.0)
        assert_refused(lambda x: x * time.time(), "Unsupported type in Graph mode", 2.0)
        assert ms.jit(lambda x: x + ms.static(time.time()))(ms.Tensor(2.0)).shape == ()


class TestGradients:
    """`ms.grad`, `value_and_grad`, `vjp`, `jvp` inside

    of any order, also through branches and loops on tensors.
    """

    def test_static(self) -> None:
        same(lambda x: ms.grad(ms.grad(lambda v: v * v * v))(x), (2.0,), (3.0,))

    def test_tensor(self) -> None:
        def inner(x: Any) -> Any:
            while x < 50:
                x = x * x + 1 if x > 3 else x * 2
            return x

        def fn(x: Any) -> Any:
            value, slope = ms.value_and_grad(inner)(x)
            _, pull = ms.vjp(lambda v: v * x, x)
            return value, slope, pull(x), ms.jvp(lambda v: v * v, x, x), ms.grad(ms.grad(inner))(x)

        same(fn, (2.0,), (5.0,), (60.0,))


class TestGlobals:
    """writing globals (`global x`)

    after the run.
    """

    def test_static(self) -> None:
        def fn(x: Any) -> Any:
            global SCALE
            SCALE = 11
            return x

        ms.jit(fn)(ms.Tensor(1.0))
        assert SCALE == 11

    def test_tensor(self) -> None:
        def fn(x: Any) -> Any:
            global SCALE
            SCALE = x * 2
            return x

        for value in (1.0, 4.0):
            ms.jit(fn)(ms.Tensor(value))
            assert SCALE.item() == value * 2
