"""vmap against loops in NumPy: axes, nesting, gradients, compiled calls, refusals."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(37)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_axes_of_inputs_and_results():
    x, y = normal(3, 4), normal(4, 3)
    mapped = ops.vmap(lambda a, b: (a * b, a.sum()), in_axes=(0, 1), out_axes=(-1, 0))
    product, total = mapped(ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(product.asnumpy(), (x * y.T).T, rtol=1e-6)
    np.testing.assert_allclose(total.asnumpy(), x.sum(1), rtol=1e-5)


def test_shared_inputs_and_equal_results():
    x, w = normal(5, 3), normal(3, 2)
    mapped = ops.vmap(lambda a, b, k: (a @ b * k, b), in_axes=(0, None, None), out_axes=(0, None))
    y, same = mapped(ms.Tensor(x), ms.Tensor(w), 2)
    np.testing.assert_allclose(y.asnumpy(), x @ w * 2, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(same.asnumpy(), w)


def test_nested_inputs():
    x, y = normal(2, 3), normal(3, 2)
    mapped = ops.vmap(lambda p: p[0] - p[1][0], in_axes=((0, (1,)),))
    got = mapped((ms.Tensor(x), (ms.Tensor(y),)))
    np.testing.assert_allclose(got.asnumpy(), x - y.T)


def test_of_itself():
    x, y = normal(4), normal(5)
    outer = ops.vmap(ops.vmap(ops.mul, in_axes=(None, 0)), in_axes=(0, None))
    np.testing.assert_allclose(outer(ms.Tensor(x), ms.Tensor(y)).asnumpy(), np.outer(x, y))


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_each_sample(compiled):
    x = normal(4, 3)
    each = ops.vmap(ms.grad(lambda a: (a**3).sum()))
    each = ms.jit(each) if compiled else each
    np.testing.assert_allclose(each(ms.Tensor(x)).asnumpy(), 3 * x**2, rtol=1e-5)


def test_one_cell_for_each_sample():
    cells = nn.CellList([nn.Dense(3, 2) for _ in range(4)])
    x = normal(4, 5, 3)
    got = ops.vmap(cells)(ms.Tensor(x)).asnumpy()
    for i, cell in enumerate(cells):
        np.testing.assert_allclose(got[i], cell(ms.Tensor(x[i])).asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_what_is_written_into_samples_of_a_parameter(mode):
    class Steps(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(W.copy(), name="w")
            self.kept = ms.Parameter(W.copy(), name="kept")
            inner = ops.vmap(self.step, in_axes=(0, None, 0))
            self.both = ops.vmap(inner, in_axes=(1, None, 0), out_axes=1)

        def step(self, w, kept, g):
            ops.assign_sub(w, g * kept.sum())
            return w * 2

        def construct(self, g):
            return self.both(self.w, self.kept, g)

    W = np.arange(6.0).reshape(2, 3)
    G = np.random.default_rng(0).normal(size=(3, 2))
    ms.set_context(mode=mode)
    try:
        net = Steps()
        doubled = net(ms.Tensor(G))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    np.testing.assert_allclose(net.w.asnumpy(), W - G.T * W.sum(), rtol=1e-12)
    np.testing.assert_allclose(doubled.asnumpy(), 2 * net.w.asnumpy(), rtol=1e-12)
    np.testing.assert_array_equal(net.kept.asnumpy(), W)


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: ops.vmap(3), TypeError, "fn is of type int"),
    (lambda: ops.vmap(ops.relu, chunk_size=0), ValueError, "chunk_size is 0"),
    (lambda: ops.vmap(ops.add)(ops.ones(2), ops.ones(3)), ValueError, r"sizes \[2, 3\]"),
    (lambda: ops.vmap(ops.relu, None)(ops.ones(2)), ValueError, r"sizes \[\]"),
    (lambda: ops.vmap(ops.add, (0,))(ops.ones(2), ops.ones(2)), ValueError, "in_axes is"),
    (lambda: ops.vmap(ops.relu, 1)(ops.ones(2)), ValueError, "in_axes holds 1"),
    (lambda: ops.vmap(ops.relu, ("a",))(ops.ones(2)), TypeError, "in_axes holds 'a'"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_older_names_of_the_ops():
    from diptych.ops import functional, operations
    from diptych.ops.operations import nn_ops

    x = ms.Tensor([-1.0, 2.0])
    assert operations.ReLU()(x).tolist() == nn_ops.ReLU()(x).tolist() == [0.0, 2.0]
    assert functional.relu is ops.relu and "relu" in dir(functional)
    assert ops.function.math_func.relu is ops.relu and "relu" in dir(ops.function)
