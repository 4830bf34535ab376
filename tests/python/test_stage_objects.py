"""Objects, containers, exceptions and choices on paths that depend on tensors: staged functions
give what eager mode gives, in one graph."""

# ruff: noqa: B023, B904, E712, E731, E741, F841, UP031, UP032

import collections
import contextlib
import dataclasses
import itertools
import math

import pytest
from staging import assert_same

import diptych as ms
from diptych import ops

NUMBERS = (-30.0, -1.0, 0.0, 0.5, 2.0, 3.0, 25.0)


class Mgr:
    def __init__(s, log):
        s.log = log

    def __enter__(s):
        s.log.append("in")
        return s

    def __exit__(s, k, e, tb):
        s.log.append("out")
        return k is KeyError


Pt = collections.namedtuple("Pt", "a b")


class V:
    __match_args__ = ("a", "b")

    def __init__(s, a, b):
        s.a = a
        s.b = b


def mgr(x):
    log = []
    with Mgr(log) as m:
        if x > 0:
            log.append(x)
        else:
            log.append(-x)
    return log


def mgr2(x):
    log = []
    with Mgr(log):
        if x > 0:
            return x
        x = x - 1
    return x, log


def mgr3(x):
    log = []
    with Mgr(log):
        if x > 0:
            raise KeyError("a")
        log.append("no")
    return x, log


@contextlib.contextmanager
def cm(l):
    l.append(1)
    try:
        yield 5
    finally:
        l.append(2)


def cmt(x):
    l = []
    with cm(l) as v, cm(l):
        y = x * v
    return y, l


def fin(x):
    l = []

    def g(y):
        try:
            if y > 0:
                return y
            return -y
        finally:
            l.append(1)

    r = g(x)
    return r, l


def fin2(x):
    try:
        if x > 0:
            raise ValueError("a")
    except ValueError as e:
        return str(e), x
    else:
        x = x + 1
    finally:
        x = x * 2
    return x


def fin3(x):
    for i in range(3):
        try:
            if x > i:
                continue
            if x < -5:
                break
            x = x + 1
        finally:
            x = x + 0.25
    return x


def reraise(x):
    try:
        try:
            if x > 0:
                raise ValueError("a")
        except ValueError:
            raise
    except ValueError:
        return x * 0
    return x


def caught_key(x):
    try:
        {}["a"]
    except (KeyError, IndexError) as e:
        return x, repr(e)


def mt(x):
    out = []
    for p in ([1, 2], {"k": 3}, (1, 2, 3, 4), "s", 5, None, Pt(1, 2)):
        match p:
            case [a, b]:
                out.append(("two", a, b))
            case {"k": v}:
                out.append(("map", v))
            case [a, *r]:
                out.append(("rest", a, r))
            case str() as s:
                out.append(s)
            case None:
                out.append("none")
            case int(n) if n > 3:
                out.append(n)
            case _:
                out.append("other")
    return out, x


def mt2(x):
    match V(x, 2):
        case V(a, 3):
            return a
        case V(a, b=2) if a > 0:
            return a + 1
        case V():
            return x - 1


def mt3(x):
    match (x, 1):
        case (0.0, _):
            return x + 100
        case (2.0 | 3.0, n):
            return x + n
        case _:
            return x


def listm(x):
    l = [1, 2, 3, x]
    if x > 0:
        l.pop()
        l.insert(0, x * 2)
        l.reverse()
    else:
        l.pop(0)
        l.append(x)
        del l[0]
        l.extend([x])
    return l


def dictm(x):
    d = {"a": x}
    d.update(b=1)
    s = {1}
    if x > 0:
        d["a"] = x + 1
        d.setdefault("c", 5)
        s.add(2)
    else:
        d.setdefault("c", 6)
        d.pop("b")
        d["b"] = 2
        s.add(2)
    return d, sorted(d), list(d.items())[0][0], s


def dd(x):
    d = collections.defaultdict(list)
    d["a"].append(x)
    c = collections.Counter("aab")
    od = collections.OrderedDict(a=x)
    if x > 0:
        d["a"].append(x * 2)
    else:
        d["a"].append(x * 3)
    return dict(d), c["a"], od["a"]


def dq(x):
    q = collections.deque([x])
    if x > 0:
        q.append(x + 1)
    else:
        q.append(x - 1)
    return list(q)


def strm(x):
    return "a-b".split("-"), "x".join(["a", "b"]), f"{3:>4}", "%d" % 3, x


def whelse(x):
    n = 0
    while x > 0:
        x = x - 10
        n += 1
        if n > 2:
            break
    else:
        return x * 0
    return x, n


def cl(x):
    fs = []
    for i in range(3):

        def g(y, i=i):
            return y * i

        fs.append(g)
    return [f(x) for f in fs]


def nl(x):
    tot = x * 0

    def add(v):
        nonlocal tot
        if v > 0:
            tot = tot + v
        else:
            tot = tot - v

    for i in range(-1, 2):
        add(x + i)
    return tot


def nl2(x):
    n = 0
    acc = x * 0

    def step():
        nonlocal n, acc
        n += 1
        acc = acc + x

    while acc.abs() < 10 and n < 7:
        step()
    return n, acc


def attrloop(x):
    o = V(x, 0)
    while o.a < 10:
        o.a = o.a + 3
        o.b += 1
        if o.b > 4:
            break
    return o.a, o.b


def listloop(x):
    l = [x, x * 0]
    while l[0] < 10:
        l[0] = l[0] + 3
        l[1] = l[1] + 1
        if l[1] > 4:
            break
    return l


def dictloop(x):
    d = {"a": x, "n": 0}
    while d["a"] < 10:
        d["a"] = d["a"] + 3
        d["n"] += 1
        if d["n"] > 4:
            break
    return d


def inploop(x):
    y = ops.stack([x, x, x])
    i = 0
    while i < 3:
        y[i] = y[i] * i + 1
        i += 1
    y[0] += 5
    y[1:] *= 2
    return y


def whiletup(x):
    a, b = x.abs(), x.abs() + 1
    while a < 10:
        a, b = b, a + b + 1
    return a, b


def condexp(x):
    y = (x + 1 if x > 0 else x - 1) * 2 if x > -5 else 0.0
    return y


def cho(x):
    k = "mul" if x > 0 else "add"
    fn = {"mul": lambda a: a * 2, "add": lambda a: a + 2}[k]
    return fn(x), getattr(ops, "relu" if x > 1 else "abs")(x), k.upper(), len(k), k + "!"


def chlen(x):
    l = [x] if x > 0 else [x, x]
    s = 0
    for v in l:
        s = s + v
    return s, len(l), l[0], sum(l)


def ret_none(x):
    if x > 0:
        return x


def multi(x):
    if x > 10:
        return 1
    if x > 1:
        return "a"
    if x > 0:
        return x
    if x > -5:
        return None
    return (x, [x])


def inmulti(x):
    r = multi(x)
    if r is None:
        return 0
    if isinstance(r, str):
        return r + "b"
    if isinstance(r, int):
        return r + 1
    if isinstance(r, tuple):
        return r[0]
    return r * 2


def arith(x):
    n = int(x)
    f = float(x)
    return (
        n + 1,
        n * f,
        n // 2,
        f // 2,
        n % 3,
        n & 1,
        n | 2,
        n ^ 1,
        n << 1 if n > 0 else 0,
        ~n,
        n**2,
        f**2,
        abs(n),
        round(f),
        divmod(n, 3),
        n == 2,
        f > n,
        -f,
        +n,
        bool(n),
        str(n) == "a" if False else 0,
        min(n, 3),
        max(f, 1.5),
        n and 5,
        n or 7,
    )


def mix(x):
    n = int(x)
    return (
        x * n,
        x + n / 2,
        (x > n),
        n * x.astype(ms.float16),
        x.astype(ms.int32) + n,
        x.astype(ms.int32) + n * 0.5,
    )


def iterz(x):
    return (
        [a * b for a, b in itertools.product([1, 2], [x, x + 1])],
        list(itertools.accumulate([x, x, x])),
        [i for i in reversed([1, 2])],
        list(enumerate([x], 1)),
    )


def whilelist(x):
    l = [1, 2, 3]
    s = x * 0
    while l:
        s = s + l.pop()
    return s, l


def itern(x):
    it = iter([x, x + 1])
    a = next(it)
    b = next(it)
    c = next(it, 5)
    return a, b, c


def assert2(x):
    assert x < 20, f"x is {x}"
    return x


def glob(x):
    return x * math.pi + 7


def lam(x):
    f = lambda a, *b, c=2, **d: a + sum(b) + c + sum(d.values())
    return f(x), f(x, 1, 2, c=3, e=4)


def deepnest(x):
    for i in range(3):
        for j in range(3):
            if x > i + j:
                if j == 1:
                    break
                x = x - 0.5
            elif x < -i:
                continue
            else:
                x = x + 0.25
        else:
            x = x * 1.5
    return x


def bigif(x):
    if x > 20:
        y = 1
    elif x > 2:
        y = 2
    elif x > 0:
        y = 3
    else:
        y = 4
    return x * y, [10, 20, 30, 40, 50][y]


def boolops(x):
    a = x > 0
    b = x > 2
    return a & b, a | b, a ^ b, ~a, (a and b), (a or b), not a, a == b, (x > 0) == True


def inplace_alias(x):
    y = x + 0
    z = y

    def g(v):
        v += 1
        return v

    if x > 0:
        g(y)
    return y, z


def unp(x):
    (a, b), *c, d = [(x, 1), 2, 3, 4]
    return a, b, c, d


def printif(x):
    if x > 0:
        print("pos", x, sep="-", end=";\n")
    else:
        print("neg")
    while x > 5:
        x = x - 9
        print("loop", x)
    return x


def raisein(x):
    def chk(v):
        if v > 20:
            raise ValueError("big %s" % v)
        return v

    l = [chk(x + i) for i in range(2)]
    return l


def custom(x):
    class E(Exception):
        def __init__(s, c):
            super().__init__(c)
            s.c = c

    try:
        if x > 0:
            raise E(5)
    except E as e:
        return x + e.c
    return x


def prop_(x):
    class A:
        def __init__(s):
            s.n = 0

        @property
        def val(s):
            s.n += 1
            return x * s.n if x > 0 else x - s.n

    a = A()
    return a.val, a.val, a.n


def getat(x):
    class A:
        def __getattr__(s, k):
            return k

    return A().foo, x


def slots(x):
    class A:
        __slots__ = ("v",)

    a = A()
    a.v = x
    if x > 0:
        a.v = x + 1
    return a.v


def frozen(x):
    @dataclasses.dataclass(frozen=True)
    class A:
        v: object

        def inc(s):
            return dataclasses.replace(s, v=s.v + 1)

    a = A(x)
    if x > 0:
        a = a.inc()
    return a.v


class Hidden:
    def __init__(self):
        self.__scale = 2

    def __twice(self, x):
        return x * self.__scale

    def run(self, x):
        self.__scale += 1
        return self.__twice(x), self.__scale


def private(x):
    return Hidden().run(x)


def scanlike(x):
    def step(c, i):
        return c * 0.5 + i, c

    c = x
    ys = []
    for i in range(4):
        c, y = step(c, i)
        ys.append(y)
    return c, ops.stack(ys)


CASES = [
    mgr,
    mgr2,
    mgr3,
    cmt,
    fin,
    fin2,
    fin3,
    reraise,
    caught_key,
    mt,
    mt2,
    mt3,
    listm,
    dictm,
    dd,
    dq,
    strm,
    whelse,
    cl,
    nl,
    nl2,
    attrloop,
    listloop,
    dictloop,
    inploop,
    whiletup,
    condexp,
    cho,
    chlen,
    ret_none,
    inmulti,
    arith,
    mix,
    iterz,
    whilelist,
    itern,
    assert2,
    glob,
    lam,
    deepnest,
    bigif,
    boolops,
    inplace_alias,
    unp,
    printif,
    raisein,
    custom,
    prop_,
    getat,
    slots,
    frozen,
    private,
    scanlike,
]


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_paths(fn):
    assert_same(fn, *NUMBERS)
