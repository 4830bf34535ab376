"""The language around tensors: classes, functions, comprehensions, generators, containers; staged
functions give what eager mode gives, in one graph."""

import collections
import dataclasses
import functools
import math

import pytest
from staging import assert_same

import diptych as ms
from diptych import ops

Pt = collections.namedtuple("Pt", "a b")


@dataclasses.dataclass
class DC:
    a: object
    b: object = 2

    def tot(self):
        return self.a * self.b


def ntup(x):
    return Pt(x, Pt(x + 1, 2))


def dcs(x):
    d = DC(x)
    if x > 0:
        d = dataclasses.replace(d, b=3)
    return d.tot()


def dco(x):
    return dataclasses.asdict(DC(1, 2))["a"], DC(x, 3).a


def part(x):
    return functools.partial(lambda a, b: a - b, b=2)(x)


def mapf(x):
    return list(map(lambda a: a if a > 1 else a * 2, [x, x + 1])), functools.reduce(
        lambda a, b: a + b, [x, x, x]
    )


def deco(x):
    def twice(f):
        @functools.wraps(f)
        def w(*a, **k):
            return f(f(*a, **k))

        return w

    @twice
    def g(a):
        return a + 1 if a > 0 else a - 1

    return g(x)


def gen(x):
    def g(n):
        for i in range(n):
            yield x * i

    return [v for v in g(3)]


def kw(*a, **k):
    return a[0] * k.get("s", 2)


def callkw(x):
    return kw(x, s=3), kw(*[x], **{"s": 4}), kw(x)


def mathf(x):
    return x * math.pi * math.sqrt(4)


def slicing(x):
    y = ops.arange(10).astype(ms.float32) * x
    return y[2:5], y[-1], y[[1, 2]], y[y > 3].sum() if False else y[::2], y[None].shape


def setattr_(x):
    d = DC(x)
    setattr(d, "a", x + 1)  # noqa: B010
    return d.a, getattr(d, "zz", 5), hasattr(d, "b")


def imp(x):
    import math as m

    return x * m.floor(2.5)


def fib(x):
    def f(n):
        return n if n < 2 else f(n - 1) + f(n - 2)

    return x * f(10)


def rec(x):
    def f(n, y):
        return y if n == 0 else f(n - 1, y * 1.5)

    return f(5, x)


def comps(x):
    return (
        {k: x * k for k in range(3)},
        {i % 2 for i in range(5)},
        [(a, b) for a in range(3) if a for b in range(a)],
        [f() for f in [lambda i=i: i for i in range(3)]],
        [g() for g in [lambda: j for j in range(3)]],  # noqa: B023
    )


def prop(x):
    class A:
        def __init__(s, v):
            s._v = v

        @property
        def v(s):
            return s._v if s._v > 0 else -s._v

        @v.setter
        def v(s, q):
            s._v = q

        @staticmethod
        def st(z):
            return z + 1

        @classmethod
        def mk(cls, z):
            return cls(z)

        def __getitem__(s, i):
            return s._v * i

        def __call__(s, q):
            return s._v + q

        def __len__(s):
            return 3

        def __iter__(s):
            return iter([1, 2, 3])

        def __contains__(s, q):
            return q == 1

        def __bool__(s):
            return True

    a = A.mk(x)
    a.v = a.v + 1
    return a.v, A.st(x), a[2], a(x), len(a), [q for q in a], (1 in a), (1 if a else 0)


CASES = [
    ntup,
    dcs,
    dco,
    part,
    mapf,
    deco,
    gen,
    callkw,
    mathf,
    slicing,
    setattr_,
    imp,
    fib,
    rec,
    comps,
    prop,
]


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_language(fn):
    assert_same(fn, -2.0, 0.0, 1.0, 2.5)


def larger(x, y):
    if x > y:
        return x
    return y


def weighted(xs, options):
    s = xs[0]
    for x in xs[1:]:
        s = s + x * options["m"]
    return s


def test_several_arguments():
    assert_same(larger, (1.0, 2.0), (2.0, 1.0))


def test_containers_as_arguments():
    x = ms.Tensor([1.0, 2.0])
    assert_same(weighted, ([x, x + 1], {"m": 3}), ([x, x - 1], {"m": 3}))
