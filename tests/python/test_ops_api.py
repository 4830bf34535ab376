"""How ops are called: arguments, errors, help, primitives, contexts, cells' bookkeeping."""

import copy
import inspect
import pickle
import pydoc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import diptych as ms
from diptych import Parameter, Tensor, _core, nn, ops

X = Tensor([[1.0, -2.0], [3.0, 4.0]])
TABLE = {name: op for name, op in _core.op_table.items() if not op.hidden}


# ---- arguments


def test_positional_and_keywords():
    want = X.asnumpy().sum(1, keepdims=True)
    for got in (ops.sum(X, 1, True), ops.sum(X, axis=1, keep_dims=True),
                ops.sum(input=X, axis=(1,), keep_dims=1), ops.sum(X, [1], True)):
        np.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: ops.relu(), TypeError, "relu: argument 'input' is missing"),
        (lambda: ops.relu(X, X), TypeError, "relu takes at most 1 arguments, 2 were given"),
        (lambda: ops.relu(X, bad=1), TypeError, r"relu has no argument 'bad'; it takes \(input\)"),
        (lambda: ops.relu(X, input=X), TypeError, "argument 'input' is given twice"),
        (lambda: ops.relu("x"), TypeError, "relu: argument 'input' is of type str"),
        (lambda: ops.relu(None), TypeError, "argument 'input' is of type NoneType"),
        (lambda: ops.sum(X, "x"), TypeError, "sum: argument 'axis' is 'x'"),
        (lambda: ops.sum(X, 1.5), TypeError, "sum: argument 'axis' is 1.5"),
        (lambda: ops.sum(X, (0, "x")), TypeError, "axis"),
        (lambda: ops.sum(X, 5), IndexError, "axis 5 is out of range"),
        (lambda: ops.sum(X, 2**70), OverflowError, "axis. is .*does not fit into int64"),
        (lambda: ops.sum(X, 0, 3), TypeError, "keep_dims"),
        (lambda: ops.sum(X, dtype="float31"), TypeError, "dtype"),
        (lambda: ops.reshape(X), TypeError, "argument 'shape' is missing"),
        (lambda: ops.reshape(X, (3,)), ValueError, "reshape"),
        (lambda: ops.reshape(X, (1,) * 9), ValueError, "at most 8"),
        (lambda: ops.concat(X.sum()), (ValueError, IndexError), "concat"),
        (lambda: ops.concat(3), TypeError, "must be a list or tuple"),
        (lambda: ops.concat([]), (TypeError, ValueError), "concat"),
        (lambda: ops.concat([X, "x"]), TypeError, "argument 'tensors' is of type str"),
        (lambda: ops.matmul(X, Tensor([1.0])), ValueError, "matmul"),
    ],
)
def test_errors_name_op_and_argument(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_numbers_and_arrays_as_inputs():
    assert ops.maximum(X, 0).tolist() == [[1, 0], [3, 4]]
    assert ops.add(1, 2).dtype is ms.int64
    assert ops.add(1, 2.5).item() == 3.5
    assert ops.where(X > 0, X, 0.5).dtype is ms.float32
    assert ops.where(X > 0, 1, 0).dtype is ms.int64
    assert ops.add(np.ones(2, np.float32), [1, 2]).tolist() == [2, 3]
    assert ops.leaky_relu(X)[0].tolist() == pytest.approx([1, -0.4])
    assert ops.leaky_relu(X, 0.5).tolist() == [[1, -1], [3, 4]]
    assert ops.leaky_relu(X, alpha=Tensor(0.5)).tolist() == [[1, -1], [3, 4]]


def test_lists_of_inputs():
    assert ops.concat((X, X)).shape == ops.concat([X, X], axis=0).shape == (4, 2)
    assert ops.concat([X] * 40, 1).shape == (2, 80)
    assert ops.stack([X, X], axis=-1).shape == (2, 2, 2)


def test_several_results():
    parts = ops.unstack(X)
    assert isinstance(parts, tuple) and [p.tolist() for p in parts] == X.tolist()
    many = ops.unstack(Tensor(np.arange(100)))
    assert [int(m) for m in many] == list(range(100))


def test_foreign_code_during_a_call():
    class Evil:
        def __array__(self, dtype=None, copy=None):
            victim.set_data(Tensor([[0.0]]))
            return np.ones((2, 2), np.float32)

    for call in (lambda v: ops.add(v, Evil()), lambda v: v + Evil(),
                 lambda v: ops.concat([v, Evil()])):
        victim = Tensor(np.ones((2, 2), np.float32))
        try:
            assert call(victim).asnumpy().sum() == 8
        except TypeError:
            pass  # an operator may refuse the object


# ---- every row of the table


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_op_describes_itself(name):
    op = TABLE[name]
    assert op.__name__ == name and op.summary
    signature = inspect.signature(op)
    assert list(signature.parameters)
    text = pydoc.render_doc(op)
    assert op.summary.split()[0] in text and "Args:" in text and "Raises:" in text
    assert pickle.loads(pickle.dumps(getattr(ops, name))) is getattr(ops, name)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_arguments_crash_nothing(name):
    op = TABLE[name]
    for args in [(), (None,), (object(),), ("x",), ([],), (X, X, X, X, X, X, X, X, X), ({},)]:
        try:
            op(*args)
        except (TypeError, ValueError, IndexError, OverflowError, NotImplementedError):
            pass


def test_op_binds_like_a_function():
    class Net(nn.Cell):
        act = ops.relu

    assert Net.act is ops.relu
    assert callable(Net().act)


def test_stubs_are_fresh():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, str(root / "tools" / "stubs.py"), "--check"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pickle_of_ops():
    assert pickle.loads(pickle.dumps(ops.relu)) is ops.relu
    assert copy.deepcopy(ops.relu) is ops.relu


# ---- primitives


def test_primitives():
    assert ops.ReLU()(X).tolist() == [[1, 0], [3, 4]]
    assert ops.ReduceSum(keep_dims=True)(X, 1).shape == (2, 1)
    assert ops.ReduceMean()(X).item() == 1.5
    assert ops.Concat(1)((X, X)).shape == (2, 4)
    assert ops.Stack(0)([X, X]).shape == (2, 2, 2)
    assert ops.Reshape()(X, (4,)).shape == (4,)
    assert ops.Transpose()(X, (1, 0)).tolist() == X.T.tolist()
    assert ops.Gather()(X, Tensor([1]), 0).tolist() == [[3, 4]]
    assert ops.Cast()(X, ms.int32).dtype is ms.int32
    hot = ops.OneHot()(Tensor([1]), 3, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))
    assert hot.tolist() == [[0, 1, 0]] and hot.dtype is ms.float32
    assert ops.ExpandDims()(X, 0).shape == (1, 2, 2)
    assert ops.MatMul(transpose_b=True)(X, X).tolist() == (X @ X.T).tolist()
    assert ops.Split(0, 2)(X)[1].tolist() == [[3, 4]]
    assert ops.Fill()(ms.float16, (2,), 3).dtype is ms.float16
    assert ops.Shape()(X) == (2, 2) and ops.Rank()(X) == 2
    assert ops.Add()(X, 1).tolist() == (X + 1).tolist()
    assert repr(ops.Concat(axis=1)) == "Concat(axis=1)"
    with pytest.raises(TypeError, match="no setting"):
        ops.ReLU(bad=1)
    with pytest.raises(TypeError, match="takes at most"):
        ops.ReLU()(X, 1)


def test_print_returns_its_tensor(capsys):
    out = ops.Print()(X, "text")
    assert out is X
    assert capsys.readouterr().out == "[[ 1. -2.]\n [ 3.  4.]]\ntext\n"
    assert ops.Depend()(X, 3) is X


def test_assign():
    p = Parameter(Tensor([1.0]), name="p")
    assert ops.Assign()(p, Tensor([2.0])) is p and p.tolist() == [2]
    assert ops.AssignAdd()(p, Tensor([2.0])).tolist() == [4]
    assert ops.assign_sub(p, 1.0).tolist() == [3]


# ---- context


def test_context_checks():
    assert ms.get_context("mode") == ms.PYNATIVE_MODE == 1
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
    with pytest.raises(ValueError, match="did you mean 'device_target'"):
        ms.set_context(device_targt="CPU")
    with pytest.raises(ValueError, match="is not recognized"):
        ms.get_context("foo")
    for bad in ({"mode": 7}, {"device_target": "TPU"}, {"mempool_block_size": "abc"},
                {"max_call_depth": 0}, {"memory_optimize_level": "O3"}):
        with pytest.raises(ValueError, match="The context configuration is invalid"):
            ms.set_context(**bad)
    for bad in ({"mode": "GRAPH"}, {"enable_graph_kernel": "yes"}, {"max_call_depth": True}):
        with pytest.raises(TypeError, match="The context configuration is invalid"):
            ms.set_context(**bad)


def test_context_is_all_or_nothing():
    with pytest.raises(ValueError):
        ms.set_context(runtime_num_threads=1, device_target="TPU")
    assert ms.get_context("runtime_num_threads") == 0


def test_context_says_what_does_not_apply():
    with pytest.warns(UserWarning, match="each node of a graph runs its own kernel"):
        ms.set_context(enable_graph_kernel=True)
    assert ms.get_context("enable_graph_kernel") is True
    with pytest.warns(UserWarning, match="the CPU is used"):
        ms.set_context(device_target="Ascend")
    assert ms.get_context("device_target") == "CPU"


def test_memory_limit():
    ms.set_context(max_device_memory="0.25GB")
    try:
        with pytest.raises(MemoryError, match="limit"):
            ops.zeros((2**27,), ms.float32) + 1
    finally:
        _core.set_memory_limit(0)
    usage = ms.memory_usage()
    assert set(usage) == {"allocated", "reserved", "peak", "limit"} and "MiB" in str(usage)
    assert usage["peak"] >= usage["allocated"] > 0


def test_seed_and_state():
    ms.set_seed(5)
    assert ms.get_seed() == 5
    state = ms.get_rng_state()
    ms.set_rng_state(state)
    assert ms.get_rng_state().tolist() == state.tolist()
    for bad in (-1, 2**64):
        with pytest.raises(ValueError):
            ms.set_seed(bad)
    with pytest.raises(TypeError):
        ms.set_seed("1")


# ---- cells


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0]))
        self.frozen = Parameter(Tensor([1.0]), name="own", requires_grad=False)

    def construct(self, x):
        return x * self.w


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.tied = self.first
        self.top = Parameter(Tensor([2.0]), name="top")

    def construct(self, x, scale=1.0):
        return self.second(self.first(x)) * self.top * scale


def test_names():
    net = Net()
    names = ["top", "first.w", "first.frozen", "second.w", "second.frozen"]
    assert [n for n, _ in net.parameters_and_names()] == names
    # a Cell held twice is named by its last place, as in MindSpore
    named = [n.replace("first", "tied") for n in names]
    assert [p.name for p in net.get_parameters()] == list(net.parameters_dict()) == named
    assert [p.name for p in net.trainable_params()] == ["top", "tied.w", "second.w"]
    assert list(net.name_cells()) == ["first", "second"]
    assert [n for n, _ in net.cells_and_names()] == ["", "first", "second"]
    net.update_parameters_name("net.")
    assert net.top.name == "net.top"


def test_cell_calls():
    net = Net()
    assert net(Tensor([3.0])).item() == 6
    assert net(Tensor([3.0]), 2.0).item() == net(x=Tensor([3.0]), scale=2.0).item() == 12
    assert net(*[Tensor([1.0])], **{"scale": 3}).item() == 6

    class Forward(nn.Cell):
        def forward(self, x):
            return x + 1

    assert Forward()(Tensor(1.0)).item() == 2
    with pytest.raises(AttributeError, match="'construct' is not defined"):
        nn.Cell()(1)

    class Many(nn.Cell):
        def construct(self, *args, **kwargs):
            return len(args) + 100 * len(kwargs)

    assert Many()(*range(30), a=1, b=2) == 230


def test_cell_attributes():
    net = Net()
    before = _core.epoch()
    net.flag = 1
    net.set_train()
    del net.flag
    assert _core.epoch() > before
    assert net.training and net.first.training
    assert not net.set_train(False).second.training
    net.top = Tensor([9.0])
    assert isinstance(net.top, Parameter) and net.top.tolist() == [9]
    net.top = None
    assert "top" not in net.parameters_dict()
    net.insert_param_to_cell("new", Parameter(Tensor([1.0])))
    assert net.new.name == "new"
    with pytest.raises(KeyError):
        net.insert_param_to_cell("a.b", net.new)
    with pytest.raises(TypeError):
        net.insert_child_to_cell("c", 3)


def test_cell_copies():
    net = Net()
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert made(Tensor([3.0])).item() == 6
        assert made.tied is made.first and made.first is not net.first
        made.top.set_data(Tensor([0.0]))
    assert net(Tensor([3.0])).item() == 6


def test_cell_repr_and_apply():
    assert repr(Net()).splitlines()[0] == "Net("
    assert "(first): Block()" in repr(Net())
    seen = []
    Net().apply(lambda c: seen.append(type(c).__name__))
    assert seen == ["Block", "Block", "Net"]


def test_to_float():
    net = Net().to_float(ms.float16)
    assert net(Tensor([3.0])).dtype is ms.float16
    assert net.top.dtype is ms.float32
    g = ms.grad(net, None, net.trainable_params())(Tensor([3.0]))
    assert [t.dtype for t in g] == [ms.float32] * 3
