"""Kinds of error that users of other frameworks reported: gradients and mixed precision."""

from __future__ import annotations

import copy

import numpy as np
from reports import both, f32, i32

import diptych as ms
from diptych import nn, ops

# Clipping when the squared norm overflows (pytorch#46849).


def test_clipping_when_the_norm_overflows() -> None:
    clip = lambda *g: ops.clip_by_global_norm(g, 1.0)  # noqa: E731
    clipped = both(clip, f32(np.full(64, 2e20)))
    np.testing.assert_allclose(clipped[0].asnumpy(), 0.125, rtol=1e-5)
    bad = (f32([1.0, np.inf]), f32([2.0]))
    assert not bool(ms.amp.all_finite(bad))
    clipped = both(clip, *bad)
    assert not np.isfinite(clipped[0].asnumpy()).all()


# Loss scaling: a skipped step is told and changes nothing (pytorch#67590).


class Scaled:
    """A training step with a dynamic loss scale, eager or compiled."""

    def __init__(self, compiled: bool) -> None:
        ms.set_seed(0)
        self.net = nn.Dense(3, 1, weight_init="ones")
        self.opt = nn.Adam(self.net.trainable_params(), nn.ExponentialDecayLR(1e-2, 0.9, 1))
        self.scaler = ms.amp.DynamicLossScaler(2.0**15, 2, 2)
        grad = ms.value_and_grad(self.loss, None, self.opt.parameters)

        def step(x: ms.Tensor) -> ms.Tensor:
            loss, grads = grad(x)
            grads = self.scaler.unscale(grads)
            finite = ms.amp.all_finite(grads)
            if finite:
                self.opt(grads)
            self.scaler.adjust(finite)
            return finite

        self.step = ms.jit(step) if compiled else step

    def loss(self, x: ms.Tensor) -> ms.Tensor:
        return self.scaler.scale(self.net(x).astype(ms.float16)).sum()

    def state(self) -> list:
        parameters = [*self.net.get_parameters(), *self.opt.get_parameters()]
        return [p.asnumpy().tolist() for p in parameters]


def test_a_skipped_step() -> None:
    good, overflow = f32(np.ones((2, 3))), f32(np.full((2, 3), np.inf))
    traces = []
    for compiled in (False, True):
        s = Scaled(compiled)
        before, trace = s.state(), []
        for batch in [overflow] * 40 + [good] * 45:
            trace.append((bool(s.step(batch)), float(s.scaler.scale_value)))
            if batch is overflow:
                assert s.state() == before
        assert trace[0] == (False, 2.0**14)
        assert all(np.isfinite(scale) and scale > 0 for _, scale in trace)
        assert trace[40][0] and trace[44][1] > trace[40][1] and s.state() != before
        traces.append(trace)
    assert traces[0] == traces[1]


# where with a bad value in the branch not chosen (jax#347, tensorflow#38349).


def test_where_with_a_bad_branch() -> None:
    def bare(x: ms.Tensor) -> ms.Tensor:
        return ops.where(x > 0, ops.sqrt(x), ops.zeros_like(x)).sum()

    def guarded(x: ms.Tensor) -> ms.Tensor:
        s = ops.where(x > 0, x, ops.ones_like(x))
        return ops.where(x > 0, ops.sqrt(s), ops.zeros_like(x)).sum()

    x = f32([0.0, -1.0, 4.0])
    assert both(ms.grad(guarded), x).asnumpy().tolist() == [0.0, 0.0, 0.25]
    g = both(ms.grad(bare), x).asnumpy()
    assert np.isnan(g[:2]).all() and g[2] == 0.25


# The norm at the zero vector (pytorch#2421; jax#4177, #26248).


def test_the_norm_at_zero() -> None:
    z = f32([0.0, 0.0, 0.0])
    assert both(ms.grad(lambda x: ops.norm(x)), z).asnumpy().tolist() == [0.0] * 3
    assert both(ms.grad(lambda x: (x * x).sum()), z).asnumpy().tolist() == [0.0] * 3
    assert both(ms.grad(lambda x: ops.norm(x) ** 2), z).asnumpy().tolist() == [0.0] * 3
    assert float(both(ms.grad(lambda a, z: ops.norm(a * z)), f32(1.3), z)) == 0.0


# Equal values in maximum and max (onnxruntime#7217, pytorch#155071).


def test_equal_values_share_one_gradient() -> None:
    a, b = f32([1.0, 1.0]), f32([1.0, 0.0])
    ga, gb = both(ms.grad(lambda a, b: ops.maximum(a, b).sum(), (0, 1)), a, b)
    assert (ga + gb).asnumpy().tolist() == [1.0, 1.0]
    g = both(ms.grad(lambda x: ops.amax(x)), f32([1.0, 1.0, 2.0, 2.0])).asnumpy()
    assert abs(g.sum() - 1) < 1e-6 and (g[:2] == 0).all()
    assert both(ms.grad(lambda x: ops.maximum(x, x).sum()), f32([3.0])).asnumpy()[0] == 1.0


# Overwriting part of a result that the backward needs (pytorch#9391).


def test_overwriting_a_result_that_its_gradient_needs() -> None:
    def named(x: ms.Tensor) -> ms.Tensor:
        y = ops.sigmoid(x)
        y[2] = 3.0
        return y.sum()

    def spelled(x: ms.Tensor) -> ms.Tensor:
        y = 1 / (1 + ops.exp(-x))
        y[2] = 3.0
        return y.sum()

    for fn in (named, spelled):
        g = both(ms.grad(fn), f32([0.0, 1.0, -1.0])).asnumpy()
        np.testing.assert_allclose(g, [0.25, 0.196612, 0.0], rtol=1e-4)


# Cross entropy when every target is ignored (pytorch#70348, #63004).


def test_cross_entropy_with_ignored_targets() -> None:
    x = f32(np.random.RandomState(0).randn(2, 3))
    none, mixed = i32([-100, -100]), i32([-100, 1])

    def loss(reduction: str):
        return lambda x, t: ops.cross_entropy(x, t, ignore_index=-100, reduction=reduction)

    assert float(both(loss("sum"), x, none)) == 0.0
    assert (both(ms.grad(loss("sum")), x, none).asnumpy() == 0).all()
    assert (both(loss("none"), x, none).asnumpy() == 0).all()
    assert np.isnan(float(both(loss("mean"), x, none)))
    one = both(lambda x, t: ops.cross_entropy(x[1:], t[1:]), x, mixed)
    np.testing.assert_allclose(both(loss("mean"), x, mixed).asnumpy(), one.asnumpy(), rtol=1e-6)
    big = f32([[1e4, -1e4, 0.0]])
    assert float(both(lambda x, t: ops.cross_entropy(x, t), big, i32([1]))) == 2e4


# Weight tying and checkpoints (pytorch#188346).


class Tied(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(5, 4)
        self.out = nn.Dense(4, 5, has_bias=False)
        self.out.weight = self.emb.embedding_table

    def construct(self, i: ms.Tensor) -> ms.Tensor:
        return self.out(self.emb(i)).sum()


def test_tied_weights(tmp_path) -> None:
    path = str(tmp_path / "tied.safetensors")
    first, loaded = Tied(), Tied()
    assert len(first.trainable_params()) == 1
    ms.save_checkpoint(first, path)
    ms.load_param_into_net(loaded, ms.load_checkpoint(path))
    copied = copy.deepcopy(loaded)
    i = i32([1])
    w = first.emb.embedding_table.asnumpy().astype(np.float64)
    wanted = np.tile(w[1], (5, 1))
    wanted[1] += w.sum(0)
    for net in (first, loaded, copied):
        assert net.out.weight is net.emb.embedding_table and len(net.trainable_params()) == 1
        for fn in (net, ms.jit(net)):
            (g,) = ms.grad(fn, None, net.trainable_params())(i)
            np.testing.assert_allclose(g.asnumpy(), wanted, rtol=1e-5)
        nn.SGD(net.trainable_params(), 0.1)((g,))
        np.testing.assert_allclose(net.out.weight.asnumpy(), w - 0.1 * wanted, rtol=1e-5, atol=1e-6)


# The gradient through a while loop whose count is data (jax#2129, #8239).


def test_the_gradient_through_a_counted_loop() -> None:
    def f(x: ms.Tensor, n: ms.Tensor) -> ms.Tensor:
        i = ms.Tensor(0, ms.int32)
        while i < n:
            x = x * x
            i = i + 1
        return x

    for n, wanted in ((0, 1.0), (1, 2.2), (3, 8 * 1.1**7)):
        g = both(ms.grad(f), f32(1.1), i32(n))
        np.testing.assert_allclose(float(g), wanted, rtol=1e-4)
    assert float(ms.jit(ms.grad(f))(f32(1.0), i32(100))) == 2.0**100
