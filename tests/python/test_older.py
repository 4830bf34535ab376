"""Primitives of detectors, sampled classes and optimiser steps against NumPy in double."""

import numpy as np
import pytest

import diptych as ms
from diptych import ops

RNG = np.random.default_rng(41)


def f32(x):
    return np.asarray(x, np.float32)


def boxes(n):
    low = RNG.uniform(0, 50, (n, 2))
    return f32(np.hstack([low, low + RNG.uniform(1, 40, (n, 2))]))


def encode(a, g, means, stds):
    aw, gw = a[:, 2:] - a[:, :2] + 1, g[:, 2:] - g[:, :2] + 1
    ac, gc = (a[:, 2:] + a[:, :2]) / 2, (g[:, 2:] + g[:, :2]) / 2
    return (np.hstack([(gc - ac) / aw, np.log(gw / aw)]) - means) / stds


def test_boxes_are_encoded_and_decoded():
    a, g = boxes(6), boxes(6)
    means, stds = (0.1, 0.2, 0.0, -0.1), (0.5, 1.0, 2.0, 0.7)
    got = ops.BoundingBoxEncode(means, stds)(ms.Tensor(a), ms.Tensor(g))
    want = encode(a.astype(float), g.astype(float), means, stds)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)
    back = ops.BoundingBoxDecode((200, 300), means, stds)(ms.Tensor(a), got)
    np.testing.assert_allclose(back.asnumpy(), g, rtol=1e-4, atol=1e-3)
    small = ops.bounding_box_decode(ms.Tensor(a), got, (20, 30), means, stds).asnumpy()
    assert (small <= [29, 19, 29, 19]).all() and (small >= 0).all()
    far = ops.bounding_box_decode(ms.Tensor(f32([[0, 0, 9, 9]])), ms.Tensor(f32([[0, 0, 99, -99]])),
                                  (10**6, 10**6))  # fmt: skip
    assert far.asnumpy()[0, 2] <= 10 / 0.016 / 2 + 5


def test_valid_boxes():
    b = f32([[0, 0, 9, 19], [-1, 0, 5, 5], [0, 0, 10, 5], [0, 0, 5, 20]])
    got = ops.CheckValid()(ms.Tensor(b), ms.Tensor(f32([10, 5, 2])))
    assert got.tolist() == [True, False, False, False]


@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("hits", [True, False])
def test_sampled_classes(unique, hits):
    true = ms.Tensor(np.array([[1, 3], [3, 5]], np.int64))
    net = ops.UniformCandidateSampler(2, 4, unique, 8, 3, hits)
    drawn, of_true, of_drawn = net(true)
    values = drawn.asnumpy()
    assert drawn.dtype == ms.int64 and ((0 <= values) & (values < 8)).all()
    assert not unique or len(set(values.tolist())) == 4
    assert not hits or not set(values.tolist()) & {1, 3, 5}
    assert drawn.tolist() == net(true)[0].tolist()  # the seed
    np.testing.assert_array_equal(of_true.asnumpy(), np.full((2, 2), 0.5))
    np.testing.assert_array_equal(of_drawn.asnumpy(), np.full(4, 0.5))


@pytest.mark.parametrize("n", [1, 6, 9])
def test_blackman_window(n):
    np.testing.assert_allclose(
        ops.blackman_window(n, False).asnumpy(), np.blackman(n), rtol=1e-5, atol=1e-6
    )
    want = np.blackman(n + 1)[:-1] if n > 1 else [1.0]
    np.testing.assert_allclose(ops.blackman_window(n).asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_small_primitives():
    x = ms.Tensor(f32([[1, 5, 2], [7, 0, 3]]))
    assert ops.Argmax()(x).tolist() == [1, 0] and ops.Argmax(0, ms.int64)(x).dtype == ms.int64
    assert ops.Argmin(1)(x).tolist() == [0, 1] and ops.Argmin()(x).dtype == ms.int32
    assert ops.Invert()(ms.Tensor([0, 5], ms.int32)).tolist() == [-1, -6]
    assert ops.DataFormatDimMap()(ms.Tensor([-4, -1, 1, 3], ms.int32)).tolist() == [0, 2, 3, 2]
    assert ops.inv(ms.Tensor(4.0)).item() == 0.25


@pytest.mark.parametrize("unique", [True, False])
def test_log_uniform_classes(unique):
    ms.set_seed(5)
    true, n = ms.Tensor(np.array([[1, 9]], np.int32)), 8
    p = np.log((np.arange(10) + 2) / (np.arange(10) + 1)) / np.log(n + 1)
    seen, tries = np.zeros(n), []
    for _ in range(300):
        drawn, of_true, of_drawn = ops.log_uniform_candidate_sampler(true, 2, 4, unique, n)
        values = drawn.asnumpy()
        assert drawn.dtype == ms.int32 and not unique or len(set(values.tolist())) == 4
        seen += np.bincount(values, minlength=n)
        if unique:
            tries.append(np.log1p(-of_true.asnumpy()[0, 0].astype(float)) / np.log1p(-p[1]))
            assert abs(tries[-1] - round(tries[-1])) < 1e-2 and tries[-1] > 3.9
            want = 1 - (1 - p) ** round(tries[-1])
        else:
            want = 4 * p
        np.testing.assert_allclose(of_true.asnumpy(), [want[[1, 9]]], rtol=1e-4)
        np.testing.assert_allclose(of_drawn.asnumpy(), want[values], rtol=1e-4)
    if unique:  # each first draw has the probabilities p: a class is drawn before those after it
        assert (np.diff(seen) < 30).all() and seen[0] > 2 * seen[-1] and 5 < np.mean(tries) < 9
    else:  # 5 deviations of 1200 draws
        assert (abs(seen - 1200 * p[:n]) < 5 * np.sqrt(1200 * p[:n] * (1 - p[:n]))).all()


def test_primitives_of_three_axes():
    x, w = ms.Tensor(f32(RNG.random((1, 2, 4, 4, 4)))), ms.Tensor(f32(RNG.random((3, 2, 2, 2, 2))))
    got = ops.Conv3D(3, 2, pad_mode="pad", pad=1)(x, w)
    np.testing.assert_allclose(
        got.asnumpy(), ops.conv3d(x, w, pad_mode="pad", padding=1).asnumpy(), rtol=1e-5
    )
    back = ops.Conv3DTranspose(3, 2, 2, pad_mode="pad", pad=1)(got, w)
    want = ops.conv3d_transpose(got, w, padding=1)
    np.testing.assert_allclose(back.asnumpy(), want.asnumpy(), rtol=1e-5)
    mean = ops.AvgPool3D(2, 2)(x).asnumpy()
    blocks = x.asnumpy().reshape(1, 2, 2, 2, 2, 2, 2, 2).mean((3, 5, 7))
    np.testing.assert_allclose(mean, blocks, rtol=1e-5)


@pytest.mark.parametrize(("primitive", "shape"), [
    (ops.Dropout2D, (30, 20, 3, 4)), (ops.Dropout3D, (30, 20, 2, 3, 2))])  # fmt: skip
def test_dropout_shows_its_mask(primitive, shape):
    y, mask = primitive(0.75)(ops.ones(shape))
    mask, y = mask.asnumpy().reshape(600, -1), y.asnumpy().reshape(600, -1)
    assert (mask == mask[:, :1]).all() and abs(mask[:, 0].mean() - 0.75) < 0.08
    np.testing.assert_allclose(y, mask / 0.75, rtol=1e-6)


# ---- steps: name, settings, extra arguments before the gradient (by name), reference


def shrink(prox, rate, l1, l2):
    return np.sign(prox) * np.maximum(np.abs(prox) - rate * l1, 0) / (1 + rate * l2)


def adagrad_da(w, a, s, g, lr, l1, l2, t):
    a, s = a + g, s + g * g
    pull = np.sign(a) * np.maximum(np.abs(a) - l1 * t, 0)
    return -lr * pull / (l2 * t * lr + np.sqrt(s)), a, s


def adadelta(w, a, u, lr, rho, eps, g):
    a = rho * a + (1 - rho) * g * g
    step = np.sqrt(u + eps) / np.sqrt(a + eps) * g
    return w - lr * step, a, rho * u + (1 - rho) * step**2


def ada_max(w, m, v, power, lr, b1, b2, eps, g):
    m, v = b1 * m + (1 - b1) * g, np.maximum(b2 * v, np.abs(g))
    return w - lr / (1 - power) * m / (v + eps), m, v


def adam(w, m, v, p1, p2, lr, b1, b2, eps, g, nesterov=False):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
    step = b1 * m + (1 - b1) * g if nesterov else m
    return w - lr * np.sqrt(1 - p2) / (1 - p1) * step / (np.sqrt(v) + eps), m, v


def amsgrad(w, m, v, top, p1, p2, lr, g):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    top = np.maximum(top, v)
    return w - lr * np.sqrt(1 - p2) / (1 - p1) * m / (np.sqrt(top) + 1e-8), m, v, top


def power_sign(w, m, lr, base, decay, beta, g):
    m = beta * m + (1 - beta) * g
    return w - lr * np.exp(base * decay * np.sign(g) * np.sign(m)) * g, m


def ftrl(w, a, z, g, lr, l1, l2, power):
    total = a + g * g
    z = z + g - (total**-power - a**-power) / lr * w
    new = np.where(np.abs(z) > l1, (np.sign(z) * l1 - z) / (total**-power / lr + 2 * l2), 0)
    return (new,), (total, z)


G = "gradient"
STEPS = [
    ("ApplyGradientDescent", 0, (0.1, G), lambda w, r, g: (w - r * g,)),
    ("ApplyProximalGradientDescent", 0, (0.1, 0.5, 0.3, G),
     lambda w, r, l1, l2, g: (shrink(w - r * g, r, l1, l2),)),
    ("ApplyAdagrad", 1, (0.1, G),
     lambda w, a, r, g: (w - r * g / np.sqrt(a + g * g), a + g * g)),
    ("ApplyAdagradV2", 1, (0.1, G),
     lambda w, a, r, g: (w - r * g / (np.sqrt(a + g * g) + 1e-6), a + g * g)),
    ("ApplyProximalAdagrad", 1, (0.1, 0.5, 0.3, G), lambda w, a, r, l1, l2, g: (
        shrink(w - r * g / np.sqrt(a + g * g), r / np.sqrt(a + g * g), l1, l2), a + g * g)),
    ("Adam", 2, (0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, G), adam),
    ("ApplyAdagradDA", 2, (G, 0.1, 0.2, 0.3, 2), adagrad_da),
    ("ApplyAdadelta", 2, (0.1, 0.9, 1e-6, G), adadelta),
    ("ApplyAdaMax", 2, (0.9, 0.1, 0.9, 0.99, 1e-8, G), ada_max),
    ("ApplyAdamWithAmsgrad", 3, (0.9, 0.999, 0.1, G), amsgrad),
    ("ApplyPowerSign", 1, (0.1, 0.7, 0.9, 0.8, G), power_sign),
    ("ApplyFtrl", 2, (G, 0.1, 0.2, 0.3, -0.5), lambda *args: ftrl(*args)[0]),
]  # fmt: skip


def test_nesterov_step_of_adam():
    w, m, v, g = (RNG.uniform(0.1, 1, 8) for _ in range(4))
    rest = (0.9, 0.999, 0.1, 0.9, 0.999, 1e-8)
    variables = [ms.Parameter(x) for x in (w, m, v)]
    ops.Adam(use_nesterov=True)(*variables, *rest, ms.Tensor(g))
    want = adam(w, m, v, *rest, g, nesterov=True)
    for variable, expected in zip(variables, want, strict=True):
        np.testing.assert_allclose(variable.asnumpy(), expected, rtol=1e-12)


@pytest.mark.parametrize(("name", "slots", "rest", "reference"), STEPS, ids=[s[0] for s in STEPS])
def test_steps(name, slots, rest, reference):
    w, g = RNG.standard_normal(8), RNG.standard_normal(8)
    state = [RNG.uniform(0.1, 1, 8) for _ in range(slots)]
    given = [g if r is G else r for r in rest]
    variables = [ms.Parameter(f32(v)) for v in (w, *state)]
    want = reference(*(f32(v).astype(float) for v in (w, *state)),
                     *(f32(r).astype(float) if r is g else r for r in given))  # fmt: skip
    got = getattr(ops, name)()(*variables, *(ms.Tensor(f32(r)) if r is g else r for r in given))
    got = got if isinstance(got, tuple) else (got,)
    for value, variable, expected in zip(got, variables, want, strict=False):
        np.testing.assert_allclose(value.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(variable.asnumpy(), value.asnumpy())


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: ops.bounding_box_encode(ops.ones((2, 3)), ops.ones((2, 3))), ValueError, r"\(n, 4\)"),
    (lambda: ops.BoundingBoxEncode((0.0,))(ops.ones((2, 4)), ops.ones((2, 4))), TypeError,
     "means is"),
    (lambda: ops.check_valid(ops.ones((2, 4)), ops.ones(2)), ValueError, r"\(n, 4\) and \(3,\)"),
    (lambda: ops.uniform_candidate_sampler(ops.ones((2, 2), ms.int32), 2, 9, True, 8), ValueError,
     "range_max the larger one"),
    (lambda: ops.blackman_window(-1), ValueError, "window_length is -1"),
    (lambda: ops.Dropout2D(2.0)(ops.ones((1, 1, 2, 2))), ValueError, "keep_prob is 2.0"),
    (lambda: ops.DataFormatDimMap("NHW")(ops.ones(1, ms.int32)), ValueError, "format 'NHW'"),
    (lambda: ops.ApplyFtrl("yes")(*[ops.ones(1)] * 4), TypeError, "use_locking is 'yes'"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_rows_of_a_cache():
    table = ms.Parameter(f32(np.arange(10).reshape(5, 2)), name="table")
    rows = f32(-np.arange(8).reshape(4, 2))
    places = ms.Tensor(np.array([[3, -1, 7, 0]], np.int32))
    assert ops.UpdateCache()(table, places, ms.Tensor(rows), 4).tolist() == [0]
    want = f32(np.arange(10).reshape(5, 2))
    want[3], want[0] = rows[0], rows[3]
    np.testing.assert_array_equal(table.asnumpy(), want)


def test_a_vector_as_the_weight_of_dense():
    x, w, b = RNG.normal(size=(2, 3)), RNG.normal(size=3), RNG.normal()
    got = ops.Dense()(ms.Tensor(x), ms.Tensor(w), ms.Tensor(b, ms.float64))
    np.testing.assert_allclose(got.asnumpy(), x @ w + b, rtol=1e-12)
    np.testing.assert_allclose(ops.Dense()(ms.Tensor(x[0]), ms.Tensor(w)).item(), x[0] @ w)


def test_attributes_at_the_call():
    x = ms.Tensor(f32([[1, 2], [3, 4]]))
    assert ops.CumProd()(x, 1).tolist() == [[1, 2], [3, 12]]
    assert ops.CumProd(True, True)(x, 0).tolist() == [[3, 4], [1, 1]]
    assert ops.ConjugateTranspose()(x, (1, 0)).tolist() == [[1, 3], [2, 4]]
