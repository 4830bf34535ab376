"""Distributions against one density each, written in NumPy, and what sums and integrals of it give;
bijections against their inverses and finite differences."""

import math

import numpy as np
import pytest

import diptych as ms
import diptych.nn.probability.bijector as msb
import diptych.nn.probability.distribution as msd
from diptych import ops

lgamma = np.vectorize(math.lgamma)


def normal(x, m, s):
    return np.exp(-(((x - m) / s) ** 2) / 2) / (s * np.sqrt(2 * np.pi))


def laplace(x, m, b):
    return np.exp(-np.abs(x - m) / b) / (2 * b)


def logistic(x, m, s):
    e = np.exp(-np.abs(x - m) / s)
    return e / (s * (1 + e) ** 2)


def cauchy(x, m, s):
    return 1 / (np.pi * s * (1 + ((x - m) / s) ** 2))


def gumbel(x, m, s):
    z = np.clip((x - m) / s, -50, None)
    return np.exp(-z - np.exp(-z)) / s


def student(x, df, m, s):
    c = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return np.exp(c) / s * (1 + ((x - m) / s) ** 2 / df) ** (-(df + 1) / 2)


def gamma(x, a, r):
    return np.exp(a * np.log(r) + (a - 1) * np.log(x) - r * x - math.lgamma(a))


def beta(x, a, b):
    c = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return np.exp(c + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x))


def log_normal(x, m, s):
    return normal(np.log(x), m, s) / x


LINE, HALF, UNIT = "line", "half", "unit"
# class, its parameters, those of another one, density, where, functions it does not have
CONTINUOUS = [
    (msd.Normal, (0.5, 1.5), (-0.3, 0.8), normal, LINE, ()),
    (msd.Laplace, (0.5, 1.5), (-0.3, 0.8), laplace, LINE, ()),
    (msd.Logistic, (0.5, 1.5), None, logistic, LINE, ("kl_loss",)),
    (msd.Cauchy, (0.5, 1.5), (-0.3, 0.8), cauchy, LINE, ("mean", "var")),
    (msd.Gumbel, (0.5, 1.5), (-0.3, 1.2), gumbel, LINE, ()),
    (msd.StudentT, (4.5, 0.5, 1.5), None, student, LINE,
     ("cdf", "mean", "var", "entropy", "kl_loss", "mode", "sample")),
    (msd.HalfNormal, (0.0, 1.5), None, lambda x, m, s: 2 * normal(x, m, s), HALF, ("kl_loss",)),
    (msd.Exponential, (1.5,), (0.7,), lambda x, r: r * np.exp(-r * x), HALF, ()),
    (msd.Gamma, (3.5, 1.5), (2.2, 0.7), gamma, HALF, ("cdf",)),
    (msd.LogNormal, (0.2, 0.6), (0.5, 0.9), log_normal, HALF, ()),
    (msd.Beta, (2.5, 3.5), (1.8, 2.2), beta, UNIT, ("cdf",)),
    (msd.Uniform, (0.0, 1.0), (-0.5, 2.0), lambda x, a, b: (x >= a) * (x <= b) / (b - a), UNIT,
     ("mode",)),
]  # fmt: skip


def places(where, n=400_000):
    """Points that cover the support, and the weights of an integral over them."""
    u = (np.arange(n) + 0.5) / n
    if where == LINE:
        return np.tan(np.pi * (u - 0.5)), np.pi / np.cos(np.pi * (u - 0.5)) ** 2 / n
    return (u / (1 - u), 1 / (1 - u) ** 2 / n) if where == HALF else (u, np.full(n, 1 / n))


def tensor(*values):
    return ms.Tensor(list(values), ms.float32)


def close(got, want, tolerance=2e-4):
    np.testing.assert_allclose(got.asnumpy().astype(float), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("row", CONTINUOUS, ids=lambda row: row[0].__name__)
def test_continuous(row):
    cls, own, other, density, where, absent = row
    dist = cls(*own)
    x, w = places(where)
    p = density(x, *own)
    assert abs((p * w).sum() - 1) < 1e-4
    logs = np.log(np.maximum(p, 1e-300))
    at = np.quantile(np.repeat(x, 1)[p > 1e-4], [0.1, 0.4, 0.7]).astype(np.float32)
    value = ms.Tensor(at)
    close(dist.log_prob(value), np.log(density(at.astype(float), *own)))
    close(dist.prob(value), density(at.astype(float), *own))
    if "cdf" not in absent:
        cdf = np.array([(p * w)[x <= v].sum() for v in at])
        close(dist.cdf(value), cdf)
        close(dist.log_cdf(value), np.log(cdf), 1e-3)
        close(dist.survival_function(value), 1 - cdf)
        close(dist.log_survival(value), np.log(1 - cdf), 1e-3)
    mean = (p * x * w).sum()
    var = (p * (x - mean) ** 2 * w).sum()
    for name, want in (("mean", mean), ("var", var), ("sd", math.sqrt(var)),
                       ("entropy", -(p * logs * w).sum())):  # fmt: skip
        if name not in absent and not (name == "sd" and "var" in absent):
            close(getattr(dist, name)(), want, 1e-3)
    if "mode" not in absent:
        close(dist.mode(), x[p.argmax()], 1e-2)
    if "kl_loss" not in absent:
        q = np.maximum(density(x, *other), 1e-300)
        kl = (p * (logs - np.log(q)) * w)[p > 0].sum()
        others = [tensor(v) for v in other]
        close(dist.kl_loss(cls.__name__, *others), [kl], 1e-3)
        close(dist.cross_entropy(cls.__name__, *others), [kl - (p * logs * w).sum()], 1e-3)
        spare = cls(*[None] * len(own))
        close(spare.kl_loss(cls.__name__, *others, *[tensor(v) for v in own]), [kl], 1e-3)
    if "sample" not in absent:
        ms.set_seed(7)
        drawn = np.sort(dist.sample((4000,)).asnumpy().astype(float))
        order = np.argsort(x)
        cdf = np.interp(drawn, x[order], np.cumsum((p * w)[order]))
        assert np.abs(cdf - (np.arange(4000) + 0.5) / 4000).max() < 0.03  # Kolmogorov, far out


COUNTS = [
    (msd.Bernoulli, (0.3,), (0.6,), lambda k, p: np.where(k == 1, p, 1 - p), 2, ()),
    (msd.Geometric, (0.3,), (0.6,), lambda k, p: p * (1 - p) ** k, 200, ()),
    (msd.Poisson, (2.5,), (4.0,), lambda k, r: np.exp(k * np.log(r) - r - lgamma(k + 1)), 60,
     ("cdf", "entropy")),
    (msd.Categorical, ([0.2, 0.5, 0.3],), ([0.3, 0.3, 0.4],), lambda k, p: np.array(p)[k], 3, ()),
]  # fmt: skip


@pytest.mark.parametrize("row", COUNTS, ids=lambda row: row[0].__name__)
def test_counts(row):
    cls, own, other, probability, count, absent = row
    dist = cls(*own)
    k = np.arange(count)
    p = probability(k, *own)
    at = ms.Tensor(k[:5], ms.float32)
    close(dist.prob(at), p[:5])
    close(dist.log_prob(at), np.log(p[:5]))
    if "cdf" not in absent:
        close(dist.cdf(at), np.cumsum(p)[:5])
        close(dist.survival_function(at), 1 - np.cumsum(p)[:5])
    mean = (p * k).sum()
    close(dist.mean(), mean)
    close(dist.var(), (p * (k - mean) ** 2).sum())
    assert int(dist.mode()) == p.argmax()
    q = probability(k, *other)
    kl = (p * np.log(p / q)).sum()
    given = [ms.Tensor(v, ms.float32) for v in other]
    close(dist.kl_loss(cls.__name__, *given), kl)
    if "entropy" not in absent:
        close(dist.entropy(), -(p * np.log(p)).sum())
        close(dist.cross_entropy(cls.__name__, *given), -(p * np.log(q)).sum())
    ms.set_seed(7)
    drawn = dist.sample((5000,)).asnumpy().astype(int)
    share = np.bincount(drawn, minlength=count)[:count] / 5000
    assert np.abs(share - p).max() < 0.03 and dist.sample((2, 3)).shape == (2, 3)


def test_batches_and_parameters_at_the_call():
    n = msd.Normal([[0.0], [1.0]], [1.0, 2.0, 3.0])
    assert n.batch_shape == (2, 3) and n.sample((5,)).shape == (5, 2, 3)
    x = ms.Tensor(0.5)
    want = [[normal(0.5, m, s) for s in (1, 2, 3)] for m in (0, 1)]
    close(n.prob(x), want)
    close(msd.Normal().prob(x, tensor(2.0), sd=tensor(0.5)), [normal(0.5, 2.0, 0.5)])
    close(n("prob", x, ms.Tensor(2.0), ms.Tensor(0.5)), normal(0.5, 2.0, 0.5))
    with pytest.raises(TypeError, match="'mean' is given nowhere"):
        msd.Normal(sd=1.0).prob(x)


def test_a_seed_makes_draws_repeat():
    first, second = msd.Normal(0.0, 1.0, seed=3), msd.Normal(0.0, 1.0, seed=3)
    a, b = first.sample((4,)), first.sample((4,))
    assert a.tolist() == second.sample((4,)).tolist() != b.tolist()
    assert b.tolist() == second.sample((4,)).tolist()


def test_gradients_reach_the_parameters():
    """The reparametrised normal: d mean(sample) / d mean = 1; and slopes of a divergence."""
    n = msd.Normal()

    def loss(mean, sd):
        return n.sample((64,), mean, sd).mean()

    assert abs(float(ms.grad(loss)(ms.Tensor(0.5), ms.Tensor(2.0))) - 1) < 1e-5
    zero, one = tensor(0.0), tensor(1.0)
    slope = ms.grad(lambda m: n.kl_loss("Normal", zero, one, m, one).sum())(tensor(0.7))
    close(slope, [0.7])


def test_compiled():
    n = msd.Normal(0.5, 2.0)
    x = tensor(-1.0, 0.5, 3.0)
    close(ms.jit(lambda v: n.log_prob(v) + n.cdf(v))(x), (n.log_prob(x) + n.cdf(x)).asnumpy())


BIJECTORS = [
    (msb.Exp(), np.exp), (msb.PowerTransform(0.5), lambda x: (1 + 0.5 * x) ** 2),
    (msb.ScalarAffine(-2.0, 1.0), lambda x: 1 - 2 * x),
    (msb.Softplus(2.0), lambda x: np.logaddexp(0, 2 * x) / 2),
    (msb.GumbelCDF(0.5, 1.5), lambda x: np.exp(-np.exp(-(x - 0.5) / 1.5))),
    (msb.Invert(msb.Softplus()), lambda x: np.log(np.expm1(x))),
]  # fmt: skip


@pytest.mark.parametrize(("bijector", "function"), BIJECTORS, ids=lambda v: getattr(v, "name", ""))
def test_bijections(bijector, function):
    x = np.array([0.2, 0.7, 1.9])
    t = ms.Tensor(x, ms.float32)
    y = bijector.forward(t)
    close(y, function(x))
    close(bijector.inverse(y), x, 1e-3)
    slope = np.log(np.abs((function(x + 1e-6) - function(x - 1e-6)) / 2e-6))
    close(bijector.forward_log_jacobian(t), slope, 1e-3)
    close(bijector.inverse_log_jacobian(y), -slope, 1e-3)
    close(bijector("forward", t), function(x))


def test_transformed_distributions():
    made = msb.Exp()(msd.Normal(0.2, 0.6))
    x = tensor(0.5, 1.5)
    close(made.log_prob(x), np.log(log_normal(x.asnumpy().astype(float), 0.2, 0.6)), 1e-3)
    close(made.cdf(x), msd.LogNormal(0.2, 0.6).cdf(x).asnumpy())
    assert made.sample((3,)).shape == (3,) and bool((made.sample((3,)) > 0).all())
    moved = msd.TransformedDistribution(msb.ScalarAffine(2.0, 1.0), msd.Normal(0.5, 1.0))
    close(moved.mean(), 2.0)
    with pytest.raises(NotImplementedError, match="does not define mean for Exp"):
        made.mean()


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: msd.Normal([[2.0], [1.0]], [[2.0], [3.0], [4.0]]), ValueError, "do not broadcast"),
    (lambda: msd.Normal(0.0, 1.0, dtype=ms.int32), TypeError, "'dtype' must be one of float16"),
    (lambda: msd.Normal(0.0, 1.0, name=1.0), TypeError, "'name' must be a str"),
    (lambda: msd.Normal(0.0, 1.0, seed="a"), TypeError, "'seed' must be an int"),
    (lambda: msd.Normal(0.0, 0.0), ValueError, "'sd' must be positive"),
    (lambda: msd.Uniform(1.0, 0.0), ValueError, "'low' must be below 'high'"),
    (lambda: msd.Bernoulli(1.0), ValueError, r"'probs' must be in \(0, 1\)"),
    (lambda: msd.Bernoulli(0.5, dtype=ms.bool_), TypeError, "'dtype' must be one of int8"),
    (lambda: msd.Categorical([0.5, 0.6]), ValueError, "add up to 1"),
    (lambda: msd.Categorical(0.2), ValueError, "at least 1 axis"),
    (lambda: msd.Normal(0.0, 1.0).prob(1.0), TypeError, "must be a Tensor, but got float"),
    (lambda: msd.Normal(0.0, 1.0).kl_loss("Gamma", 1, 2), ValueError, "known to a 'Normal' only"),
    (lambda: msd.Normal(0.0, 1.0)("median"), ValueError, "no function is called 'median'"),
    (lambda: msd.Cauchy(0.0, 1.0).mean(), ValueError, "has no mean"),
    (lambda: msd.Gamma([1.0], [1.0]).cdf(ops.ones(1)), NotImplementedError, "does not define cdf"),
    (lambda: msb.ScalarAffine("a"), TypeError, "'scale' must be a number"),
    (lambda: msb.GumbelCDF(scale=0.0), ValueError, "'scale' must be positive"),
    (lambda: msb.Exp(name=0.1), TypeError, "'name' must be a str"),
    (lambda: msb.Exp().forward(ms.Tensor(1)), TypeError, "must be a float type"),
    (lambda: msb.Invert(0.1), TypeError, "'bijector' must be a Bijector"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
