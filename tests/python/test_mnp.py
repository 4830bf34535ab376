"""diptych.numpy against NumPy: each function in eager mode and compiled."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diptych as ms
import diptych.numpy as mnp
from diptych import Tensor

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(3, 4))
V, W = RNG.normal(size=5), RNG.normal(size=5)
CUBE = RNG.normal(size=(2, 3, 4))
GAPS = np.where(RNG.random((2, 3, 4)) < 0.3, np.nan, CUBE)
INTS = RNG.integers(-9, 9, size=(3, 4))
SMALL = RNG.integers(0, 4, size=(3, 4))
DIGITS = RNG.integers(0, 5, size=20)
WILD = np.array([0.5, np.nan, np.inf, -np.inf, -0.0, 2.25, 0.0])
ALL_NAN = np.full((2, 2), np.nan)

# Called with NumPy (or diptych.numpy) and arrays (or Tensors).
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    # creation
    "full": (lambda m, a: m.full((2, 3, 4), a), (A,)),
    "full_like": (lambda m, a: m.full_like(a, 7), (A,)),
    "ones_like": (lambda m, a: m.ones_like(a) + m.zeros_like(a), (A,)),
    "eye": (lambda m: m.eye(3, 4, -1), ()),
    "identity": (lambda m: m.identity(3), ()),
    "arange": (lambda m: m.arange(3, 11, 2), ()),
    "linspace": (lambda m, a: m.linspace(a, 3.0, 5, axis=1), (A,)),
    "linspace open": (lambda m: m.linspace(2, 3, 4, endpoint=False, retstep=True), ()),
    "linspace one": (lambda m: m.linspace(2, 3, 1), ()),
    "logspace": (lambda m: m.logspace(0, 3, 4, base=2), ()),
    "geomspace": (lambda m: m.geomspace(1, 1000, 4), ()),
    "geomspace negative": (lambda m: m.geomspace(-1, -8, 4), ()),
    "bartlett": (lambda m: m.bartlett(7), ()),
    "blackman": (lambda m: m.blackman(6), ()),
    "hamming": (lambda m: m.hamming(1), ()),
    "hanning": (lambda m: m.hanning(8), ()),
    # grids
    "diag": (lambda m, a: [m.diag(a, k) for k in (-9, -1, 0, 2, 9)], (A,)),
    "diag of a vector": (lambda m, v: m.diag(v, -2), (V,)),
    "diagflat": (lambda m, a: m.diagflat(a, 1), (A,)),
    "diagonal": (lambda m, c: m.diagonal(c, 1, 2, 0), (CUBE,)),
    "trace": (lambda m, c: m.trace(c, -1, 1, 2), (CUBE,)),
    "triangles": (lambda m, a: [m.tri(3, 4, 1), m.tril(a, -1), m.triu(a, 1)], (A,)),
    "vander": (lambda m, v: [m.vander(v), m.vander(v, 3, True)], (V,)),
    "meshgrid": (lambda m, v, w: m.meshgrid(v, w), (V, W)),
    "meshgrid ij": (lambda m, v, a: m.meshgrid(v, a, sparse=True, indexing="ij"), (V, A)),
    "mgrid": (lambda m: [m.mgrid[1:3, 0:4:2], *m.ogrid[0:2, 0:1:3j]], ()),
    "indices": (lambda m: [m.indices((2, 3)), *m.indices((2, 3), sparse=True)], ()),
    "ix_": (lambda m: m.ix_([0, 1], [2, 3, 4]), ()),
    "diag_indices": (lambda m: m.diag_indices(3, 2), ()),
    "tril_indices": (lambda m: [*m.tril_indices(3, 1, 4), *m.triu_indices(3, -1)], ()),
    "unravel_index": (lambda m, x: [*m.unravel_index(x, (5, 4, 2), order="F")], (SMALL,)),
    "ravel_multi_index": (
        lambda m, x: m.ravel_multi_index(tuple(x), (3, 4, 2), mode="wrap"),
        (INTS,),
    ),
    # arrangement
    "transpose": (lambda m, c: [m.transpose(c), m.transpose(c, (1, 2, 0))], (CUBE,)),
    "expand_dims": (lambda m, a: [m.expand_dims(a, 1), m.expand_dims(a, (0, -1))], (A,)),
    "moveaxis": (lambda m, c: m.moveaxis(c, (0, 1), (-1, 0)), (CUBE,)),
    "rollaxis": (lambda m, c: [m.rollaxis(c, 0, 2), m.rollaxis(c, 2, -1)], (CUBE,)),
    "swapaxes": (lambda m, c: m.swapaxes(c, 0, -1), (CUBE,)),
    "reshape": (lambda m, c: [m.reshape(c, (6, -1)), m.ravel(c)], (CUBE,)),
    "squeeze": (lambda m, a: m.squeeze(m.expand_dims(a, 0)), (A,)),
    "broadcast_arrays": (lambda m, a: m.broadcast_arrays(a, 1, [[2], [3], [4]]), (A,)),
    "atleast": (lambda m, v, a: [m.atleast_1d(3), m.atleast_2d(v), m.atleast_3d(a)], (V, A)),
    "concatenate": (lambda m, a, b: [m.concatenate((a, b), k) for k in (0, -1, None)], (A, B)),
    "append": (lambda m, a, v: m.append(a, v), (A, V)),
    "stack": (lambda m, a, b: [m.stack((a, b), -1), m.stack(a)], (A, B)),
    "hstack": (lambda m, a, b: [m.hstack((a, b)), m.vstack((a, b)), m.dstack((a, b))], (A, B)),
    "column_stack": (lambda m, v, w: m.column_stack((v, w)), (V, W)),
    "array_split": (lambda m, v: [*m.array_split(v, 3), *m.array_split(v, [1, -1])], (V,)),
    "split": (lambda m, c: [*m.hsplit(c, 3), *m.vsplit(c, 2), *m.dsplit(c, [1])], (CUBE,)),
    "flip": (lambda m, c: [m.flip(c), m.flip(c, (0, -1)), m.flipud(c), m.fliplr(c)], (CUBE,)),
    "rot90": (lambda m, a: [m.rot90(a, k) for k in range(-1, 4)], (A,)),
    "roll": (lambda m, a: [m.roll(a, 5), m.roll(a, (1, 2), 1), m.roll(a, 1, (0, 1))], (A,)),
    "tile": (lambda m, c: [m.tile(c, 2), m.tile(c, (3, 1)), m.tile(c, (2, 1, 1, 2))], (CUBE,)),
    "repeat": (lambda m, a: [m.repeat(a, 2), m.repeat(a, (0, 2, 1), 0), m.repeat(a, 0)], (A,)),
    # elementwise
    "arithmetic": (lambda m, a, b: m.add(a, 2) * m.subtract(1, b) / m.multiply(a, b), (A, B)),
    "divide": (lambda m, x: [m.divide(x, 4), m.floor_divide(x, 4), m.mod(x, 4)], (INTS,)),
    "fmod": (lambda m, a, b: [m.fmod(a, b), m.remainder(a, b), *m.divmod(a, b)], (A, B)),
    "power": (lambda m, a: [m.power(a, 3), m.float_power(m.absolute(a), 0.5)], (A,)),
    "float_power": (lambda m, x: m.float_power(x, -1), (SMALL + 1,)),
    "extremes of two": (lambda m, x: [m.maximum(x, 1), m.minimum(x, 1)], (WILD,)),
    "hypot": (lambda m, a, b: [m.hypot(a, b), m.arctan2(a, b), m.copysign(a, b)], (A, B)),
    "heaviside": (lambda m, a: m.heaviside(m.trunc(a), a), (A,)),
    "signs": (lambda m, x: [m.positive(x), m.negative(x), m.sign(x), m.absolute(x)], (INTS,)),
    "roots": (lambda m, a: [m.square(a), m.sqrt(m.absolute(a)), m.cbrt(a)], (A,)),
    "exponentials": (lambda m, a: [m.exp(a), m.exp2(a), m.expm1(a), m.reciprocal(a)], (A,)),
    "logarithms": (
        lambda m, a: [m.log(a), m.log2(a), m.log10(a), m.log1p(a)],
        (np.abs(A) + 0.1,),
    ),
    "logaddexp": (lambda m, a, b: [m.logaddexp(a, b), m.logaddexp2(a, b)], (A, B)),
    "circles": (lambda m, a: [m.sin(a), m.cos(a), m.tan(a), m.sinh(a), m.cosh(a), m.tanh(a)], (A,)),
    "arcs": (lambda m, a: [m.arcsin(a), m.arccos(a), m.arctan(a), m.arctanh(a)], (np.tanh(A),)),
    "area": (lambda m, a: [m.arcsinh(a), m.arccosh(a)], (np.abs(A) + 1,)),
    "degrees": (lambda m, a: [m.deg2rad(a), m.rad2deg(a), m.radians(a)], (A,)),
    "rounding": (lambda m, a: [m.floor(a), m.ceil(a), m.trunc(a), m.fix(a), m.rint(a)], (A * 3,)),
    "around": (lambda m, a: [m.around(a), m.around(a, 2), m.around(a, -1)], (A * 30,)),
    "clip": (lambda m, a: [m.clip(a, -0.5, None), m.clip(a, 0.1, m.absolute(a))], (A,)),
    "bits": (
        lambda m, x, y: [m.bitwise_and(x, y), m.bitwise_or(x, 3), m.bitwise_xor(x, y), m.invert(x)],
        (INTS, SMALL),
    ),
    "gcd": (lambda m, x, y: [m.gcd(x, y), m.lcm(x, y), m.gcd(x, 6)], (INTS, SMALL)),
    # logic
    "comparisons": (
        lambda m, x: [m.equal(x, 2), m.not_equal(x, 2), m.less(x, 2), m.less_equal(2, x)],
        (INTS,),
    ),
    "greater": (lambda m, a, b: [m.greater(a, b), m.greater_equal(a, b)], (A, B)),
    "logical": (
        lambda m, x, y: [m.logical_and(x, y), m.logical_or(x, y), m.logical_xor(x, y)],
        (SMALL, INTS),
    ),
    "kinds": (
        lambda m, x: [m.isnan(x), m.isinf(x), m.isfinite(x), m.isposinf(x), m.isneginf(x)],
        (WILD,),
    ),
    "signbit": (lambda m, x: [m.signbit(x), m.logical_not(x)], (WILD[2:],)),
    "isclose": (lambda m, x: [m.isclose(x, x[::-1]), m.isclose(x, x, equal_nan=True)], (WILD,)),
    "array_equal": (lambda m, a, b: [m.array_equal(a, b), m.array_equal(a, a)], (A, B)),
    "array_equiv": (lambda m, a: [m.array_equiv(a, a[None]), m.array_equiv(a, [1, 2])], (A,)),
    "isin": (lambda m, x: [m.isin(x, [3, 1, 1]), m.isin(x, [], invert=True)], (SMALL,)),
    # reductions
    "sum": (lambda m, c: [m.sum(c), m.sum(c, (0, -1), keepdims=True), m.sum(c, 1, initial=3)],
            (CUBE,)),
    "prod": (lambda m, c: m.prod(c, 1), (CUBE,)),
    "cumsum": (lambda m, c: [m.cumsum(c), m.cumsum(c, 1), m.cumprod(c, -1)], (CUBE,)),
    "means": (lambda m, c: [m.mean(c, (0, 1)), m.std(c, 1, ddof=1), m.var(c)], (CUBE,)),
    "mean of integers": (lambda m, x: [m.mean(x), m.var(x, 0)], (INTS,)),
    "average": (lambda m, c: m.average(c, 1, [1, 2, 4], True)[0], (CUBE,)),
    "average of all": (lambda m, a, b: m.average(a, weights=m.absolute(b)), (A, B)),
    "extremes": (lambda m, c: [m.amax(c), m.amin(c, (0, 2)), m.ptp(c, 1, keepdims=True)], (CUBE,)),
    "extremes where": (lambda m, a, b: m.amax(a, 0, initial=0, where=b > 0), (A, B)),
    "places": (lambda m, x: [m.argmax(x), m.argmin(x, 1), m.count_nonzero(x, 0)], (SMALL,)),
    "nansum": (lambda m, x: [m.nansum(x, 1), m.nancumsum(x, 0), m.nanmean(x, (0, 2))], (GAPS,)),
    "nanmax": (lambda m, x: [m.nanmax(x, 0), m.nanmin(x, (1, 2), keepdims=True)], (GAPS,)),
    "nanvar": (lambda m, x: [m.nanvar(x, 2), m.nanstd(x, (0, 1), ddof=1)], (GAPS,)),
    # picking
    "take": (lambda m, a: [m.take(a, [0, 11]), m.take(a, [[1, 9]], 0, mode="clip")], (A,)),
    "take wrapped": (lambda m, a, x: m.take(a, x, 1, mode="wrap"), (A, INTS)),
    "take_along_axis": (lambda m, c, x: m.take_along_axis(c, x[None] % 3, 1), (CUBE, SMALL)),
    "choose": (lambda m, x, a: m.choose(x, [a, 1.0, a + 1], mode="wrap"), (SMALL, A)),
    "where": (lambda m, a, b: m.where(a > 0, b, 7), (A, B)),
    "select": (lambda m, a: m.select([a > 1, a > 0], [a, -a], 9), (A,)),
    "piecewise": (lambda m, a: m.piecewise(a, [a < 0, a > 1], [lambda x: -x, 5]), (A,)),
    "piecewise rest": (
        lambda m, a: m.piecewise(a, [a < 0], [0, lambda x, y: x + y], 3),
        (A,),
    ),
    "along an axis": (lambda m, c: m.apply_along_axis(lambda v: v[::-1] * 2, 1, c), (CUBE,)),
    "along gives numbers": (lambda m, c: m.apply_along_axis(lambda v: v[0] - v[1], 0, c), (CUBE,)),
    "over axes": (lambda m, c: m.apply_over_axes(m.sum, c, (0, 2)), (CUBE,)),
    # linear algebra
    "products": (lambda m, a, b: [m.matmul(a, b.T), m.dot(a, b.T), m.inner(a, b)], (A, B)),
    "dot": (lambda m, a, c: [m.dot(c, a.T), m.dot(a, 2)], (A, CUBE)),
    "outer": (lambda m, v, a: [m.outer(v, a), m.kron(a, v)], (V, A)),
    "tensordot": (lambda m, a, c: [m.tensordot(a, c, ((0, 1), (1, 2))), m.tensordot(c, a.T, 1)],
                  (A, CUBE)),
    "cross": (lambda m, a, b: [m.cross(a[:, :3], b[:, :3]), m.cross(a, b, axis=0)], (A, B)),
    "norm": (lambda m, a: [norm(m)(a), norm(m)(a, 1), norm(m)(a, np.inf, 0)], (A,)),
    "matrix_power": (lambda m, a: [linalg(m, "matrix_power")(a[:, :3], n) for n in range(6)], (A,)),
    "multi_dot": (lambda m, a, v: linalg(m, "multi_dot")([a, a.T, a, v[:4]]), (A, V)),
    "cov": (lambda m, a, b: [m.cov(a), m.cov(a, b, bias=True), m.cov(a, rowvar=False)], (A, B)),
    "cov weighed": (lambda m, a: m.cov(a, fweights=[1, 2, 0, 3], aweights=[0.5, 1, 1, 2]), (A,)),
    "corrcoef": (lambda m, a, v: [m.corrcoef(a), m.corrcoef(v)], (A, V)),
    # counting
    "searchsorted": (lambda m, a: m.searchsorted([-1.0, 0.0, 1.0], a, side="right"), (A,)),
    "searchsorted by": (lambda m, a: m.searchsorted([2, 0, 1], a, sorter=[1, 2, 0]), (A,)),
    "digitize": (lambda m, x: [m.digitize(x, [1, 2, 3]), m.digitize(x, [3, 2, 1], True)], (SMALL,)),
    "interp": (lambda m, a: m.interp(a, [-1, 0, 0.5], [3, 4, 6], right=9), (A,)),
    "histogram": (lambda m, v: [*m.histogram(v, 4), *m.histogram(v, 3, (0, 1))], (V,)),
    "histogram density": (
        lambda m, x: m.histogram(x, [0, 1, 4, 5], weights=x, density=True)[0],
        (DIGITS,),
    ),
    "histogram of one": (lambda m: m.histogram_bin_edges([3.0], 2), ()),
    "histogram2d": (lambda m, v, w: [*m.histogram2d(v, w, [3, [-1, 0, 2]])], (V, W)),
    "histogramdd": (lambda m, a: m.histogramdd(a, 2)[0], (A,)),
    # sequences
    "diff": (lambda m, a: [m.diff(a, 2), m.diff(a, axis=0, prepend=1.0), m.diff(a, 0)], (A,)),
    "ediff1d": (lambda m, a: m.ediff1d(a), (A,)),
    "ediff1d ends": (lambda m, v: m.ediff1d(v, to_end=[1, 2], to_begin=3), (V,)),
    "gradient": (lambda m, c: m.gradient(c, 2.0, axis=(1, 2)), (CUBE,)),
    "trapz": (lambda m, a: [trapz(m)(a, dx=2), trapz(m)(a, [1, 3, 4], axis=0)], (A,)),
    "unwrap": (lambda m, a: m.unwrap(a * 6, axis=0), (A,)),
    "convolve": (
        lambda m, v, w: [m.convolve(v, w[:n], k) for n in (1, 2, 5) for k in MODES],
        (V, W),
    ),
    "correlate": (
        lambda m, v, w: [m.correlate(x, y, k) for x, y in ((v, w[:2]), (v[:2], w)) for k in MODES],
        (V, W),
    ),
    "convolved integers": (lambda m, x: m.convolve(x[0], x[1], "same"), (INTS,)),
    "polynomials": (
        lambda m, v: [m.polyadd(v, [1, 2]), m.polysub([1], v), m.polymul(v, v)],
        (V,),
    ),
    "polyval": (lambda m, v, a: m.polyval(v, a), (V, A)),
    "polyder": (lambda m, v: [m.polyder(v, k) for k in range(5)], (V,)),
    "polyint": (lambda m, v: [m.polyint(v), m.polyint(v, 2, 7), m.polyint(v, 3, [1, 2, 3])], (V,)),
    # padding
    "pad": (lambda m, a: [m.pad(a, 1), m.pad(a, ((1, 2), (0, 3)), constant_values=(4, 5))], (A,)),
    "pad by values": (lambda m, a: [m.pad(a, 2, k) for k in ("edge", "wrap", "mean")], (A,)),
    "pad by extremes": (
        lambda m, a: [m.pad(a, 2, "maximum"), m.pad(a, (1, 3), "minimum", stat_length=2)],
        (A,),
    ),
    "pad ramp": (lambda m, a: m.pad(a, (3, 1), "linear_ramp", end_values=(5, -2)), (A,)),
    "pad mirrored": (
        lambda m, a: [m.pad(a, 2, k, reflect_type=t) for k in MIRRORS for t in ("even", "odd")],
        (A,),
    ),
}  # fmt: skip
MODES = ("full", "same", "valid")
MIRRORS = ("reflect", "symmetric")
# The number of elements depends on the values: these run in eager mode only.
OPEN: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "bincount": (lambda m, x: m.bincount(x, minlength=9), (DIGITS,)),
    "bincount weighed": (lambda m, x: m.bincount(x, x * 0.5), (DIGITS,)),
    "unique": (lambda m, x: m.unique(x), (INTS,)),
    "unique inverse": (lambda m, x: [m.unique(x.reshape(-1), return_inverse=True)[1]], (INTS,)),
    "intersect1d": (lambda m, x, y: m.intersect1d(x, y, return_indices=True), (SMALL, INTS)),
    "setdiff1d": (lambda m, x, y: [m.setdiff1d(x, y), m.setdiff1d(y, x)], (SMALL, INTS)),
    "argwhere": (lambda m, x: [m.argwhere(x), *m.where(x)], (SMALL,)),
}


def norm(m: Any) -> Any:
    return np.linalg.norm if m is np else m.norm


def linalg(m: Any, name: str) -> Any:
    return getattr(np.linalg if m is np else m, name)


def trapz(m: Any) -> Any:
    return np.trapezoid if m is np and hasattr(np, "trapezoid") else m.trapz


def close(got: Any, want: Any) -> None:
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, x in zip(got, want, strict=True):
            close(g, x)
        return
    assert isinstance(got, Tensor)
    want = np.asarray(want)
    assert tuple(got.shape) == want.shape
    assert (got.dtype is ms.bool_) == (want.dtype == np.bool_)
    tolerance = 1e-9 if got.dtype is ms.float64 else 2e-6
    np.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [*CASES, *OPEN])
def test_eager(name: str) -> None:
    function, arrays = (CASES | OPEN)[name]
    with np.errstate(all="ignore"):
        want = function(np, *arrays)
    close(function(mnp, *map(Tensor, arrays)), want)


@pytest.mark.parametrize("name", list(CASES))
def test_compiled(name: str) -> None:
    function, arrays = CASES[name]

    @ms.jit
    def compiled(*tensors: Any) -> Any:
        return function(mnp, *tensors)

    with np.errstate(all="ignore"):
        want = function(np, *arrays)
    close(compiled(*map(Tensor, arrays)), want)


def test_dtypes() -> None:
    assert mnp.asarray([1, 2]).dtype is ms.int32
    assert mnp.asarray([1, 2.5]).dtype is ms.float32
    assert mnp.asarray([True]).dtype is ms.bool_
    assert mnp.asarray(A).dtype is ms.float64
    assert mnp.asarray([Tensor(A), A + 1]).dtype is ms.float64
    assert mnp.asfarray([1], "int32").dtype is ms.float32
    assert mnp.sum(mnp.ones(3, bool)).dtype is ms.int32
    assert mnp.sum(mnp.ones(3, mnp.int64)).dtype is ms.int64
    assert mnp.add(1, 2, dtype=float).dtype is ms.float32
    assert mnp.sum(mnp.ones(3, int), dtype=mnp.float64).dtype is ms.float64
    assert mnp.promote_types("int8", bool) is ms.int8
    assert mnp.result_type(mnp.ones(1), "int64") is ms.float32


def test_divisors_of_what_has_none_end() -> None:
    got = mnp.gcd([math.nan, math.inf, 4.0], [2.0, 4.0, 6.0]).tolist()
    assert got[2] == 2.0


def test_steps_that_lead_away() -> None:
    assert mnp.arange(10, 1).shape == (0,)
    with pytest.raises(ValueError, match="lead away from 1"):
        ms.ops.arange(10, 1)


def test_handles() -> None:
    x = mnp.ones(3)
    assert mnp.asarray(x) is x
    assert mnp.array(x, copy=False) is x
    assert mnp.array(x) is not x
    assert mnp.array(x, ndmin=3).shape == (1, 1, 3)
    assert mnp.array_str(x) == str(x)
    assert mnp.isscalar(2) and mnp.isscalar("a") and not mnp.isscalar(x)
    assert mnp.size(mnp.ones((2, 3)), 1) == 3


def test_bincount_of_known_length() -> None:
    counted = ms.jit(lambda x: mnp.bincount(x, length=3))(Tensor(DIGITS))
    assert counted.tolist() == np.bincount(DIGITS)[:3].tolist()


def test_cross_of_plane_vectors() -> None:
    assert mnp.cross([[1, 0], [2, 3]], [[0, 1], [4, 5]]).tolist() == [1, -2]
    assert mnp.cross([1, 0], [0, 1, 1]).tolist() == [0, -1, 1]


def test_the_page_lists_every_function() -> None:
    page = (Path(__file__).parents[2] / "docs" / "numpy.md").read_text()
    listed = set(re.findall(r"`(\w+)`", page.split("|---|---|")[1]))
    public = {n for n in mnp.__all__ if callable(getattr(mnp, n)) or n in ("mgrid", "ogrid")}
    types = set("bool_ float16 float32 float64 int8 int16 int32 int64 int_ float_ uint".split())
    assert listed == public - types - {"uint8", "uint16", "uint32", "uint64"}


def test_draws() -> None:
    ms.set_seed(3)
    x, y, z = mnp.rand(1000), mnp.randn(2, 500), mnp.randint(-2, 3, 1000)
    assert 0 <= x.min().item() < 0.01 < 0.99 < x.max().item() < 1
    assert y.shape == (2, 500) and abs(y.mean().item()) < 0.15
    assert sorted(mnp.unique(z).tolist()) == [-2, -1, 0, 1, 2]


def test_pad_by_function() -> None:
    def fill(vector: Tensor, width: Any, axis: int, kwargs: dict) -> Tensor:
        vector[: width[0]] = kwargs["value"]
        return vector

    got = mnp.pad(mnp.ones((1, 2)), ((0, 0), (2, 0)), fill, value=5)
    assert got.tolist() == [[5.0, 5.0, 1.0, 1.0]]


def leaves(value: Any) -> list[Any]:
    many = isinstance(value, tuple | list)
    return [leaf for item in value for leaf in leaves(item)] if many else [value]


def weighed(m: Any, value: Any) -> Any:
    """The sum of all floats in the results, each with a weight of its own."""
    total: Any = 0.0
    for i, leaf in enumerate(leaves(value)):
        leaf = np.asarray(leaf) if m is np else leaf
        weights = np.cos(np.arange(leaf.size) + i).reshape(leaf.shape)
        is_float = leaf.dtype.kind == "f" if m is np else leaf.dtype.is_floating_point
        total = total + (leaf * (weights if m is np else Tensor(weights))).sum() * is_float
    return total


def smooth_argument(name: str) -> int | None:
    """The first argument that a gradient can be taken for."""
    places = [i for i, a in enumerate(CASES[name][1]) if a.dtype == np.float64]
    return next((i for i in places if np.isfinite(CASES[name][1][i]).all()), None)


@pytest.mark.parametrize("name", [n for n in CASES if smooth_argument(n) is not None])
def test_gradients(name: str) -> None:
    function, arrays = CASES[name]
    place = smooth_argument(name)

    def value(m: Any, x: Any) -> Any:
        given = [x if i == place else a if m is np else Tensor(a) for i, a in enumerate(arrays)]
        return weighed(m, function(m, *given))

    x, step = arrays[place], 1e-6
    want = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        one = np.zeros_like(x)
        one[at] = step
        want[at] = (value(np, x + one) - value(np, x - one)) / (2 * step)
    if not isinstance(value(mnp, Tensor(x)), Tensor):
        assert not want.any()  # no floats among the results
        return
    got = ms.grad(lambda v: value(mnp, v))(Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, want, atol=1e-6 * (1 + np.abs(want).max()))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a set": (lambda: mnp.asarray({1, 2}), TypeError, "must be a Tensor"),
    "a ragged list": (lambda: mnp.asarray([[1, 2], [3]]), ValueError, "lengths differ"),
    "a size": (lambda: mnp.zeros((2, -1)), ValueError, "0 or more"),
    "a float size": (lambda: mnp.rand(1, 1.5), TypeError, "ints"),
    "integers drawn as floats": (lambda: mnp.rand(2, dtype="int32"), ValueError, "float dtype"),
    "an empty range": (lambda: mnp.randint(3, 3), ValueError, "hold a number"),
    "an axis": (lambda: mnp.sum(mnp.ones((2, 2)), 2), ValueError, "legal range"),
    "an axis twice": (lambda: mnp.mean(mnp.ones((2, 2)), (0, -2)), ValueError, "twice"),
    "a float axis": (lambda: mnp.expand_dims(mnp.ones(2), 1.5), TypeError, "int"),
    "unequal sections": (lambda: mnp.split(mnp.ones(5), 2), ValueError, "equal"),
    "shapes": (lambda: mnp.choose([0, 1], [[1, 2], [1, 2, 3]]), ValueError, "broadcast"),
    "initial": (lambda: mnp.amax(mnp.ones(2), initial=[1.0]), TypeError, "number"),
    "no initial": (lambda: mnp.amax(mnp.ones(2), where=[True, False]), ValueError, "initial"),
    "argwhere of a number": (lambda: mnp.argwhere(1), ValueError, "axis"),
    "a mode": (lambda: mnp.pad(mnp.ones(2), 1, "middle"), ValueError, "edge"),
    "a kind of bins": (lambda: mnp.histogram(mnp.ones(2), "auto"), ValueError, "edges"),
    "a power": (lambda: mnp.matrix_power(mnp.ones((2, 2)), -1), ValueError, "0 or more"),
    "nothing to join": (lambda: mnp.concatenate([]), ValueError, "empty"),
    "no list": (lambda: mnp.stack(3), TypeError, "must be a list, a tuple or a Tensor"),
    "no number": (lambda: mnp.around([1.5], [1]), TypeError, "decimals is"),
    "taking from nothing": (lambda: mnp.take([], [0]), ValueError, "no elements"),
    "axes to sum over": (lambda: mnp.tensordot([1, 2], 3, 1), ValueError, "do not all lie"),
    "limits": (lambda: mnp.histogram([1.0], 2, 3), ValueError, "two numbers"),
    "a place": (lambda: mnp.take([1, 2], [5], mode="raise"), IndexError, "5"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()
