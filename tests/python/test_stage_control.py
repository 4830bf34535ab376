"""Control flow on tensors and on values chosen by tensors: staged functions give what eager mode
gives, values, types, printed text and exceptions, in one graph."""

import pytest
from staging import assert_same

import diptych as ms
from diptych import ops

NUMBERS = (-30.0, -7.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 9.0, 25.0, 50.0)


def early(x):
    if x > 0:
        return x * 2
    y = x - 1
    if y < -5:
        return y
    return y * 3


def mixed(x):
    if x > 0:
        if x > 5:
            return x
        x = x + 1
    x = x * 10
    return x + 1


def brk2(x):
    s = 0.0
    for _ in range(4):
        if x > 2:
            if x > 8:
                break
            x = x + 2
            continue
        s = s + 1
        x = x + 1
    return s * 100 + x


def ret_in_loop(x):
    for i in range(5):
        x = x + i
        if x > 6:
            return x * 10
    return x


def wbrk(x):
    n = 0
    while x < 100:
        if x < 0:
            x = 0.0 - x
        x = x * 2 + 1
        n = n + 0
        if x > 40:
            break
        n = n + 1
    return x + n


def undef(x):
    if x > 0:
        z = x + 1
    return z


def lists(x):
    out = []
    for i in range(3):
        if x > i:
            out = out + [x * i]
        else:
            out = out + [x - i]
    return out


def lens(x):
    out = []
    if x > 0:
        out.append(x)
    out.append(x + 1)
    return out


def lens2(x):
    out = []
    for i in range(3):
        if x > i:
            out.append(x * i)
    return len(out), out


def while_true(x):
    n = 0
    while True:
        x = x * 2 + 1
        n += 1
        if x > 40 or n > 8:
            break
        if x < -100:
            return x, n
    return x + n


def while_ret(x):
    while x < 10:
        x = x + 3
        if x > 8:
            return x * 100
    else:
        x = x - 1
    return x


def cont(x):
    s = x * 0
    for i in range(10):
        if x > i:
            continue
        s = s + i
    return s


def raises(x):
    if x > 5:
        raise ValueError("too big")
    return x


def raises2(x):
    if x > 5:
        raise ValueError(f"too big {x.shape}")
    try:
        if x < 0:
            raise KeyError("neg")
        y = x + 1
    except KeyError:
        y = x - 1
    finally:
        x = x * 2
    return x + y


def asserts(x):
    assert x < 10, "big"
    return x


def none_or(x):
    y = None
    if x > 0:
        y = x
    if y is None:
        return x - 1
    return y * 2


def rng(x):
    n = int(x)
    s = 0
    for i in range(n):
        s = s + i
    return s


def idx(x):
    items = [1, 2, 3]
    return items[int(x.clip(-5, 2))]


def longloop(x):
    for i in range(100):
        x = x + i * 0.5
    return x


def boolop(x):
    return (x > 0 and x < 5) or x > 20


def ternary(x):
    return x if x > 0 else -x


def nested_fn(x):
    def f(a):
        if a > 3:
            return a * 2
        return a - 1

    return f(x) + f(x + 1)


def nonl(x):
    n = 0

    def inc():
        nonlocal n
        n += 1

    if x > 0:
        inc()
    inc()
    return n


def dct(x):
    d = {"a": x}
    if x > 0:
        d["b"] = x + 1
    else:
        d["b"] = x - 1
    return d


def prints(x):
    print("start")
    if x > 0:
        print("pos", x)
    for i in range(2):
        print(f"{i}: {x}")
    return x


def minmax(x):
    sizes = max((len(s) for s in ("a", "bcd")), default=0), max((), default=5)
    late = max((v for v in (x, x + 1)), default=0)
    return max(x, 3.0), min(x, x + 1), abs(x), sum([x, x]), sizes, late


def strs(x):
    s = "pos" if x > 0 else "neg"
    return s


def strs2(x):
    s = "pos" if x > 0 else "neg"
    if s == "pos":
        return x
    return -x


def collatz(x):
    n = 0
    while x > 1:
        if x % 2 == 0:
            x = x / 2
        else:
            x = x * 3 + 1
        n += 1
    return n


def latetype(x):
    h = None
    while x < 10:
        x = x + 3
        if h is None:
            h = x
        else:
            h = h + x
    return h


def for_tensor(x):
    s = 0
    for r in ops.stack([x, x + 1, x + 2]):
        s = s + r
    return s


def anyall(x):
    return any([x > 0, x > 5]), all([x > 0, x > 5]), not x > 0


def inplace(x):
    y = x * 1
    if x > 0:
        y += 1
    else:
        y -= 1
    z = y
    z *= 2
    return y, z


def setitem_branch(x):
    y = ops.stack([x, x])
    if x > 0:
        y[0] = 5
    else:
        y[1] = 7
    return y


def chained(x):
    return 0 < x < 5


def inlist(x):
    return x in [1.0, 2.0, 3.0]


def matcht(x):
    match x > 0:
        case True:
            return x
        case _:
            return -x


def matcht2(x):
    match int(x):
        case 1 | 2:
            return x
        case n if n > 20:
            return x + n
        case _:
            return -x


def gradin(x):
    def f(a):
        if a > 0:
            return a * a
        return a * 3

    return ms.grad(f)(x)


def vag(x):
    return ms.value_and_grad(lambda a: a * a * a if a > 1 else a)(x)


def genexp(x):
    return sum(x * i for i in range(3))


def star(x):
    a, *b = [x, x + 1, x + 2]
    return a, b


def wth(x):
    with ms.no_grad():
        if x > 0:
            y = x * 2
        else:
            y = x
    return y


def deldct(x):
    d = {"a": x, "b": 2}
    del d["a"]
    return d


def floordiv(x):
    n = int(x)
    return n // 3, n % 3, n * 1.5, n / 2, -n, n > 3, float(n), n**2


def loop_else(x):
    for i in range(3):
        if x > i * 10:
            break
    else:
        return x * 0 - 1
    return x + i


def two_loops(x):
    for i in range(3):
        while x < i * 5:
            x = x + 2
            if x > 8:
                break
        if x > 30:
            return x
    return x


def tuplestate(x):
    h = (x, x + 1)
    i = 0
    while i < x:
        h = (h[1], h[0] + 1)
        i += 1
    return h, i


def lendiff_str(x):
    return "a" if x > 0 else None


def choicefn(x):
    f = (lambda a: a + 1) if x > 0 else (lambda a: a * 2)
    return f(x)


def rangech(x):
    n = 3 if x > 0 else 5
    for i in range(n):
        x = x + i
    return x


class P:
    def __init__(self, v):
        self.v = v

    def get(self):
        if self.v > 0:
            return self.v
        return -self.v

    def __add__(self, o):
        return P(self.v + o.v)


def cls(x):
    p = P(x)
    if x > 3:
        p.v = p.v * 2
    return (p + P(x)).get()


def cls2(x):
    class Q(P):
        def get(self):
            return super().get() + 1

    return Q(x).get()


def fmt(x):
    print("a %s b" % x)  # noqa: UP031
    print("{} {}".format(x, 1))  # noqa: UP032
    print(str(x))
    print("n", int(x))
    return x


def nestedloop(x):
    c = 0
    while x < 20:
        y = x
        while y < 15:
            y = y + 4
            c += 1
            if c > 10:
                break
        x = x + y.abs() + 1
    return x, c


def break_in_else(x):
    for i in range(3):
        for j in range(2):
            if x > j * 5:
                break
            x = x + 1
        else:
            if x < -5:
                break
            x = x * 2
            continue
        x = x - 3 + i
    return x


CASES = [
    break_in_else,
    early,
    mixed,
    brk2,
    ret_in_loop,
    wbrk,
    undef,
    lists,
    lens,
    lens2,
    while_true,
    while_ret,
    cont,
    raises,
    raises2,
    asserts,
    none_or,
    rng,
    idx,
    longloop,
    boolop,
    ternary,
    nested_fn,
    nonl,
    dct,
    prints,
    minmax,
    strs,
    strs2,
    latetype,
    for_tensor,
    anyall,
    inplace,
    setitem_branch,
    chained,
    inlist,
    matcht,
    matcht2,
    gradin,
    vag,
    genexp,
    star,
    wth,
    deldct,
    floordiv,
    loop_else,
    two_loops,
    tuplestate,
    lendiff_str,
    choicefn,
    rangech,
    cls,
    cls2,
    fmt,
    nestedloop,
]


@pytest.mark.parametrize("fn", CASES, ids=lambda fn: fn.__name__)
def test_control_flow(fn):
    assert_same(fn, *NUMBERS)


def test_rounds_are_counted_at_run_time():
    assert_same(collatz, 1.0, 6.0, 7.0, 27.0)


def test_numbers_inside_tuples_are_compared_at_run_time():
    def f(x):
        pair, n = (2, [4]), 1
        if x > 1:
            pair, n = (1, [4]), 2
        return pair == (2, [4]), pair != (2, [4]), pair == (1, [4]), [n, pair] == [2, (1, [4])]

    assert_same(f, *NUMBERS)


def test_gradients_for_each_side_of_a_choice():
    def f(x):
        v = ops.stack([x, x + 1, x])
        if x > 1:
            v = v[1:]
        slope = ms.grad(lambda t: (t * t[:1]).sum())(v)
        return slope, ms.value_and_grad(lambda t: (t * t[-1:]).sum())(v)

    assert_same(f, *NUMBERS)


def test_two_names_of_one_tensor_stay_so_after_branches():
    def f(x):
        if x > 1:
            x = x * 3
            y = x
        else:
            x = y = x * 2
        y += 3
        return x, y

    def g(x):
        v = ops.stack([x, x + 1, x])
        if x > 1:
            v = w = v[1:]
        else:
            v = w = v * 2
        w += 3
        return v, w

    assert_same(f, *NUMBERS)
    assert_same(g, *NUMBERS)
