"""Every optimiser over several steps against its formula in double: signatures, defaults, first
states, groups, filters and schedules. The formulas of single steps are reference/update.py's."""

import copy
import pickle

import numpy as np
import pytest
from reference import update

import diptych as ms
from diptych import nn, ops

STEPS = 5
RNG = np.random.default_rng(3)
START = RNG.standard_normal((4, 3))
GRADIENTS = RNG.standard_normal((STEPS, 4, 3))


def parameter(name="w", dtype=ms.float32):
    return ms.Parameter(ms.Tensor(START, dtype), name=name)


def train(optimizer, gradients=GRADIENTS, dtype=ms.float32):
    for g in gradients:
        many = tuple(ms.Tensor(g, dtype) for _ in optimizer.parameters)
        assert optimizer(many) is True
    return optimizer.parameters[0].astype(ms.float64).asnumpy()


def formula(step, states, numbers, **attributes):
    """The parameter after all steps: step(param, *states, grad, *numbers(t))."""
    values = [START, *(np.full_like(START, s) for s in states)]
    for t, g in enumerate(GRADIENTS, 1):
        made = step(*values, g, *numbers(t), **attributes)
        values = list(made) if isinstance(made, tuple) else [made]
    return values[0]


# optimiser, formula: defaults first, then every argument
CASES = {
    "sgd": (lambda p: nn.SGD(p), lambda: formula(update.sgd, (), lambda t: (0.1, 0, 1))),
    "momentum": (lambda p: nn.Momentum(p, 0.1, 0.9, 0.1, 2.0, True),
                 lambda: formula(update.momentum, [0], lambda t: (0.1, 0.9, 0, 0.1, 0.5),
                                 use_nesterov=True)),
    "sgd-dampened": (lambda p: nn.SGD(p, 0.1, 0.9, 0.3, 0.1),
                     lambda: formula(update.momentum, [0],
                                     lambda t: (0.1, 0.9, 0.3 * (t > 1), 0.1, 1))),
    "adam": (lambda p: nn.Adam(p),
             lambda: formula(update.adam, [0, 0], lambda t: (1e-3, t, 0.9, 0.999, 1e-8, 0, 1))),
    "adam-all": (lambda p: nn.Adam(p, 0.1, 0.8, 0.9, 1e-4, False, True, 0.1, 2.0),
                 lambda: formula(update.adam, [0, 0], lambda t: (0.1, t, 0.8, 0.9, 1e-4, 0.1, 0.5),
                                 use_nesterov=True)),
    "adam-lazy": (lambda p: nn.Adam(p, use_lazy=True),
                  lambda: formula(update.adam, [0, 0],
                                  lambda t: (1e-3, t, 0.9, 0.999, 1e-8, 0, 1))),
    "amsgrad": (lambda p: nn.Adam(p, 0.1, use_amsgrad=True),
                lambda: formula(update.adam_amsgrad, [0, 0, 0],
                                lambda t: (0.1, t, 0.9, 0.999, 1e-8, 0, 1))),
    "adamw": (lambda p: nn.AdamW(p),
              lambda: formula(update.adamw, [0, 0],
                              lambda t: (1e-3, t, 0.9, 0.999, 1e-8, 0.01, 1))),
    "bert": (lambda p: nn.AdamWeightDecay(p, 0.1, 0.8, 0.9, 1e-4, 0.1),
             lambda: formula(update.adam_weight_decay, [0, 0],
                             lambda t: (0.1, 0.8, 0.9, 1e-4, 0.1, 1))),
    "rmsprop": (lambda p: nn.RMSProp(p),
                lambda: formula(update.rmsprop, [1, 0], lambda t: (0.1, 0.9, 0, 1e-10, 0, 1))),
    "rmsprop-centered": (lambda p: nn.RMSProp(p, 0.05, 0.8, 0.5, 1e-3, False, True, 2.0, 0.1),
                         lambda: formula(update.rmsprop_centered, [1, 0, 0],
                                         lambda t: (0.05, 0.8, 0.5, 1e-3, 0.1, 0.5))),
    "adagrad": (lambda p: nn.Adagrad(p),
                lambda: formula(update.adagrad, [0.1], lambda t: (0.001, 0, 0, 1))),
    "adagrad-kept": (lambda p: nn.Adagrad(p, 0.5, 0.1, False, 2.0, 0.1),
                     lambda: formula(update.adagrad, [0.5], lambda t: (0.1, 0, 0.1, 0.5),
                                     update_slots=False)),
    "adadelta": (lambda p: nn.Adadelta(p),
                 lambda: formula(update.adadelta, [0, 0], lambda t: (1, 0.9, 1e-6, 0, 1))),
    "adadelta-all": (lambda p: nn.Adadelta(p, 0.5, 0.8, 1e-3, 2.0, 0.1),
                     lambda: formula(update.adadelta, [0, 0],
                                     lambda t: (0.5, 0.8, 1e-3, 0.1, 0.5))),
    "adamax": (lambda p: nn.AdaMax(p),
               lambda: formula(update.adamax, [0, 0],
                               lambda t: (1e-3, t, 0.9, 0.999, 1e-8, 0, 1))),
    "adamax-all": (lambda p: nn.AdaMax(p, 0.1, 0.8, 0.9, 1e-3, 0.1, 2.0),
                   lambda: formula(update.adamax, [0, 0],
                                   lambda t: (0.1, t, 0.8, 0.9, 1e-3, 0.1, 0.5))),
    "nadam": (lambda p: nn.NAdam(p),
              lambda: formula(update.nadam, [0, 0],
                              lambda t: (2e-3, t, 0.9, 0.999, 1e-8, 4e-3, 0, 1))),
    "lamb": (lambda p: nn.Lamb(p, 0.1),
             lambda: formula(update.lamb, [0, 0], lambda t: (0.1, t, 0.9, 0.999, 1e-6, 0, 1))),
    "lamb-all": (lambda p: nn.Lamb(p, 0.1, 0.8, 0.9, 1e-3, 0.1),
                 lambda: formula(update.lamb, [0, 0], lambda t: (0.1, t, 0.8, 0.9, 1e-3, 0.1, 1))),
    "ftrl": (lambda p: nn.FTRL(p),
             lambda: formula(update.ftrl, [0.1, 0], lambda t: (0.001, 0, 0, -0.5, 0, 1))),
    "ftrl-all": (lambda p: nn.FTRL(p, 0.2, 0.5, -0.7, 0.1, 0.2, False, 2.0, 0.1),
                 lambda: formula(update.ftrl, [0.2, 0],
                                 lambda t: (0.5, 0.1, 0.2, -0.7, 0.1, 0.5))),
    "rprop": (lambda p: nn.Rprop(p),
              lambda: formula(update.rprop, [0, 0],
                              lambda t: (0.1, t, 0.5, 1.2, 1e-6, 50, 0, 1))),
    "rprop-all": (lambda p: nn.Rprop(p, 0.3, (0.4, 1.5), (0.2, 0.5), 0.1),
                  lambda: formula(update.rprop, [0, 0],
                                  lambda t: (0.3, t, 0.4, 1.5, 0.2, 0.5, 0.1, 1))),
    "asgd": (lambda p: nn.ASGD(p),
             lambda: formula(update.asgd, [0], lambda t: (0.1, t, 1e-4, 0.75, 1e6, 0, 1))),
    "asgd-all": (lambda p: nn.ASGD(p, 0.2, 0.01, 0.6, 2.0, 0.1),
                 lambda: formula(update.asgd, [0], lambda t: (0.2, t, 0.01, 0.6, 2, 0.1, 1))),
}


@pytest.mark.parametrize("name", CASES)
def test_against_the_formula(name):
    make, want = CASES[name]
    np.testing.assert_allclose(train(make([parameter()])), want(), rtol=2e-5, atol=3e-6)


@pytest.mark.parametrize("name", CASES)
def test_half_weights_have_wide_states(name):
    make, want = CASES[name]
    optimizer = make([parameter(dtype=ms.bfloat16)])
    got = train(optimizer, dtype=ms.bfloat16)
    states = [p for p in optimizer.get_parameters() if p.name.endswith(".w")]
    assert all(s.dtype == ms.float32 for s in states)
    if "rprop" not in name:  # signs turn where rounding says so
        np.testing.assert_allclose(got, want(), atol=0.05)


def test_asgd_averages_from_t0_on():
    optimizer = nn.ASGD([parameter()], 0.1, t0=1.0)
    values = [train(optimizer, [g]) for g in GRADIENTS]
    # the average is the last parameter until step t0 + 2, a plain mean from there on
    np.testing.assert_allclose(optimizer.ax[0].asnumpy(), np.mean(values[2:], 0), rtol=1e-5)


def lars(coefficient, epsilon, decay, lr, clip):
    w, v = START, np.zeros_like(START)
    for g in GRADIENTS:
        size, slope = np.linalg.norm(w), np.linalg.norm(g)
        ratio = coefficient * size / (slope + decay * size + epsilon)
        ratio = min(ratio / lr, 1) if clip else ratio
        v = 0.9 * v + (g + decay * w) * ratio
        w = w - lr * v
    return w


@pytest.mark.parametrize("clip", [False, True])
def test_lars_scales_gradients_and_takes_the_decay_over(clip):
    inner = nn.Momentum([parameter(), parameter("bias")], 0.1, 0.9, weight_decay=0.05)
    optimizer = nn.LARS(inner, 1e-5, 0.02, clip)
    np.testing.assert_allclose(train(optimizer), lars(0.02, 1e-5, 0.05, 0.1, clip), rtol=1e-5)
    plain = nn.Momentum([parameter()], 0.1, 0.9)
    np.testing.assert_array_equal(optimizer.parameters[1].asnumpy(), train(plain).astype("f4"))
    assert optimizer.global_step.tolist() == [STEPS]


# ---- groups and filters


def test_groups_have_rates_and_decays_of_their_own():
    a, b, c = parameter("a"), parameter("b"), parameter("c")
    groups = [{"params": [a], "lr": 0.5, "weight_decay": 0.1}, {"params": [b], "weight_decay": 0.2},
              {"params": [c]}, {"order_params": [c, a, b]}]
    optimizer = nn.SGD(groups, 0.1, weight_decay=0.3)
    assert [p.name for p in optimizer.parameters] == ["c", "a", "b"]
    assert [round(float(r), 6) for r in optimizer.get_lr()] == [0.1, 0.5, 0.1]
    assert optimizer.get_weight_decay() == (0.3, 0.1, 0.2)
    assert optimizer.get_lr_parameter(a).name == "learning_rate_group_0"
    optimizer(tuple(ms.Tensor(k * GRADIENTS[0], ms.float32) for k in (3, 1, 2)))
    for p, k, lr, decay in ((a, 1, 0.5, 0.1), (b, 2, 0.1, 0.2), (c, 3, 0.1, 0.3)):
        want = START - lr * (k * GRADIENTS[0] + decay * START)
        np.testing.assert_allclose(p.asnumpy(), want, rtol=1e-5, atol=1e-6)


def test_gradients_of_a_group_are_centralised():
    optimizer = nn.SGD([{"params": [parameter()], "grad_centralization": True}], 1.0)
    g = GRADIENTS[0]
    np.testing.assert_allclose(train(optimizer, [g]), START - (g - g.mean(1, keepdims=True)),
                               rtol=1e-5, atol=1e-6)


def test_shifts_and_scales_of_norms_do_not_decay():
    net = nn.SequentialCell(nn.Dense(3, 3), nn.LayerNorm((3,)))
    optimizer = nn.SGD(net.trainable_params(), 0.5, weight_decay=0.1)
    before = [p.asnumpy().copy() for p in optimizer.parameters]
    optimizer(tuple(ops.zeros_like(p) for p in optimizer.parameters))
    for p, old in zip(optimizer.parameters, before, strict=True):
        factor = 1.0 if p.name.endswith(("gamma", "beta")) else 0.95
        np.testing.assert_allclose(p.asnumpy(), factor * old, rtol=1e-6)


def test_weight_decay_may_follow_the_step():
    class Growing(nn.Cell):
        def construct(self, step):
            return step * 0.1

    w = START
    for t, g in enumerate(GRADIENTS):
        w = w - 0.1 * (g + 0.1 * t * w)
    got = train(nn.SGD([parameter()], 0.1, weight_decay=Growing()))
    np.testing.assert_allclose(got, w, rtol=1e-5, atol=1e-6)


# ---- learning rates

T = np.arange(9)
SCHEDULES = {
    "exponential": (nn.ExponentialDecayLR(0.1, 0.9, 4), 0.1 * 0.9 ** (T / 4)),
    "exponential-stair": (nn.ExponentialDecayLR(0.1, 0.9, 4, True), 0.1 * 0.9 ** (T // 4)),
    "natural": (nn.NaturalExpDecayLR(0.1, 0.9, 4), 0.1 * np.exp(-0.9 * T)),
    "natural-stair": (nn.NaturalExpDecayLR(0.1, 0.9, 4, True), 0.1 * np.exp(-0.9 * (T // 4 * 4))),
    "inverse": (nn.InverseDecayLR(0.1, 0.5, 4), 0.1 / (1 + 0.5 * T / 4)),
    "inverse-stair": (nn.InverseDecayLR(0.1, 0.5, 4, True), 0.1 / (1 + 0.5 * (T // 4))),
    "cosine": (nn.CosineDecayLR(0.01, 0.1, 6),
               0.01 + 0.045 * (1 + np.cos(np.pi * np.minimum(T, 6) / 6))),
    "polynomial": (nn.PolynomialDecayLR(0.1, 0.01, 6, 0.5),
                   0.09 * (1 - np.minimum(T, 6) / 6) ** 0.5 + 0.01),
    "polynomial-update": (nn.PolynomialDecayLR(0.1, 0.01, 3, 2.0, True),
                          0.09 * (1 - T / (3 * np.maximum(np.ceil(T / 3), 1))) ** 2 + 0.01),
    "warm-up": (nn.WarmUpLR(0.1, 5), 0.1 * np.minimum(T, 5) / 5),
    "function": (lambda step: 0.1 / (step + 1), 0.1 / (T + 1)),
    "list": ([0.3, 0.2, 0.1], np.array([0.3, 0.2, *[0.1] * 7])),
    "array": (np.array([0.3, 0.2]), np.array([0.3, *[0.2] * 8])),
    "tensor": (ms.Tensor([0.3, 0.2]), np.array([0.3, *[0.2] * 8])),
    "number": (ms.Tensor(0.3), np.full(9, 0.3)),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_follow_their_schedule(name):
    schedule, want = SCHEDULES[name]
    p = ms.Parameter(ms.Tensor([0.0]), name="w")
    optimizer = nn.SGD([p], schedule)
    rates = []
    for _ in T:
        rates.append(float(optimizer.get_lr()))
        before = p.item()
        optimizer((ms.Tensor([1.0]),))
        assert abs(before - p.item() - rates[-1]) < 1e-5
    np.testing.assert_allclose(rates, want, rtol=1e-5, atol=1e-7)


def test_rates_as_lists_by_epoch():
    epochs = np.repeat(np.arange(4), 2)
    for got, want in [
        (nn.exponential_decay_lr(0.1, 0.9, 8, 2, 3), 0.1 * 0.9 ** (epochs / 3)),
        (nn.exponential_decay_lr(0.1, 0.9, 8, 2, 3, True), 0.1 * 0.9 ** (epochs // 3)),
        (nn.natural_exp_decay_lr(0.1, 0.9, 8, 2, 3), 0.1 * np.exp(-0.9 * epochs)),
        (nn.natural_exp_decay_lr(0.1, 0.9, 8, 2, 3, True), 0.1 * np.exp(-0.9 * (epochs // 3 * 3))),
        (nn.inverse_decay_lr(0.1, 0.9, 8, 2, 3), 0.1 / (1 + 0.9 * epochs / 3)),
        (nn.inverse_decay_lr(0.1, 0.9, 8, 2, 3, True), 0.1 / (1 + 0.9 * (epochs // 3))),
        (nn.cosine_decay_lr(0.0, 0.1, 8, 2, 2),
         0.05 * (1 + np.cos(np.pi * np.minimum(epochs, 2) / 2))),
        (nn.polynomial_decay_lr(0.1, 0.01, 8, 2, 2, 0.5),
         0.09 * (1 - np.minimum(epochs, 2) / 2) ** 0.5 + 0.01),
        (nn.polynomial_decay_lr(0.1, 0.01, 8, 2, 2, 0.5, True),
         0.09 * (1 - epochs / (2 * np.maximum(np.ceil(epochs / 2), 1))) ** 0.5 + 0.01),
        (nn.warmup_lr(0.1, 8, 2, 2), 0.1 * np.minimum(epochs, 2) / 2),
        (nn.piecewise_constant_lr([2, 8], [0.1, 0.2]), np.array([0.1] * 2 + [0.2] * 6)),
    ]:
        assert isinstance(got, list)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_schedules_in_groups():
    a, b = parameter("a"), parameter("b")
    groups = [{"params": [a], "lr": nn.WarmUpLR(0.4, 2)}, {"params": [b], "lr": [0.1, 0.2]}]
    optimizer = nn.SGD(groups, 0.3)
    assert [round(float(r), 6) for r in optimizer.get_lr()] == [0.0, 0.1]
    train(optimizer, [GRADIENTS[0]])
    assert [round(float(r), 6) for r in optimizer.get_lr()] == [0.2, 0.2]


# ---- clipping


def test_clipping_survives_squares_that_overflow():
    big = ms.Tensor(np.full(4, 1e30), ms.float32)
    np.testing.assert_allclose(ops.clip_by_global_norm((big, big), 1.0)[1].asnumpy(), 8**-0.5,
                               rtol=1e-6)
    np.testing.assert_allclose(ops.clip_by_norm(big, 1.0).asnumpy(), 0.5, rtol=1e-6)
    half = ms.Tensor(np.full(4, 6e4), ms.float16)
    (clipped,) = ops.clip_by_global_norm([half], 1.0)
    assert clipped.dtype == ms.float16
    np.testing.assert_allclose(clipped.asnumpy(), 0.5, rtol=1e-3)


def test_clipping_against_numpy():
    x = [ms.Tensor(g, ms.float32) for g in GRADIENTS]
    size = np.linalg.norm(GRADIENTS)
    for limit in (0.5, 100.0):
        got = np.stack([t.asnumpy() for t in ops.clip_by_global_norm(x, limit)])
        np.testing.assert_allclose(got, GRADIENTS * min(1, limit / size), rtol=1e-5)
    got = np.stack([t.asnumpy() for t in ops.clip_by_norm(x, 2.0, 1.0)])
    np.testing.assert_allclose(got, GRADIENTS * 2 / np.abs(GRADIENTS).sum(), rtol=1e-4)
    got = ops.clip_by_value(x[0], -0.5, 0.5).asnumpy()
    np.testing.assert_allclose(got, np.clip(GRADIENTS[0], -0.5, 0.5), rtol=1e-6)
    with pytest.raises(ValueError, match="clip_norm is 0"):
        ops.clip_by_global_norm(x, 0)
    with pytest.raises(RuntimeError, match="the norm is nan"):
        ops.clip_by_norm(ms.Tensor([float("nan")]), 1.0, error_if_nonfinite=True)


# ---- as objects


def test_a_failing_step_changes_nothing():
    a, b = parameter("a"), parameter("b")
    optimizer = nn.Adam([{"params": [a], "lr": 0.1}, {"params": [b]}], 0.2)
    good, bad = ms.Tensor(GRADIENTS[0], ms.float32), ms.Tensor([1.0])
    with pytest.raises(ValueError, match=r"parameter 'b': adam: grad is float32\[1\]"):
        optimizer((good, bad))
    np.testing.assert_array_equal(a.asnumpy(), START.astype("f4"))
    assert optimizer.global_step.tolist() == [0]


def test_copies_go_on_by_themselves():
    optimizer = nn.Adam([parameter()], 0.1)
    train(optimizer, GRADIENTS[:2])
    for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        before = optimizer.parameters[0].asnumpy().copy()
        got = train(other, GRADIENTS[2:])
        np.testing.assert_array_equal(optimizer.parameters[0].asnumpy(), before)
        np.testing.assert_allclose(
            got, formula(update.adam, [0, 0], lambda t: (0.1, t, 0.9, 0.999, 1e-8, 0, 1)),
            rtol=2e-5, atol=2e-6)


def test_an_optimiser_of_ones_own():
    class Plain(nn.Optimizer):
        def construct(self, gradients):
            gradients = self.scale_grad(self.decay_weight(gradients))
            for p, g in zip(self.parameters, gradients, strict=True):
                p.set_data(p - self.get_lr() * g)
            return True

    got = train(Plain(0.1, [parameter()], 0.2, 4.0))
    np.testing.assert_allclose(got, formula(update.sgd, (), lambda t: (0.1, 0.2, 0.25)), rtol=1e-5)


def test_bad_settings_are_named():
    p = [parameter()]
    for error, make, text in [
        (KeyError, lambda: nn.SGD([{"params": p, "rate": 1}]), "'rate' of parameter group 0"),
        (KeyError, lambda: nn.SGD([{"lr": 0.1}]), "has no 'params'"),
        (ValueError, lambda: nn.SGD([{"params": p}, {"params": p}]), "given twice"),
        (ValueError, lambda: nn.SGD([{"params": p}, {"order_params": [parameter("x")] * 2}]),
         "'order_params'"),
        (ValueError, lambda: nn.SGD(p, []), "empty sequence"),
        (ValueError, lambda: nn.SGD(p, np.ones((2, 2))), "0 or 1 dimensions"),
        (TypeError, lambda: nn.SGD(p, "fast"), "'learning_rate' must be a number"),
        (TypeError, lambda: nn.SGD(parameter()), "must be a list of Parameters"),
        (ValueError, lambda: nn.Rprop(p, etas=(0.5, 0.9)), r"etas\[1\]"),
        (ValueError, lambda: nn.Rprop(p, step_sizes=(2.0, 1.0)), r"step_sizes\[1\]"),
        (ValueError, lambda: nn.RMSProp(p, epsilon=0.0), "'epsilon'"),
        (ValueError, lambda: nn.Adagrad(p, -1.0), "'accum'"),
        (ValueError, lambda: nn.FTRL(p, lr_power=0.5), "'lr_power'"),
        (TypeError, lambda: nn.LARS(p), "must be an Optimizer"),
        (ValueError, lambda: nn.CosineDecayLR(0.2, 0.1, 3), "above 'min_lr'"),
        (ValueError, lambda: nn.WarmUpLR(0.2, 0), "'warmup_steps'"),
        (TypeError, lambda: nn.ExponentialDecayLR(0.2, 0.1, 3, 1), "'is_stair'"),
        (ValueError, lambda: nn.piecewise_constant_lr([1, 2], [0.1]), "as many"),
        (TypeError, lambda: nn.SGD(p)(ms.Tensor([1.0])), "must be a tuple"),
        (ValueError, lambda: nn.Adam(p, beta2=1.0), r"'beta2' must be in \[0.0, 1.0\)"),
        (ValueError, lambda: nn.Adam(None), "'params' is None"),
        (ValueError, lambda: nn.Adam(p, use_lazy=True, use_offload=True), "exclude each other"),
        (TypeError, lambda: nn.inverse_decay_lr(0.1, 0.9, 8, 2, 3, 1), "'is_stair'"),
        (TypeError, lambda: nn.polynomial_decay_lr(0.1, 0.1, 8, 2, 3, 0.5, 1), "'update_decay_e"),
    ]:
        with pytest.raises(error, match=text):
            make()
