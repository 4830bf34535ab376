"""24 functions of ordinary Python over tensors: each is one graph and gives what eager mode gives.

Tracing compilers split or refuse those that branch on tensors, compilers of a Python subset those
that use the rest of the language.
"""

import pytest
from staging import assert_same

import diptych as ms

CASES = {}


def case(fn):
    CASES[fn.__name__] = fn
    return fn


@case
def early_return(x):
    if x.sum() > 0:
        return x * 2
    y = x - 1
    if y.sum() < -5:
        return y
    return y * 3


@case
def break_in_range(x):
    for i in range(6):
        if x.sum() > 20:
            break
        x = x + i * 3
    return x


@case
def return_in_loop(x):
    for i in range(5):
        x = x + i
        if x.sum() > 6:
            return x * 10
    return x


@case
def while_with_break_and_counter(x):
    n = 0
    while x.abs().sum() < 100:
        x = x * 2 + 1
        if x.sum() > 40:
            break
        n = n + 1
    return x + n


@case
def set_in_one_branch_unused(x):
    if x.sum() > 0:
        z = x + 1  # noqa: F841
    return x


@case
def set_in_both_branches(x):
    if x.sum() > 0:
        z = x + 1
    else:
        z = x
    return z


@case
def append_in_branches(x):
    out = []
    for i in range(3):
        if x.sum() > i:
            out.append(x * i)
        else:
            out.append(x - i)
    return out[0] + out[1] + out[2]


@case
def branches_of_different_dtype(x):
    if x.sum() > 0:
        y = x.astype(ms.float32)
    else:
        y = (x * 0).astype(ms.int32)
    return y + 1


@case
def branches_of_different_shape(x):
    if x.sum() > 0:
        y = x
    else:
        y = x[:1]
    return y.sum()


@case
def try_except(x):
    try:
        y = x + 1
    except ValueError:
        y = x
    return y


@case
def for_else(x):
    for i in range(3):
        x = x + i
    else:
        x = x * 2
    return x


@case
def comprehension_of_two_levels(x):
    made = [x * a * b for a in (1, 2) for b in (3, 4)]
    return made[0] + made[1] + made[2] + made[3]


@case
def walrus(x):
    y = (z := x + 1) * 2
    return y + z


@case
def born_in_while(x):
    while x.abs().sum() < 50:
        x = x * 2
        z = x + 1  # noqa: F841
    return x


@case
def closure(x):
    k = 2

    def scaled(a):
        return a * k

    return scaled(x)


@case
def keyword_only(x):
    def scaled(a, *, s=3):
        return a * s

    return scaled(x, s=4)


@case
def set_item(x):
    y = x * 1
    y[0] = 5
    return y


@case
def print_fstring(x):
    print(f"x is {x.shape}")
    return x


@case
def enumerate_zip(x):
    for i, (a, b) in enumerate(zip([1, 2], [3, 4], strict=True)):
        x = x + i * a * b
    return x


@case
def dict_result(x):
    return {"a": x, "b": [x + 1, 3]}


@case
def match_statement(x):
    k = "a"
    match k:
        case "a":
            return x + 1
        case _:
            return x


@case
def set_literal(x):
    s = {1, 2, 2}  # noqa: B033
    return x * len(s)


@case
def del_statement(x):
    y = x + 1
    del y
    return x


@case
def annotated_assignment(x):
    y: object = x + 1
    return y


def test_there_are_24():
    assert len(CASES) == 24


@pytest.mark.parametrize("name", CASES)
def test_syntax(name):
    assert_same(CASES[name])
