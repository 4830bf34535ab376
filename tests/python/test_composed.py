"""Functions made of several ops (ops/algebra.py, arrange.py, numeric.py) against NumPy, and their
gradients against finite differences."""

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Parameter, Tensor, ops

RNG = np.random.default_rng(11)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(2, 5))
V, W = RNG.normal(size=3), RNG.normal(size=4)
CUBE = RNG.normal(size=(2, 3, 4))
WILD = np.array([0.5, np.nan, np.inf, -np.inf, -0.0, 2.25, 0.0])
N = np.array([3, 1, 1, 0, 3, 3])
a, b, v, w, cube, wild, n = (Tensor(x) for x in (A, B, V, W, CUBE, WILD, N))
other = Tensor(WILD[::-1].copy())


def close(got: Any, want: Any) -> None:
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, x in zip(got, want, strict=True):
            close(g, x)
        return
    got = got.asnumpy() if isinstance(got, Tensor) else got
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def trapezoids(y: Any, x: Any) -> Any:
    """Along the last axis."""
    return ((y[..., 1:] + y[..., :-1]) * np.diff(x)).sum(-1) / 2


def placed(x: Any, where: Any, values: Any) -> Any:
    x = x.copy()
    x[where] = values
    return x


def shrunk(x: Any, most: float) -> Any:
    """Slices of axis 1 whose norm is above ``most``."""
    norm = np.sqrt((x**2).sum((0, 2), keepdims=True))
    return np.where(norm > most, x * most / (norm + 1e-7), x)


PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "mv": (lambda: ops.mv(a, w), lambda: A @ W),
    "ger": (lambda: ops.ger(v, w), lambda: np.outer(V, W)),
    "addr": (lambda: ops.addr(a, v, w, beta=2, alpha=3), lambda: 2 * A + 3 * np.outer(V, W)),
    "kron": (lambda: ops.kron(a, b), lambda: np.kron(A, B)),
    "kron of ranks": (lambda: ops.kron(v, cube), lambda: np.kron(V, CUBE)),
    "cross": (lambda: ops.cross(v, v + 1), lambda: np.cross(V, V + 1)),
    "cross along": (lambda: ops.cross(cube, cube * cube, 1),
                    lambda: np.cross(CUBE, CUBE * CUBE, axis=1)),
    "cross finds 3": (lambda: ops.cross(cube, cube * cube),
                      lambda: np.cross(CUBE, CUBE * CUBE, axis=1)),
    "batch_dot": (lambda: ops.batch_dot(cube, cube.swapaxes(1, 2)),
                  lambda: np.einsum("nij,nkj->nik", CUBE, CUBE)),
    "batch_dot along": (lambda: ops.batch_dot(cube, cube * cube, (-2, 1)),
                        lambda: np.einsum("nij,nik->njk", CUBE, CUBE * CUBE)),
    "batch_dot of rows": (lambda: ops.batch_dot(a, a * a, 1),
                          lambda: (A**3).sum(1, keepdims=True)),
    "batch_dot with rows": (lambda: ops.batch_dot(cube, b[:, :4]),
                            lambda: np.einsum("nij,nj->ni", CUBE, B[:, :4])),
    "trace": (lambda: ops.trace(a), lambda: np.trace(A)),
    "vander": (lambda: ops.vander(v), lambda: np.vander(V)),
    "vander 5": (lambda: ops.vander(v, 5), lambda: np.vander(V, 5)),
    "block_diag": (lambda: ops.block_diag(a, v, Tensor(2.0)).shape, lambda: (5, 8)),
    "cdist": (lambda: ops.cdist(a, a + 1),
              lambda: np.sqrt(((A[:, None] - A[None] - 1) ** 2).sum(-1))),
    "cdist 1": (lambda: ops.cdist(cube, cube, 1.0),
                lambda: np.abs(CUBE[:, :, None] - CUBE[:, None]).sum(-1)),
    "cov": (lambda: ops.cov(a), lambda: np.cov(A)),
    "cov of one": (lambda: ops.cov(v, correction=0), lambda: np.cov(V, ddof=0)),
    "cov weighted": (
        lambda: ops.cov(a, fweights=Tensor([1, 2, 1, 3]), aweights=ops.exp(w)),
        lambda: np.cov(A, fweights=[1, 2, 1, 3], aweights=np.exp(W))),
    "cov counted": (lambda: ops.cov(a, fweights=Tensor([1, 2, 1, 3]), correction=2),
                    lambda: np.cov(A, fweights=[1, 2, 1, 3], ddof=2)),
    "corrcoef": (lambda: ops.corrcoef(a), lambda: np.corrcoef(A)),
    "ravel": (lambda: ops.ravel(cube), lambda: CUBE.ravel()),
    "movedim": (lambda: ops.movedim(cube, (0, -1), (-1, 1)),
                lambda: np.moveaxis(CUBE, (0, -1), (-1, 1))),
    "atleast_1d": (lambda: ops.atleast_1d(Tensor(2.0)), lambda: np.array([2.0])),
    "atleast_2d": (lambda: ops.atleast_2d([v, a]), lambda: [V[None], A]),
    "atleast_3d": (lambda: ops.atleast_3d([v, a, cube]),
                   lambda: [np.atleast_3d(V), np.atleast_3d(A), CUBE]),
    "hstack": (lambda: ops.hstack([a, a]), lambda: np.hstack([A, A])),
    "hstack of vectors": (lambda: ops.hstack([v, w]), lambda: np.hstack([V, W])),
    "vstack": (lambda: ops.vstack([w, a]), lambda: np.vstack([W, A])),
    "dstack": (lambda: ops.dstack([a, a]), lambda: np.dstack([A, A])),
    "column_stack": (lambda: ops.column_stack([v, a]), lambda: np.column_stack([V, A])),
    "hsplit": (lambda: ops.hsplit(a, 2), lambda: np.hsplit(A, 2)),
    "hsplit of a vector": (lambda: ops.hsplit(w, [1, 3]), lambda: np.hsplit(W, [1, 3])),
    "vsplit": (lambda: ops.vsplit(a, [1]), lambda: np.vsplit(A, [1])),
    "dsplit": (lambda: ops.dsplit(cube, 2), lambda: np.dsplit(CUBE, 2)),
    "fliplr": (lambda: ops.fliplr(a), lambda: np.fliplr(A)),
    "flipud": (lambda: ops.flipud(a), lambda: np.flipud(A)),
    "rot90": (lambda: [ops.rot90(cube, k, (0, 2)) for k in range(-2, 4)],
              lambda: [np.rot90(CUBE, k, (0, 2)) for k in range(-2, 4)]),
    "slice_scatter": (lambda: ops.slice_scatter(a, b[:, :3].swapaxes(0, 1), 1, -3, None, 2),
                      lambda: placed(A, (slice(None), slice(-3, None, 2)), B[:, :3].T)),
    "slice_scatter of none": (lambda: ops.slice_scatter(a, a[:0], 0, 2, 2), lambda: A),
    "select_scatter": (lambda: ops.select_scatter(a, v, 1, -1),
                       lambda: placed(A, (slice(None), -1), V)),
    "diagflat": (lambda: ops.diagflat(b[0], 1), lambda: np.diagflat(B[0], 1)),
    "tril_indices": (lambda: ops.tril_indices(3, 4, -1),
                     lambda: np.stack(np.tril_indices(3, -1, 4))),
    "triu_indices": (lambda: ops.triu_indices(3, 4, 1), lambda: np.stack(np.triu_indices(3, 1, 4))),
    "msort": (lambda: ops.msort(a), lambda: np.sort(A, 0)),
    "unique_consecutive": (lambda: ops.unique_consecutive(n, True, True),
                           lambda: [[3, 1, 0, 3], [0, 1, 1, 2, 3, 3], [1, 2, 1, 2]]),
    "unique_consecutive of none": (lambda: ops.unique_consecutive(n[:0], True, True),
                                   lambda: [[], [], []]),
    "aliases": (lambda: [ops.arcsin(a / 9), ops.arctan2(a, a), ops.subtract(a, a),
                         ops.negative(a), ops.absolute(a), ops.floor_mod(a, 2.0)],
                lambda: [np.arcsin(A / 9), np.arctan2(A, A), A - A, -A, np.abs(A), A % 2]),
    "invert": (lambda: ops.invert(n), lambda: ~N),
    "inv": (lambda: [ops.inv(n - 1), ops.inv(a)], lambda: [np.array([0, 0, 0, -1, 0, 0]), 1 / A]),
    "approximate_equal": (
        lambda: [ops.approximate_equal(a, a + 0.1, 0.2), ops.approximate_equal(wild, wild),
                 ops.approximate_equal(n.byte(), n.byte() - 1, 2.0)],
        lambda: [np.ones((3, 4), bool), np.abs(WILD - WILD) < 1e-5, N > 0]),
    "cumsum": (lambda: [ops.cumsum(a, 0), ops.cumsum(n, 0, ms.float64)],
               lambda: [A.cumsum(0), N.cumsum().astype(float)]),
    "cumprod": (lambda: [ops.cumprod(a, -1), a.cumprod(0, ms.float64)],
                lambda: [A.cumprod(1), A.cumprod(0)]),
    "bias_add": (lambda: [ops.bias_add(cube, v), ops.BiasAdd(data_format="NHWC")(cube, w)],
                 lambda: [CUBE + V[:, None], CUBE + W]),
    "positive": (lambda: ops.positive(a), lambda: A),
    "deg2rad": (lambda: ops.deg2rad(a), lambda: np.deg2rad(A)),
    "rad2deg": (lambda: ops.rad2deg(a), lambda: np.rad2deg(A)),
    "frac": (lambda: ops.frac(a * 9), lambda: A * 9 - np.trunc(A * 9)),
    "sinc": (lambda: ops.sinc(wild[4:]), lambda: np.sinc(WILD[4:])),
    "logit": (lambda: ops.logit(ops.sigmoid(a)), lambda: A),
    "logit limited": (lambda: ops.logit(a, 0.25),
                      lambda: np.log(A.clip(0.25, 0.75) / (1 - A.clip(0.25, 0.75)))),
    "nan_to_num": (lambda: ops.nan_to_num(wild), lambda: np.nan_to_num(WILD)),
    "nan_to_num to": (lambda: ops.nan_to_num(wild, 1.0, 2.0, 3.0),
                      lambda: np.nan_to_num(WILD, nan=1, posinf=2, neginf=3)),
    "fmax": (lambda: ops.fmax(wild, other), lambda: np.fmax(WILD, WILD[::-1])),
    "fmin": (lambda: ops.fmin(wild, other), lambda: np.fmin(WILD, WILD[::-1])),
    "signbit": (lambda: ops.signbit(wild[2:]), lambda: np.signbit(WILD[2:])),
    "copysign": (lambda: ops.copysign(a[:2], b[:, 1:]), lambda: np.copysign(A[:2], B[:, 1:])),
    "quantile": (lambda: ops.quantile(a, 0.3, 1), lambda: np.quantile(A, 0.3, 1)),
    "quantile of all": (lambda: ops.quantile(a, [0.0, 0.5, 1.0], keepdims=True),
                        lambda: np.quantile(A, [0, 0.5, 1], keepdims=True)),
    "quantile with NaN": (lambda: ops.quantile(wild[:2], 0.5), lambda: np.array(np.nan)),
    "nanquantile": (lambda: ops.nanquantile(wild[[0, 1, 4, 5]], Tensor([0.25, 0.8])),
                    lambda: np.nanquantile(WILD[[0, 1, 4, 5]], [0.25, np.float32(0.8)])),
    "renorm": (lambda: ops.renorm(cube, 2, 1, 1.5), lambda: shrunk(CUBE, 1.5)),
    "heaviside": (lambda: ops.heaviside(wild, Tensor(0.25)), lambda: np.heaviside(WILD, 0.25)),
    "logaddexp": (lambda: ops.logaddexp(wild.expand_dims(1), wild),
                  lambda: np.logaddexp(WILD[:, None], WILD)),
    "logaddexp2": (lambda: ops.logaddexp2(wild.expand_dims(1), wild),
                   lambda: np.logaddexp2(WILD[:, None], WILD)),
    "ldexp": (lambda: ops.ldexp(a, Tensor(3.0)), lambda: np.ldexp(A, 3)),
    "float_power": (lambda: ops.float_power(n, 0.5), lambda: np.float_power(N, 0.5)),
    "isclose": (lambda: ops.isclose(wild, wild + 1e-9), lambda: np.isclose(WILD, WILD + 1e-9)),
    "isclose with NaN": (lambda: ops.isclose(wild, other, equal_nan=True),
                         lambda: np.isclose(WILD, WILD[::-1], equal_nan=True)),
    "allclose": (lambda: ops.allclose(a, a + 1e-9), lambda: np.array(True)),
    "diff": (lambda: ops.diff(a, 2, 0), lambda: np.diff(A, 2, 0)),
    "diff joined": (lambda: ops.diff(a, prepend=a[:, :1], append=a),
                    lambda: np.diff(A, prepend=A[:, :1], append=A)),
    "diff of nothing": (lambda: ops.diff(a, 9), lambda: np.diff(A, 9)),
    "trapz": (lambda: ops.trapz(a, dx=0.5), lambda: trapezoids(A, 0.5 * np.arange(4))),
    "trapz over": (lambda: ops.trapz(a, v, dim=0), lambda: trapezoids(A.T, V)),
    "trapz over like": (lambda: ops.trapz(a, a * a), lambda: trapezoids(A, A * A)),
    "nansum": (lambda: ops.nansum(wild[:2]), lambda: np.nansum(WILD[:2])),
    "std_mean": (lambda: ops.std_mean(a, 1, 1), lambda: [A.std(1, ddof=1), A.mean(1)]),
    "var_mean": (lambda: ops.var_mean(a, None, 0, True),
                 lambda: [A.var(keepdims=True), A.mean(keepdims=True)]),
    "aminmax": (lambda: ops.aminmax(a), lambda: [A.min(0), A.max(0)]),
    "bincount": (lambda: ops.bincount(n, minlength=6), lambda: np.bincount(N, minlength=6)),
    "bincount weighted": (lambda: ops.bincount(n, ops.arange(6) * 0.5),
                          lambda: np.bincount(N, np.arange(6) * 0.5)),
    "bucketize": (lambda: ops.bucketize(n, [0.0, 1.0, 2.0]),
                  lambda: np.digitize(N, [0, 1, 2], True)),
    "bucketize right": (lambda: ops.bucketize(n, [0, 1, 2], right=True),
                        lambda: np.digitize(N, [0, 1, 2])),
    "segment max": (lambda: ops.unsorted_segment_max(cube, Tensor([2, 0]), 3)[0], lambda: CUBE[1]),
    "segment min": (lambda: ops.unsorted_segment_min(n, n, 4), lambda: [0, 1, 2**63 - 1, 3]),
    "segment prod": (lambda: ops.unsorted_segment_prod(v, Tensor([1, 1, 3]), 4),
                     lambda: [1, V[0] * V[1], 1, V[2]]),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_value(name: str) -> None:
    got, want = PAIRS[name]
    with np.errstate(all="ignore"):
        close(got(), want())


def test_block_diag() -> None:
    got = ops.block_diag(a, v, Tensor(2.0)).asnumpy()
    want = np.zeros((5, 8))
    want[:3, :4], want[3, 4:7], want[4, 7] = A, V, 2
    np.testing.assert_array_equal(got, want)


SMOOTH: dict[str, Callable[..., Tensor]] = {
    "kron": lambda x: ops.kron(x, Tensor(B)),
    "cross": lambda x: ops.cross(x, x * x + 1, 0),
    "vander": lambda x: ops.vander(x[0]),
    "block_diag": lambda x: ops.block_diag(x, x),
    "cdist": lambda x: ops.cdist(x, Tensor(A + 2)),
    "cov": ops.cov,
    "corrcoef": ops.corrcoef,
    "movedim": lambda x: ops.movedim(x, 0, 1),
    "rot90": lambda x: ops.rot90(x, 1, (0, 1)),
    "sinc": ops.sinc,
    "logaddexp": lambda x: ops.logaddexp(x, Tensor(A[::-1].copy())),
    "logaddexp2": lambda x: ops.logaddexp2(x, Tensor(A[::-1].copy())),
    "diff": lambda x: ops.diff(x, 2),
    "slice_scatter": lambda x: ops.slice_scatter(x, x[:1] * x[1:2], 0, 1, 2),
    "copysign": lambda x: ops.copysign(x, Tensor(A[::-1].copy())),
    "quantile": lambda x: ops.quantile(x, 0.3, 1),
    "renorm": lambda x: ops.renorm(x, 2, 0, 1.0),
    "trapz": lambda x: ops.trapz(x, x * x),
    "bincount": lambda x: ops.bincount(Tensor([0, 2, 2, 1]), x[1]),
    "segment prod": lambda x: ops.unsorted_segment_prod(x, Tensor([1, 1, 0]), 3),
    "segment max": lambda x: ops.unsorted_segment_max(x, Tensor([1, 1, 0]), 2),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient(name: str) -> None:
    f, step = SMOOTH[name], 1e-6
    pull = RNG.normal(size=f(a).shape)
    got = ms.grad(lambda x: ops.sum(f(x) * Tensor(pull)))(a).asnumpy()
    want = np.zeros_like(A)
    for i in np.ndindex(A.shape):
        d = np.zeros_like(A)
        d[i] = step
        high, low = f(Tensor(A + d)).asnumpy(), f(Tensor(A - d)).asnumpy()
        want[i] = ((high - low) * pull).sum() / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


def test_scatters_into_parameters() -> None:
    start, rows = np.array([[8.0, 4], [2, 6], [1, 1]]), np.array([[2.0, 3], [4, 5]])
    for name, f in {
        "scatter_sub": np.subtract,
        "scatter_mul": np.multiply,
        "scatter_div": np.divide,
        "scatter_max": np.maximum,
        "scatter_min": np.minimum,
    }.items():
        want = start.copy()
        f.at(want, [2, 0], rows)
        p = Parameter(Tensor(start))
        getattr(ops, name)(p, Tensor([2, 0]), Tensor(rows))
        np.testing.assert_array_equal(p.asnumpy(), want)


def test_gumbel_softmax() -> None:
    ms.set_seed(5)
    soft = ops.gumbel_softmax(ops.zeros((4000, 3)) + Tensor([0.0, 1.0, 2.0]), 0.5)
    np.testing.assert_allclose(soft.sum(-1).asnumpy(), 1, rtol=1e-5)
    ms.set_seed(5)
    hard = ops.gumbel_softmax(ops.zeros((4000, 3)) + Tensor([0.0, 1.0, 2.0]), 0.5, True).asnumpy()
    assert (hard.round(5).sum(-1) == 1).all()
    share = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(hard.mean(0), share, atol=0.03)  # 4 deviations


def test_primitives_of_composed_functions() -> None:
    x, y = Tensor([0.0, 4.0, np.inf]), Tensor([0.0, 2.0, 0.0])
    close(ops.Xdivy()(x, y), [0, 2, np.inf])
    close(ops.DivNoNan()(x, y), [0, 2, 0])
    close(ops.MulNoNan()(x, y), [0, 8, 0])
    close(ops.SquaredDifference()(a, 1.0), (A - 1) ** 2)
    close(ops.Rint()(a), np.rint(A))
    close(ops.Roll(1, 0)(a), np.roll(A, 1, 0))
    close(ops.TrilIndices(3, 4)(), np.stack(np.tril_indices(3, 0, 4)))
    close(ops.Cdist(1.0)(a, a), np.abs(A[:, None] - A[None]).sum(-1))
    close(ops.Addcmul()(a, a, a, Tensor(2.0)), A + 2 * A * A)
    close(ops.UnsortedSegmentMin()(n, n, 4)[:2], [0, 1])


def test_slope_of_xdivy_at_zero() -> None:
    dx, dy = ms.grad(lambda x, y: ops.sum(ops.xdivy(x, y)), (0, 1))(
        Tensor([0.0, 3.0]), Tensor([0.0, 2.0])
    )
    assert (dx.tolist(), dy.tolist()) == ([0, 0.5], [0, -0.75])


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_flash_attention_score(layout: str) -> None:
    q, k, v = (RNG.normal(size=(2, h, s, 3)) for h, s in ((4, 5), (2, 6), (2, 6)))
    shift, mask = RNG.normal(size=(2, 1, 5, 6)), RNG.random((5, 6)) < 0.3
    mask[:, 0] = False
    scores = q @ k.repeat(2, 1).swapaxes(2, 3) * 0.7 + shift
    scores[..., mask] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ v.repeat(2, 1)

    def laid(x: Any) -> Any:
        if layout == "BNSD":
            return x
        x = x.transpose(2, 0, 1, 3) if layout == "SBH" else x.swapaxes(1, 2)
        return x if layout == "BSND" else x.reshape(*x.shape[:2], -1)

    tensors = [Tensor(np.ascontiguousarray(laid(x))) for x in (q, k, v)]
    options = {"scalar_value": 0.7, "input_layout": layout}
    got = ops.flash_attention_score(*tensors, 4, Tensor(shift), attn_mask=Tensor(mask), **options)
    close(got, laid(want))


def test_laplace() -> None:
    ms.set_seed(3)
    x = ops.laplace((200000,), 1.0, Tensor(2.0)).asnumpy()
    assert abs(x.mean() - 1) < 0.03 and abs(x.var() - 8) < 0.25  # 5 deviations
    assert abs(np.abs(x - 1).mean() - 2) < 0.03
    same = [ops.standard_laplace((5,), 9).tolist() for _ in range(2)]
    assert same[0] == same[1]


def test_shuffle() -> None:
    got = ops.shuffle(ops.arange(100).reshape((50, 2)), 4).asnumpy()
    assert sorted(got[:, 0].tolist()) == list(range(0, 100, 2)) and got[0, 0] + 1 == got[0, 1]
    assert got[:, 0].tolist() != sorted(got[:, 0].tolist())


def test_ctc_loss_takes_one_sample_and_joined_targets() -> None:
    logs = ops.log_softmax(Tensor(RNG.normal(size=(6, 2, 4))))
    rows = Tensor([[1, 2, 0], [3, 1, 1]])
    each, sums = ops.ctc_loss(logs, rows, (6, 5), (2, 3), reduction="none")
    joined, _ = ops.ctc_loss(logs, Tensor([1, 2, 3, 1, 1]), (6, 5), (2, 3), reduction="none")
    np.testing.assert_array_equal(joined.asnumpy(), each.asnumpy())
    one, its = ops.ctc_loss(logs[:, 0], Tensor([1, 2]), 6, 2, reduction="sum")
    np.testing.assert_allclose(float(one), each.asnumpy()[0], rtol=1e-12)
    np.testing.assert_allclose(its.asnumpy()[0], sums.asnumpy()[0, :, :5], rtol=1e-12)


def test_ctc_loss_of_an_impossible_target_has_no_slope() -> None:
    logs = ops.log_softmax(Tensor(RNG.normal(size=(2, 1, 3))))
    args = (Tensor([[1, 1]]), (2,), (2,))  # a repetition needs a blank between
    assert float(ops.ctc_loss(logs, *args)[0]) == np.inf
    assert float(ops.ctc_loss(logs, *args, zero_infinity=True)[0]) == 0
    g = ms.grad(lambda x: ops.ctc_loss(x, *args)[0])(logs)
    np.testing.assert_array_equal(g.asnumpy(), 0)


def test_gradient_of_ctc_loss_through_log_softmax() -> None:
    x = RNG.normal(size=(5, 2, 3))
    args = (Tensor([[1, 1], [2, 0]]), (5, 3), (2, 1))

    def f(x: Tensor) -> Tensor:
        return ops.ctc_loss(ops.log_softmax(x), *args)[0]

    got, want = ms.grad(f)(Tensor(x)).asnumpy(), np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = 1e-6
        want[i] = (float(f(Tensor(x + d))) - float(f(Tensor(x - d)))) / 2e-6
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)


def ctc(targets: Any, *lengths: Any) -> Any:
    return ops.ctc_loss(cube, Tensor(targets), *lengths)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: ops.mv(v, w), "mv: mat has shape"),
    (lambda: ops.cross(a, a, 1), "cross: inputs"),
    (lambda: ops.trace(v), "trace: input"),
    (lambda: ops.batch_dot(a, b), "batch_dot: x1 has shape"),
    (lambda: ops.batch_dot(cube, cube, 0), "axes is 0"),
    (lambda: ops.batch_dot(cube, cube), "axes is .2, 1."),
    (lambda: ops.approximate_equal(a, b), "approximate_equal: x and y"),
    (lambda: ops.bias_add(cube, v, "CN"), "data_format is 'CN'"),
    (lambda: ops.cdist(a, b), "cdist: inputs"),
    (lambda: ops.movedim(cube, (0, 0), (1, 2)), "movedim: source"),
    (lambda: ops.movedim(cube, 0, 5), "movedim: destination"),
    (lambda: ops.rot90(a, 1, (0, 2)), "rot90: dims|axis"),
    (lambda: ops.vsplit(v, 2), "vsplit: input"),
    (lambda: ops.gumbel_softmax(a, 0.0), "tau is 0.0"),
    (lambda: ops.slice_scatter(a, v, 0, 1, 2), "slice_scatter: src"),
    (lambda: ops.select_scatter(a, v, 1, 4), "select_scatter: axis"),
    (lambda: ops.quantile(a, 1.5), "q is 1.5"),
    (lambda: ops.renorm(a, 0, 0, 1.0), "renorm: p is 0"),
    (lambda: ops.flash_attention_score(cube, cube, cube, 3), "head_num is 3"),
    (lambda: ops.flash_attention_score(cube, cube, cube, 2, input_layout="BNSD"), "query has"),
    (lambda: ops.flash_attention_score(cube, cube, cube, 2, input_layout="TND"), "'TND'; it must"),
    (lambda: ops.bincount(n, v), "bincount: weights"),
    (lambda: ops.bincount(Tensor([-1])), "input holds -1"),
    (lambda: ops.bincount(a), "bincount: input"),
    (lambda: ops.histc(a, 0), "bins is 0"),
    (lambda: ops.histc(a, 3, 2.0, 1.0), "min is 2"),
    (lambda: ops.histc(wild, 3), "range from"),
    (lambda: ctc([[1], [1], [4]], (2, 2, 2), (1, 1, 1)), "targets.2, 0. is 4"),
    (lambda: ctc([[1], [1], [0]], (2, 2, 2), (1, 1, 1)), "but not blank"),
    (lambda: ctc([[1], [1], [1]], (2, 2, 3), (1, 1, 1)), "input_lengths.2. is 3"),
    (lambda: ctc([[1], [1], [1]], (2, 2, 2), (1, 1, 2)), "target_lengths.2. is 2"),
    (lambda: ctc([1, 1], (2, 2, 2), (1, 1, 1)), "must add up to 2"),
    (lambda: a.sum_to_size(2, 4), "sum_to_size"),
    (lambda: cube.t(), "at most 2 axes"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, IndexError), match=message):
        call()


def test_methods() -> None:
    close(a.t(), A.T)
    close(a.sum_to_size(3, 1), A.sum(1, keepdims=True))
    close(cube.sum_to_size((4,)), CUBE.sum((0, 1)))
    close(a.reshape_as(Tensor(np.zeros((4, 3)))), A.reshape(4, 3))
    assert n.byte().dtype is ms.uint8
    close(a.kron(b), np.kron(A, B))
    close(n.bincount(), np.bincount(N))


@pytest.mark.parametrize("module", ["algebra", "arrange", "attention", "numeric", "loss", "older"])
def test_examples(module: str) -> None:
    failed, tried = doctest.testmod(getattr(ops, module))
    assert tried and not failed
