"""What staged functions read from and write to the world outside: attributes, globals, closures,
parameters, random state; nothing is stale, nothing is lost."""

import importlib

import numpy as np
import pytest
from staging import Compiled, outcome, plain, tensors

import diptych as ms
from diptych import nn, ops


def both(make, *calls):
    """Eager and staged results of the same calls ``call(obj, fn)`` in a row; number of graphs."""
    results = []
    for is_staged in (False, True):
        ms.set_seed(1)
        obj = make()
        fn = Compiled(obj) if is_staged else obj
        results.append([outcome(lambda call=call, o=obj, f=fn: call(o, f)) for call in calls])
    assert results[0] == results[1]
    return fn.count


@pytest.mark.parametrize("edit", ["x + 2", "x * 1", "x.abs()", "x + 1 if x.size else x", "x + 1.0"])
def test_a_function_whose_file_was_edited_runs_as_python(edit, tmp_path, monkeypatch):
    file = tmp_path / f"edited_{abs(hash(edit))}.py"
    file.write_text("class C:\n    def f(self, x):\n        return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module(file.stem)
    file.write_text(f"class C:\n    def f(self, x):\n        return {edit}\n")
    with pytest.warns(UserWarning, match="source of C.f changed after import"):
        assert ms.jit(module.C().f)(ms.Tensor([-1.0])).tolist() == [0.0]


def test_private_names_are_those_of_their_class():
    class Inner:
        __size = 3

        def __grow(self, x):
            return (lambda y, by=self.__size: y * by)(x)

        def run(self, x):
            class Other:
                __size = 5

                def give(self):
                    return self.__size

            return self.__grow(x) + Other().give()

    assert ms.jit(Inner().run)(ms.Tensor([2.0])).tolist() == Inner().run(ms.Tensor([2.0])).tolist()


def run(*values):
    return lambda obj, fn: fn(*tensors(*values))


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.k = 1

    def construct(self, x):
        return x * self.k


def test_attributes_changed_outside_are_seen():
    def change(obj, fn):
        obj.k = 7

    assert both(Scale, run([1.0]), change, run([1.0]), run([2.0])) == 2


class Counter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = 0

    def construct(self, x):
        self.count = self.count + 1
        return x * self.count


def test_counters_do_not_stage_again():
    count = both(Counter, *[run([1.0])] * 3, lambda obj, fn: obj.count)
    assert count == 1


class Dynamic(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.Dense(2, 2) for _ in range(10)])

    def construct(self, x):
        if x.sum() > 0:
            used_layers = 8
        else:
            used_layers = 5
        for i in range(used_layers):
            x = self.layers[i](x)
        return x


def test_the_number_of_layers_depends_on_the_input():
    assert both(Dynamic, run([[3.0, 4.0]]), run([[-9.0, -9.0]]), run([[3.0, 4.0]])) == 1


class Modes(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(p=0.5)

    def construct(self, x):
        return self.drop(self.norm(self.dense(x)))


def test_training_and_inference_are_two_graphs():
    x = [[3.0, 4.0], [1.0, 2.0]]

    def train(obj, fn):
        obj.set_train(True)

    def evaluate(obj, fn):
        obj.set_train(False)

    def parameters(obj, fn):
        return [p.asnumpy().tolist() for p in obj.get_parameters()]

    calls = (run(x), train, run(x), run(x), evaluate, run(x), parameters)
    assert both(Modes, *calls) == 2


class Memory(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0, 2.0]))
        self.buffer = ms.Tensor([0.0, 0.0])

    def construct(self, x):
        if x.sum() > 0:
            self.w = self.w + x
        else:
            self.w = self.w * 2
        self.buffer[0] = x[0]
        self.last = x * 3
        return self.w * 1


def test_parameters_buffers_and_new_attributes_are_written():
    def look(obj, fn):
        return [v.asnumpy().tolist() for v in (obj.w, obj.buffer, obj.last)]

    calls = (run([1.0, 2.0]), look, run([-1.0, -2.0]), look, run([1.0, 2.0]), look)
    assert both(Memory, *calls) == 1


class History(nn.Cell):
    def __init__(self):
        super().__init__()
        self.seen = []

    def construct(self, x):
        self.seen.append(x + 1)
        return x + len(self.seen)


def test_lists_outside_are_written():
    both(History, *[run([1.0])] * 3, lambda obj, fn: plain(obj.seen))


class Functional(nn.Cell):
    """A training step by value_and_grad."""

    def __init__(self):
        super().__init__()
        self.net = nn.Dense(2, 1)
        self.optimizer = nn.Adam(self.net.trainable_params(), 1e-2)
        self.gradient = ms.value_and_grad(self.loss, None, self.optimizer.parameters)

    def loss(self, x, y):
        d = self.net(x) - y
        loss = (d * d).mean()
        if loss > 0.5:
            loss = loss * 2
        return loss

    def construct(self, x, y):
        loss, grads = self.gradient(x, y)
        self.optimizer(grads)
        return loss


class Tape(Functional):
    """A training step by backward()."""

    def construct(self, x, y):
        loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        return loss


@pytest.mark.parametrize("step", [Functional, Tape])
def test_training_steps(step):
    xy = ([[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0]])

    def parameters(obj, fn):
        return [p.asnumpy().tolist() for p in obj.get_parameters()]

    assert both(step, *[run(*xy)] * 4, parameters) == 1


FACTOR = 3
WEIGHT = ms.Tensor([5.0])
CALLS = 0


def scaled(x):
    return x * FACTOR


def weighted(x):
    return x * WEIGHT


def counted(x):
    global CALLS
    CALLS = CALLS + 1
    return x + CALLS


def test_globals_changed_outside_are_seen():
    global FACTOR, WEIGHT
    x = ms.Tensor([1.0])
    fn = Compiled(scaled)
    FACTOR = 3
    assert fn(x).tolist() == [3.0]
    FACTOR = 10
    assert fn(x).tolist() == [10.0] and fn.count == 2
    fn = Compiled(weighted)
    WEIGHT = ms.Tensor([5.0])
    assert fn(x).tolist() == [5.0]
    WEIGHT = ms.Tensor([10.0])
    assert fn(x).tolist() == [10.0]
    WEIGHT += 1
    assert fn(x).tolist() == [11.0] and fn.count == 1


def test_globals_are_written():
    global CALLS
    CALLS = 0
    fn = Compiled(counted)
    assert [fn(ms.Tensor([1.0])).tolist() for _ in range(3)] == [[2.0], [3.0], [4.0]]
    assert CALLS == 3 and fn.count == 1


def test_closures_are_read_and_written():
    n = 0

    def count(x):
        nonlocal n
        n += 1
        return x + n

    fn = Compiled(count)
    assert [fn(ms.Tensor([1.0])).tolist() for _ in range(3)] == [[2.0], [3.0], [4.0]]
    assert n == 3 and fn.count == 1


def test_arguments_are_changed_in_place():
    def fill(x):
        x[0] = 7
        if x.sum() > 0:
            x += 1
        return x

    for values in ([1.0, 2.0], [-9.0, -9.0]):
        eager, staged = tensors(values, values)
        fill(eager)
        out = Compiled(fill)(staged)
        assert out is staged and np.array_equal(staged.asnumpy(), eager.asnumpy())


def test_arguments_are_changed_by_ops_of_ops():
    def step(w, rows, g):
        ops.ApplyGradientDescent()(w, 0.5, g)
        if g.sum() > 0:
            ops.scatter_update(rows, ms.Tensor([1]), g)
        return w

    compiled = Compiled(step)
    for sign in (1.0, -1.0, 1.0):
        values = ([1.0, 2.0], [[5.0, 6.0], [7.0, 8.0]], [sign, sign * 3])
        eager, staged = tensors(*values), tensors(*values)
        step(*eager)
        assert compiled(*staged) is staged[0]
        for got, want in zip(staged, eager, strict=True):
            np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())


def test_a_failing_run_writes_nothing():
    class Strict(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = 0
            self.w = ms.Parameter(ms.Tensor([1.0]))

        def construct(self, x):
            self.count += 1
            self.w = self.w + x
            print("printed")
            if x.sum() > 5:
                raise ValueError("too big")
            return x

    net = Strict()
    fn = Compiled(net)
    assert outcome(fn, ms.Tensor([1.0]))[1] == "printed\n"
    assert outcome(fn, ms.Tensor([9.0])) == (("ValueError", "too big"), "")
    assert net.count == 1 and net.w.tolist() == [2.0]
    fn(ms.Tensor([1.0]))
    assert net.count == 2 and net.w.tolist() == [3.0]


TABLE = np.array([1.0, 2.0], np.float32)
OPTIONS = {"scale": [2.0]}


def with_constants(x):
    return x * ms.Tensor(TABLE) * OPTIONS["scale"][0]


def test_arrays_and_containers_outside_are_seen():
    fn = Compiled(with_constants)
    x = ms.Tensor([1.0, 1.0])
    assert fn(x).tolist() == [2.0, 4.0]
    TABLE[0] = 5.0
    assert fn(x).tolist() == [10.0, 4.0]
    OPTIONS["scale"][0] = 1.0
    assert fn(x).tolist() == [5.0, 2.0]
    assert fn(x).tolist() == [5.0, 2.0] and fn.count == 3
