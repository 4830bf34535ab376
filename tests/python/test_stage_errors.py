"""What staging says about programs that cannot be one graph: class, code, line, caret, reason."""

import random
import time

import numpy as np
import pytest
from staging import Compiled

import diptych as ms
from diptych import nn, ops
from diptych.stage.errors import GraphError, Position, excerpt
from diptych.stage.stage import stage


def subscript(x):
    pool = nn.MaxPool2d(2)
    return pool[0](x)


def numpy_function(x):
    return np.linalg.norm(x)


def as_numpy(x):
    return x.asnumpy() + 1


def dynamic_shape(x):
    n = int(x.sum())
    return ops.zeros((n, 2))


def growing(x):
    while x.sum() < 10:
        x = ops.concat([x, x])
    return x


def growing_list(x):
    found = []
    while x.sum() < 10:
        found.append(x)
        x = x + 1
    return found


def forever(n):
    return 1 + forever(n)


def recursion(x):
    return x + forever(0)


def truth_of_many(x):
    if x > 0:
        return x
    return -x


def clock(x):
    return x * time.time()


def dice(x):
    return x * random.random()


def filtered(x):
    return [v for v in (x.sum(), x.max()) if v > 0]


def generator(x):
    yield x


async def coroutine(x):
    return x


def caught_by_caller(x):
    try:
        return positive(x)
    except ValueError:
        return x


def positive(x):
    if x.sum() < 0:
        raise ValueError("negative")
    return x


def changed_argument(x):
    x.append(1)
    return x


@pytest.mark.parametrize(
    "fn, kind, code, marked",
    [
        (subscript, TypeError, "DP201", "pool[0]"),
        (numpy_function, TypeError, "DP301", "np.linalg.norm(x)"),
        (as_numpy, TypeError, "DP301", "x.asnumpy()"),
        (dynamic_shape, TypeError, "DP312", "ops.zeros((n, 2))"),
        (growing, TypeError, "DP311", "x"),
        (growing_list, TypeError, "DP315", "x.sum() < 10"),
        (recursion, RuntimeError, "DP303", "forever(n)"),
        (truth_of_many, TypeError, "DP304", "x > 0"),
        (clock, TypeError, "DP307", "time.time()"),
        (dice, TypeError, "DP307", "random.random()"),
        (filtered, TypeError, "DP312", "v > 0"),
        (generator, TypeError, "DP203", None),
        (coroutine, TypeError, "DP202", None),
        (caught_by_caller, TypeError, "DP306", 'ValueError("negative")'),
    ],
)
def test_errors_show_code_and_place(fn, kind, code, marked):
    with pytest.raises(kind) as caught:
        stage(fn, (ms.Tensor([[1.0, 2.0]]),))
    assert isinstance(caught.value, GraphError)
    text = str(caught.value)
    assert f"[{code}]" in text.splitlines()[0]
    if marked is None:
        return
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "^" in line)
    source, carets = lines[at - 1], lines[at]
    start = carets.index("^")
    assert source[start : start + carets.count("^")] == marked


def test_an_argument_list_is_not_changed():
    given = [ms.Tensor([1.0])]
    with pytest.raises(TypeError, match="DP316"):
        stage(changed_argument, (given,))
    assert len(given) == 1


def test_functions_without_source_say_so():
    fn = eval("lambda x: x if x.sum() > 0 else -x")
    with pytest.raises(TypeError, match=r"DP308[\s\S]*no Python source"):
        stage(fn, (ms.Tensor([1.0]),))
    straight = eval("lambda x: x + 1")
    assert Compiled(straight)(ms.Tensor([1.0])).tolist() == [2.0]


def inner(x):
    return ops.matmul(x, ops.ones((3, 3)))


def outer(x):
    return inner(x + 1)


def inner_if_positive(x):
    if x.sum() > 0:
        return inner(x)
    return x


def test_errors_of_ops_name_the_place():
    with pytest.raises(ValueError, match="matmul: inner sizes differ") as caught:
        stage(outer, (ms.Tensor([[1.0, 2.0]]),))
    note = "\n".join(caught.value.__notes__)
    assert "in inner  (called from" in note and "^^^^^" in note


def test_errors_of_a_path_are_raised_when_it_is_taken():
    fn = Compiled(inner_if_positive)
    assert fn(ms.Tensor([[-1.0, -2.0]])).tolist() == [[-1.0, -2.0]]
    with pytest.raises(ValueError, match="matmul: inner sizes differ") as caught:
        fn(ms.Tensor([[1.0, 2.0]]))
    assert "in inner" in "\n".join(caught.value.__notes__)


def test_nothing_is_changed_by_a_failing_staging():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.seen = []
            self.w = ms.Parameter(ms.Tensor([1.0]))

        def construct(self, x):
            self.count += 1
            self.seen.append(x)
            self.w = self.w + x
            return x.asnumpy()

    net = Net()
    with pytest.raises(TypeError, match="DP301"):
        stage(net, (ms.Tensor([1.0]),))
    assert net.count == 0 and net.seen == [] and net.w.tolist() == [1.0]
    assert ms.ops.add(ms.Tensor([1.0]), 1).tolist() == [2.0]


def test_carets_stand_below_wide_characters(tmp_path):
    path = tmp_path / "wide.py"
    path.write_text("名字 = 1\n\tx = '名' + y\n")
    shown = excerpt(Position(str(path), 2, 5, 10, "f"), "here").splitlines()
    assert shown[0].endswith("    x = '名' + y")
    assert shown[1] == "      |         " + "^^^^ here"


def test_a_call_computed_once_names_all_its_lines() -> None:
    @ms.jit
    def f(x: ms.Tensor, i: ms.Tensor) -> ms.Tensor:
        first = ms.ops.gather(x, i, 0)
        second = ms.ops.gather(x, i, 0)
        return first * second

    with pytest.raises(IndexError) as caught:
        f(ms.Tensor([1.0, 2.0]), ms.Tensor([7]))
    text = str(caught.value)
    assert "first = ms.ops.gather" in text and "second = ms.ops.gather" in text
    assert text.count("the same call, computed once") == 1


# ---- several errors a run


def reads_clock(x):
    t = time.time()
    return x + t


def several(x):
    n = np.linalg.norm(x)
    y = x.asnumpy() + n  # n is no second error
    z = reads_clock(x)
    if x.sum() > 0:
        w = x[0].tolist()
        x = x + w
    return x + y + z


def test_independent_errors_come_together():
    with pytest.raises(TypeError) as caught:
        stage(several, (ms.Tensor([[1.0, 2.0]]),))
    text = str(caught.value)
    assert isinstance(caught.value, GraphError) and text.startswith("Unsupported type")
    marked = [line.split("| ")[1].strip() for line in text.splitlines() if " | " in line]
    code = [line for line in marked if not line.startswith("^")]
    assert code == [
        "n = np.linalg.norm(x)",
        "y = x.asnumpy() + n  # n is no second error",
        "t = time.time()",
        "w = x[0].tolist()",
    ]
    assert "3 more in the same function:" in text


def test_errors_stop_at_five():
    def many(x):
        a = x.asnumpy()
        b = x.tolist()
        c = np.linalg.norm(x)
        d = time.monotonic()
        e = time.time()
        f = random.random()
        return a, b, c, d, e, f

    with pytest.raises(TypeError) as caught:
        stage(many, (ms.Tensor([1.0]),))
    assert str(caught.value).count("[DP3") == 5


def test_what_is_staged_twice_is_told_once():
    def looped(x):
        while True:
            x = x * 2
            y = x.asnumpy()
            if x.sum() > 10:
                break
        for i in range(100):
            z = np.sin(x) + i
        return x, y, z

    with pytest.raises(TypeError) as caught:
        stage(looped, (ms.Tensor([1.0]),))
    assert str(caught.value).count("asnumpy() needs") == 1


def test_an_exception_of_the_program_after_an_error_does_not_hide_it():
    def fn(x):
        y = x.asnumpy()
        raise KeyError(str(x.shape))
        return y

    with pytest.raises(TypeError, match="asnumpy"):
        stage(fn, (ms.Tensor([1.0]),))


# ---- recursion


def halve(x):
    if x > 1:
        return 1 + halve(x // 2)
    return x * 0


def crossing(x):
    if x < 0:
        return x
    if x > 3:
        return crossing(x - 1) + crossing(x - 2)
    return crossing(x - 3)


@pytest.mark.parametrize("fn", [halve, crossing])
def test_recursion_on_a_tensor_is_refused_at_once(fn):
    with pytest.raises(RuntimeError, match=r"depth limit(.|\n)*call 64 of(.|\n)*while loop"):
        stage(fn, (ms.Tensor(40),))


def counted(x, n):
    if x > 0:
        return x if n == 0 else counted(x - 1, n - 1)
    return x * 0


def test_recursion_that_a_number_ends_is_staged():
    for x in (100, 30):
        made = Compiled(counted)(ms.Tensor(x), 90)
        assert made.item() == counted(ms.Tensor(x), 90).item()
