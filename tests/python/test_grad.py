"""Gradients from Python: functions, tensors, nesting, custom gradients, hooks, parameters."""

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import diptych as ms
from diptych import Parameter, Tensor, nn, ops


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)


def f(x, y):
    return (x * x * y).sum()


X, Y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])


def test_grad_positions():
    close(ms.grad(f)(X, Y), 2 * X.asnumpy() * Y.asnumpy())
    close(ms.grad(f, 1)(X, Y), X.asnumpy() ** 2)
    both = ms.grad(f, (0, 1))(X, Y)
    assert isinstance(both, tuple)
    close(both[1], X.asnumpy() ** 2)
    one = ms.grad(f, (1,))(X, Y)
    assert isinstance(one, tuple) and len(one) == 1


def test_value_and_grad():
    value, g = ms.value_and_grad(f)(X, Y)
    close(value, f(X, Y))
    assert not value.requires_grad
    close(g, 2 * X.asnumpy() * Y.asnumpy())


def test_has_aux():
    def h(x):
        return (x * x).sum(), x * 10, "text"

    g, aux, text = ms.grad(h, has_aux=True)(X)
    close(g, 2 * X.asnumpy())
    close(aux, X.asnumpy() * 10)
    assert text == "text"
    (value, aux, text), g = ms.value_and_grad(h, has_aux=True)(X)
    close(value, (X.asnumpy() ** 2).sum())
    assert not aux.requires_grad


def test_weights():
    w = Parameter(Tensor([2.0, 3.0, 4.0]), name="w")
    v = Parameter(Tensor([1.0]), name="v")

    def h(x):
        return (x * w).sum()

    g = ms.grad(h, None, w)(X)
    close(g, X)
    gw, gv = ms.grad(h, None, [w, v])(X)
    close(gv, [0.0])
    gx, (gw,) = ms.grad(h, 0, ms.ParameterTuple([w]))(X)
    close(gx, w)
    close(gw, X)
    close(ms.value_and_grad(h, None, (w,))(X)[1][0], X)


def test_grad_of_a_tensor():
    w = Parameter(Tensor([2.0, 3.0]), name="w")
    loss = (w * w).sum()
    (g,) = ms.grad(loss, [w])
    close(g, [4, 6])
    with pytest.raises(RuntimeError, match="retain_graph"):
        ms.grad(loss, [w])
    loss = (w * w).sum()
    ms.grad(loss, w, retain_graph=True)
    close(ms.grad(loss, w), [4, 6])
    h = w * 2
    loss = (h * h).sum()
    close(ms.grad(loss, [h, w], retain_graph=True)[0], [8, 12])


def test_several_results_are_summed():
    close(ms.grad(lambda x: (x, x * x))(X), 1 + 2 * X.asnumpy())
    close(ms.grad(lambda x: {"a": x, "b": [x]})(X), [2, 2, 2])


def test_not_reached_is_zero():
    g = ms.grad(lambda x, y: (x * 2).sum(), (0, 1))(X, Y)
    close(g[1], [0, 0, 0])
    close(ms.grad(lambda x: ops.stop_gradient(x) * x)(X), X)


def test_bad_arguments():
    with pytest.raises(TypeError, match="callable"):
        ms.grad(3)
    with pytest.raises(ValueError, match="nothing to do"):
        ms.grad(f, None)
    with pytest.raises(ValueError, match="out of range"):
        ms.grad(f, 2)(X, Y)
    with pytest.raises(TypeError, match="grad_position"):
        ms.grad(f, 1.5)(X, Y)
    with pytest.raises(TypeError, match="taken for Tensors"):
        ms.grad(lambda x: X * x)(2.0)
    with pytest.raises(TypeError, match="no Tensor"):
        ms.grad(lambda x: 3)(X)
    with pytest.raises(TypeError, match="Parameters"):
        ms.grad(f, 0, ["w"])(X, Y)
    with pytest.raises(RuntimeError, match="does not depend"):
        Tensor(1.0).backward()


def test_errors_in_the_function_restore_state():
    def bad(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ms.grad(bad)(X)
    assert (X * 1).requires_grad is False
    w = Parameter(Tensor([1.0]), name="w")
    with ms.no_grad():
        assert not (w * 1).requires_grad
        close(ms.grad(lambda x: x * x)(X), 2 * X.asnumpy())
        assert not (w * 1).requires_grad
    assert (w * 1).requires_grad


def test_higher_order():
    def cube(x):
        return (x * x * x).sum()

    second = ms.grad(lambda x: ms.grad(cube)(x).sum())
    close(second(X), 6 * X.asnumpy())
    third = ms.grad(lambda x: second(x).sum())
    close(third(X), [6, 6, 6])
    value, g = ms.value_and_grad(lambda x: (ms.grad(cube)(x) ** 2).sum())(X)
    close(g, 2 * 3 * X.asnumpy() ** 2 * 6 * X.asnumpy())


def test_nested_gradient_keeps_outer_path():
    def outer(x):
        inner = ms.grad(lambda y: (y * y * x).sum())(x * 2)  # 2 y x with y = 2 x: 4 x^2
        return inner.sum()

    close(ms.grad(outer)(X), 8 * X.asnumpy())


def test_gradient_penalty_through_parameters():
    w = Parameter(Tensor([2.0, 3.0]), name="w")

    def penalty():
        (g,) = ms.grad((w * w * w).sum(), [w])
        return (g * g).sum()

    value, (g,) = ms.value_and_grad(penalty, None, [w])()
    close(value, 9 * (16 + 81))
    close(g, 36 * w.asnumpy() ** 3)


def test_vjp_and_jvp():
    out, pull = ms.vjp(lambda x: x * x, X)
    close(out, X.asnumpy() ** 2)
    close(pull(Y), 2 * X.asnumpy() * Y.asnumpy())
    close(pull(Y), 2 * X.asnumpy() * Y.asnumpy())
    _, pull = ms.vjp(f, X, Y)
    gx, gy = pull(Tensor(2.0))
    close(gy, 2 * X.asnumpy() ** 2)
    with pytest.raises(ValueError, match="1 results"):
        pull(Y, Y)
    out, tangent = ms.jvp(lambda x: ops.exp(x) * x, X, Y)
    e = np.exp(X.asnumpy())
    close(tangent, (e * X.asnumpy() + e) * Y.asnumpy())
    out, tangent = ms.jvp(lambda x, y: x * y, (X, Y), (Y, X))
    close(tangent, Y.asnumpy() ** 2 + X.asnumpy() ** 2)
    out, (a, b) = ms.jvp(lambda x: (x * 2, X), X, Y)
    close(a, 2 * Y.asnumpy())
    close(b, [0, 0, 0])


# ---- parameters and backward


def test_backward_adds():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    frozen = Parameter(Tensor([1.0, 2.0]), name="frozen", requires_grad=False)
    (w * w * frozen).sum().backward()
    close(w.grad, [2, 8])
    (w * 1).backward()
    close(w.grad, [3, 9])
    assert frozen.grad is None
    w.grad = None
    (w * 2).backward(Tensor([10.0, 1.0]))
    close(w.grad, [20, 2])
    with pytest.raises(ValueError, match="seed"):
        (w * 2).backward(Tensor([10.0]))
    with pytest.raises(TypeError):
        (w * 2).backward(3)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        loss.backward()


def test_two_ways_of_stepping_agree():
    def net():
        cell = nn.Cell()
        cell.w = Parameter(Tensor([[1.0, -2.0], [0.5, 3.0]]), name="w")
        return cell

    a, b = net(), net()
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    opt_a = nn.Momentum(a.trainable_params(), 0.1, 0.9)
    opt_b = nn.Momentum(b.trainable_params(), 0.1, 0.9)
    step = ms.value_and_grad(lambda: ((x @ a.w) ** 2).mean(), None, opt_a.parameters)
    for _ in range(3):
        opt_a(step()[1])
        ((x @ b.w) ** 2).mean().backward()
        opt_b.step()
    np.testing.assert_array_equal(a.w.asnumpy(), b.w.asnumpy())
    assert b.w.grad is None


def test_parameter_values():
    w = Parameter([1.0, 2.0])
    assert w.name == "Parameter" and w.requires_grad
    w.set_data(Tensor([3.0, 4.0], ms.float64))
    assert w.dtype is ms.float32 and w.tolist() == [3, 4]
    with pytest.raises(ValueError, match="shape"):
        w.set_data(Tensor([1.0]))
    w.set_data(Tensor([1.0]), slice_shape=True)
    assert w.shape == (1,)
    w += 1
    assert isinstance(w, Parameter) and w.tolist() == [2] and (w * 1).requires_grad
    w[0] = 9
    assert w.tolist() == [9] and (w * 1).requires_grad
    assert not Parameter(Tensor([1])).requires_grad
    with pytest.raises(TypeError, match="only floats"):
        Parameter(Tensor([1])).requires_grad = True
    w.requires_grad = False
    assert not (w * 1).requires_grad
    with pytest.raises(TypeError):
        w.name = 3
    with pytest.raises(RuntimeError, match="__init__"):
        repr(Parameter.__new__(Parameter))


def test_parameter_copies():
    import copy
    import pickle

    w = Parameter(Tensor([1.0, 2.0]), name="w", requires_grad=False)
    w.extra = 5
    for made in (copy.deepcopy(w), pickle.loads(pickle.dumps(w)), w.clone()):
        assert (made.name, made.requires_grad, made.tolist()) == ("w", False, [1, 2])
        assert made.extra == 5
        made += 1
    assert w.tolist() == [1, 2]
    c = ms.ParameterTuple([w]).clone("moments", init="zeros")
    assert c[0].name == "moments.w" and c[0].tolist() == [0, 0]


# ---- custom gradients and hooks


def test_function():
    class Clipped(ms.Function):
        @staticmethod
        def forward(ctx, x, limit):
            ctx.save_for_backward(x)
            ctx.limit = limit
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return ops.minimum(g * x, ctx.limit), None

    close(ms.grad(lambda x: Clipped.apply(x, 2.0).sum())(X), [1, 2, 2])


def test_bprop():
    class Net(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return dout * 100, out

    gx, gy = ms.grad(Net(), (0, 1))(X, Y)
    close(gx, [100, 100, 100])
    close(gy, X.asnumpy() * Y.asnumpy())


def test_bprop_errors_come_through():
    class Net(nn.Cell):
        def construct(self, x):
            return x * 1

        def bprop(self, x, out, dout):
            raise KeyError("in bprop")

    with pytest.raises(KeyError, match="in bprop"):
        ms.grad(Net())(X)

    class Wrong(Net):
        def bprop(self, x, out, dout):
            return dout, dout, dout

    with pytest.raises(ValueError, match="3 gradients"):
        ms.grad(Wrong())(X)


def test_tensor_hooks():
    seen = []

    def run(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()))
        y.register_hook(lambda g: g * 10)
        return (y * y).sum()

    close(ms.grad(run)(X), 80 * X.asnumpy())
    assert seen == [[4, 8, 12]]
    w = Parameter(Tensor([1.0]), name="w")
    handle = w.register_hook(lambda g: g * 5)
    (w * 1).backward()
    close(w.grad, [5])
    handle.remove()
    handle.remove()
    w.grad = None
    (w * 1).backward()
    close(w.grad, [1])
    with pytest.raises(RuntimeError, match="no gradient flows"):
        Tensor([1.0]).register_hook(print)
    with pytest.raises(TypeError, match="callable"):
        (w * 1).register_hook(3)


def test_cell_hooks():
    class Double(nn.Cell):
        def construct(self, x):
            return x * 2

    cell, log = Double(), []
    handles = [
        cell.register_forward_pre_hook(lambda c, x: log.append("pre")),
        cell.register_forward_hook(lambda c, x, y: y + 1),
        cell.register_backward_hook(lambda c, gx, gy: (gx[0] * 3,)),
    ]
    close(cell(X), X.asnumpy() * 2 + 1)
    close(ms.grad(cell)(X), [6, 6, 6])
    for h in handles:
        h.remove()
    close(ms.grad(cell)(X), [2, 2, 2])
    assert log == ["pre", "pre"]


def test_graphs_are_freed():
    class Keep(ms.Function):
        @staticmethod
        def forward(ctx, x):
            alive.append(weakref.ref(ctx))
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    alive = []
    w = Parameter(Tensor([1.0]), name="w")
    out = Keep.apply(w)
    gc.collect()
    assert alive[0]() is not None
    del out
    gc.collect()
    assert alive[0]() is None


def test_memory_stays_flat():
    w = Parameter(Tensor(np.ones(1000, np.float32)), name="w")

    def run():
        y = w
        for _ in range(100):
            y = y * 1.0
        y.backward()
        w.grad = None

    run()
    before = ms.memory_usage()["allocated"]
    for _ in range(20):
        run()
    gc.collect()
    assert ms.memory_usage()["allocated"] == before


def test_long_chains():
    y = w = Parameter(Tensor([1.0]), name="w")
    for _ in range(50_000):
        y = y + 1.0
    y.backward()
    close(w.grad, [1])


def test_in_place_is_recorded():
    def run(x):
        y = x * 2
        y += x
        y[0] = 0
        return (y * y).sum()

    close(ms.grad(run)(X), [0, 18 * 2, 18 * 3])


def test_the_name_of_a_custom_gradient_outlives_its_class() -> None:
    """The error of a second walk names the first one's function, which is gone by then."""

    w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")

    def recorded(name: str) -> ms.Tensor:
        def construct(self: nn.Cell, x: ms.Tensor) -> ms.Tensor:
            return x * 2

        def bprop(self: nn.Cell, x: ms.Tensor, out: ms.Tensor, g: ms.Tensor) -> tuple:
            return (g * 2,)

        cell = type(name, (nn.Cell,), {"construct": construct, "bprop": bprop})()
        return cell(w * 1.0)

    y = recorded("Doubled" + "X" * 40)
    y.backward()
    with pytest.raises(RuntimeError, match=r"taken before.*at DoubledX{40}"):
        y.backward()


class Squared(nn.Cell):
    """x * x with a gradient of its own."""

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return x * x

    def bprop(self, x: ms.Tensor, out: ms.Tensor, dout: ms.Tensor) -> ms.Tensor:
        return 2 * x * dout


class SquaredFunction(ms.Function):
    @staticmethod
    def forward(ctx: ms.Function, x: ms.Tensor) -> ms.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: ms.Function, grad: ms.Tensor) -> ms.Tensor:
        return 2 * ctx.saved_tensors[0] * grad


@ms.host_callback(out=ms.TensorSpec((2,), ms.float32), vjp=lambda x, g: 2 * x * g)
def squared_outside(x: np.ndarray) -> np.ndarray:
    return x * x


@pytest.mark.parametrize("square", [Squared(), SquaredFunction.apply, squared_outside])
def test_gradients_in_python_see_the_values_of_the_call(square: Callable) -> None:
    def value(x: ms.Tensor) -> ms.Tensor:
        z = x * 2
        y = square(z).sum()
        z += 1
        z[0] = 7
        return y

    x = ms.Tensor([0.5, -1.5], ms.float32)
    for fn in (ms.grad(value), ms.jit(ms.grad(value))):
        assert fn(x).tolist() == [4, -12]


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([0.5, -1.5]), name="w")

    def construct(self, x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
        return ops.tanh(x * self.w) * y


def test_recomputed_cells_share_parameters_with_what_is_before_them() -> None:
    """The gradient of the second run ends at the Cell's inputs, as they were at the call."""
    found = []
    for again in (False, True):
        net = Scaled()
        if again:
            net.recompute()

        def loss(net: Scaled = net) -> ms.Tensor:
            x = net.w * 2 + 1
            y = net(x, x).sum()
            x += 1
            return y

        first = ms.grad(loss, None, [net.w])
        second = ms.grad(lambda f=first: (f()[0] ** 2).sum(), None, [net.w])
        loss().backward()
        found.append([net.w.grad.tolist(), first()[0].tolist(), second()[0].tolist()])
    np.testing.assert_allclose(*found, rtol=1e-6)
