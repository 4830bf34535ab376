"""Similarity of images against loops over windows in double; fields of embeddings."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(23)


def images(*shape, noise=0.2):
    a = RNG.random(shape)
    return a, np.clip(a + noise * RNG.standard_normal(shape), 0, 1)


def terms(a, b, size, sigma, c1, c2):
    """Means over the windows of one channel: (whole index, contrast and structure)."""
    at = np.arange(size) - (size - 1) / 2
    w = np.exp(-0.5 * (at / sigma) ** 2)
    w = np.outer(w, w) / w.sum() ** 2
    whole, shape = [], []
    for i in range(a.shape[0] - size + 1):
        for j in range(a.shape[1] - size + 1):
            x, y = a[i : i + size, j : j + size], b[i : i + size, j : j + size]
            mx, my = (w * x).sum(), (w * y).sum()
            vx, vy = (w * (x - mx) ** 2).sum(), (w * (y - my) ** 2).sum()
            cov = (w * (x - mx) * (y - my)).sum()
            shape.append((2 * cov + c2) / (vx + vy + c2))
            whole.append(shape[-1] * (2 * mx * my + c1) / (mx**2 + my**2 + c1))
    return np.mean(whole), np.mean(shape)


def test_ssim():
    a, b = images(2, 3, 12, 14)
    want = [np.mean([terms(a[n, c], b[n, c], 7, 1.2, 4e-4, 3.6e-3)[0] for c in range(3)])
            for n in range(2)]  # fmt: skip
    net = nn.SSIM(2.0, 7, 1.2)
    got = net(ms.Tensor(a, ms.float32), ms.Tensor(b, ms.float32))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4)


def test_ssim_of_bytes():
    a = RNG.integers(0, 256, (1, 1, 12, 12)).astype(np.uint8)
    assert abs(float(nn.SSIM(255)(ms.Tensor(a), ms.Tensor(a))[0]) - 1) < 1e-5


def test_ms_ssim():
    a, b = images(2, 2, 24, 20)
    powers = (0.2, 0.3, 0.5)
    want = np.ones((2, 2))
    for n, c in np.ndindex(2, 2):
        x, y = a[n, c], b[n, c]
        for i, p in enumerate(powers):
            whole, shape = terms(x, y, 3, 1.5, 1e-4, 9e-4)
            want[n, c] *= max(whole if i == 2 else shape, 0) ** p
            x, y = (v[: v.shape[0] // 2 * 2, : v.shape[1] // 2 * 2] for v in (x, y))
            x, y = (v.reshape(v.shape[0] // 2, 2, -1, 2).mean((1, 3)) for v in (x, y))
    net = nn.MSSSIM(1.0, powers, filter_size=3)
    got = net(ms.Tensor(a, ms.float32), ms.Tensor(b, ms.float32))
    np.testing.assert_allclose(got.asnumpy(), want.mean(1), rtol=1e-3)


def test_psnr():
    a, b = images(2, 3, 4, 5)
    want = 10 * np.log10(4.0 / ((a - b) ** 2).mean((1, 2, 3)))
    got = nn.PSNR(2)(ms.Tensor(a, ms.float32), ms.Tensor(b, ms.float32))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5)


def test_image_gradients():
    x = RNG.random((2, 3, 4, 5)).astype(np.float32)
    dy, dx = nn.ImageGradients()(ms.Tensor(x))
    np.testing.assert_array_equal(dy.asnumpy(), np.diff(x, axis=2, append=x[:, :, -1:]))
    np.testing.assert_array_equal(dx.asnumpy(), np.diff(x, axis=3, append=x[..., -1:]))


@pytest.mark.parametrize("operator", ["SUM", "MEAN", "MAX"])
def test_fields_of_embeddings(operator):
    table = RNG.standard_normal((6, 3)).astype(np.float32)
    net = nn.MultiFieldEmbeddingLookup(6, 3, 4, ms.Tensor(table), operator=operator)
    ids = RNG.integers(0, 7, (2, 5))
    values = RNG.standard_normal((2, 5)).astype(np.float32)
    fields = np.array([[0, 0, 1, 3, 3], [2, 2, 2, 2, 1]])
    values[1, 4] = 0
    rows = np.vstack([table, np.zeros(3)])[ids] * values[..., None]
    want = np.zeros((2, 4, 3))
    for n, f in np.ndindex(2, 4):
        weight = np.abs(values[n][fields[n] == f]).sum()
        part = rows[n][fields[n] == f]
        if weight:
            how = {"SUM": part.sum(0), "MEAN": part.sum(0) / weight, "MAX": part.max(0)}
            want[n, f] = how[operator]
    got = net(ms.Tensor(ids, ms.int32), ms.Tensor(values), ms.Tensor(fields, ms.int32))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.SSIM(0), ValueError, "'max_val' must be positive"),
    (lambda: nn.SSIM(filter_size=1.5), TypeError, "'filter_size' must be a positive int"),
    (lambda: nn.SSIM(filter_sigma=0.0), ValueError, "'filter_sigma' must be positive"),
    (lambda: nn.SSIM(k1=1), TypeError, "'k1' must be a float"),
    (lambda: nn.SSIM()(ops.ones((1, 1, 8, 8)), ops.ones((1, 1, 8, 8))), ValueError, "smaller than"),
    (lambda: nn.PSNR()(ops.ones((1, 1, 8, 8)), ops.ones((1, 1, 8, 9))), ValueError, "one shape"),
    (lambda: nn.PSNR()(ops.ones((1, 1, 2, 2)), ops.ones((1, 1, 2, 2), ms.float16)), TypeError,
     "one dtype"),
    (lambda: nn.MSSSIM(power_factors={0.5}), TypeError, "'power_factors' must be a tuple"),
    (lambda: nn.MultiFieldEmbeddingLookup(6, 3, 0), ValueError, "'field_size' must be a positive"),
    (lambda: nn.MultiFieldEmbeddingLookup(6, 3, 4, operator="MIN"), ValueError, "'operator' must"),
    (lambda: nn.MultiFieldEmbeddingLookup(6, 3, 4)(*[ops.ones((2, 3))] * 3), TypeError,
     "'input_indices' must be int32 or int64"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
