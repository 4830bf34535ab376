"""jacrev and jacfwd against Jacobians written out, in both modes."""

import numpy as np
import pytest

import diptych as ms
from diptych import ops

X, W = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"], autouse=True)
def _mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield
    ms.set_context(mode=before)


def tensors():
    return ms.Tensor(X, ms.float64), ms.Tensor(W, ms.float64)


def layer(x, w):
    return ops.tanh(ops.matmul(w, x))


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_one_output(jacobian):
    x, w = tensors()
    slope = 1 - np.tanh(W @ X) ** 2
    for_x = slope[:, None] * W
    for_w = np.einsum("i,ij,k->ijk", slope, np.eye(2), X)
    np.testing.assert_allclose(jacobian(layer)(x, w).asnumpy(), for_x, rtol=1e-12)
    np.testing.assert_allclose(jacobian(layer, 1)(x, w).asnumpy(), for_w, rtol=1e-12)
    both = jacobian(layer, (0, 1))(x, w)
    assert isinstance(both, tuple) and both[0].shape == (2, 3) and both[1].shape == (2, 2, 3)
    np.testing.assert_allclose(both[1].asnumpy(), for_w, rtol=1e-12)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_several_outputs_and_others(jacobian):
    x, w = tensors()
    first, second = jacobian(lambda x, w: (x * x, (w * x).sum()))(x, w)
    np.testing.assert_allclose(first.asnumpy(), np.diag(2 * X))
    np.testing.assert_allclose(second.asnumpy(), W.sum(0))
    made, other = jacobian(lambda x: (x * x, x + 1), has_aux=True)(x)
    np.testing.assert_allclose(made.asnumpy(), np.diag(2 * X))
    np.testing.assert_allclose(other.asnumpy(), X + 1)
    assert jacobian(lambda x: x[:0])(x).shape == (0, 3)
    np.testing.assert_array_equal(jacobian(lambda x: ops.ones((2,), x.dtype))(x).asnumpy(), 0)


@pytest.mark.parametrize("outer", [ms.jacrev, ms.jacfwd])
@pytest.mark.parametrize("inner", [ms.jacrev, ms.jacfwd])
def test_hessian(outer, inner):
    x, _ = tensors()
    made = outer(inner(lambda x: (x**3).sum() + x[0] * x[1]))(x).asnumpy()
    want = np.diag(6 * X)
    want[0, 1] = want[1, 0] = 1
    np.testing.assert_allclose(made, want)


@pytest.mark.parametrize("jacobian", [ms.jacrev, ms.jacfwd])
def test_what_is_refused(jacobian):
    x, w = tensors()
    with pytest.raises(TypeError, match="grad_position is 'a'"):
        jacobian(layer, "a")
    with pytest.raises(TypeError, match="grad_position is -1"):
        jacobian(layer, -1)
    with pytest.raises(TypeError, match="holds 2; there must be a Tensor, but got 2 inputs"):
        jacobian(layer, 2)(x, w)
    with pytest.raises(TypeError, match="holds 1; there must be a Tensor, but got float"):
        jacobian(lambda x, s: x * s, 1)(x, 2.0)
    with pytest.raises(ValueError, match="it has no elements"):
        jacobian(lambda x: x * 2)(x[:0])


def test_top_level_names(capsys):
    assert ms.vmap is ops.vmap
    ms.set_device("CPU", 0)
    assert ms.get_context("device_target") == "CPU"
    with pytest.raises(ValueError, match="TPU"):
        ms.set_device("TPU")
    ms.run_check()
    assert capsys.readouterr().out.startswith("Diptych version: ")
