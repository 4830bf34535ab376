"""Dense products, dropout, shapes, padding, tables and images as layers, against NumPy."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(7)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_bidense():
    net = nn.BiDense(3, 4, 5)
    a, b = normal(2, 6, 3), normal(2, 6, 4)
    w, bias = (p.asnumpy().astype(float) for p in net.trainable_params())
    assert [(p.name, p.shape) for p in net.trainable_params()] == [
        ("weight", (5, 3, 4)), ("bias", (5,))]  # fmt: skip
    want = np.einsum("nli,oij,nlj->nlo", a, w, b) + bias
    got = net(ms.Tensor(a), ms.Tensor(b))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="last sizes must be 3 and 4"):
        net(ms.Tensor(b), ms.Tensor(a))


@pytest.mark.parametrize(("layer", "shape"), [
    (nn.Dropout1d, (40, 50, 3)), (nn.Dropout2d, (40, 50, 2, 3)), (nn.Dropout3d, (40, 50, 2, 2, 2)),
    (nn.Dropout1d, (2000, 3)),
])  # fmt: skip
def test_dropout_of_channels(layer, shape):
    net = layer(0.25)
    x = ops.ones(shape)
    np.testing.assert_array_equal(net(x).asnumpy(), 1)
    net.set_train()
    y = net(x).asnumpy()
    y = y.reshape(2000, -1)
    assert (y == y[:, :1]).all()
    np.testing.assert_allclose(np.unique(y), [0, 4 / 3], rtol=1e-6)
    assert abs((y[:, 0] == 0).mean() - 0.25) < 0.04
    with pytest.raises(ValueError, match="must have"):
        net(ops.ones((2, 2, 2, 2, 2, 2)))


def test_dropout_of_all_channels_gives_zeros():
    np.testing.assert_array_equal(nn.Dropout2d(1.0).set_train()(ops.ones((2, 3, 4, 4))), 0)


def test_unflatten_undoes_flatten():
    x = normal(2, 3, 4, 5)
    flat = nn.Flatten(1, 2)(ms.Tensor(x))
    np.testing.assert_array_equal(nn.Unflatten(1, (3, -1))(flat).asnumpy(), x)
    with pytest.raises(TypeError, match="must be 12, the size of axis 1"):
        nn.Unflatten(1, (3, 5))(flat)


def test_one_hot_along_the_first_axis():
    net = nn.OneHot(axis=0, depth=4, on_value=2.0, off_value=-1.0)
    want = np.moveaxis(np.eye(4)[[3, 0, 1]] * 3 - 1, -1, 0)
    np.testing.assert_array_equal(net(ms.Tensor([3, 0, 1], ms.int32)).asnumpy(), want)


def test_norms_and_similarity():
    x, y = normal(3, 4), normal(3, 4)
    tx, ty = ms.Tensor(x), ms.Tensor(y)
    length = np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(nn.Norm(1, True)(tx).asnumpy(), length, rtol=1e-6)
    np.testing.assert_allclose(float(nn.Norm()(tx)), np.linalg.norm(x), rtol=1e-6)
    clipped = np.where(length > 1.5, x * 1.5 / length, x)
    np.testing.assert_allclose(nn.ClipByNorm(1)(tx, ms.Tensor(1.5)).asnumpy(), clipped, rtol=1e-6)
    cosine = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    np.testing.assert_allclose(nn.CosineSimilarity()(tx, ty).asnumpy(), cosine, rtol=1e-5)
    np.testing.assert_allclose(float(nn.L1Regularizer(0.3)(tx)), 0.3 * np.abs(x).sum(), rtol=1e-6)


def test_small_shape_layers():
    x, y = normal(5, 3), normal(4, 5)
    got = nn.MatMul(True, True)(ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(got.asnumpy(), x.T @ y.T, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(nn.Roll(2, 1)(ms.Tensor(y)).asnumpy(), np.roll(y, 2, 1))
    np.testing.assert_array_equal(nn.Tril()(ms.Tensor(y), 1).asnumpy(), np.tril(y, 1))
    np.testing.assert_array_equal(nn.Triu()(ms.Tensor(y), -1).asnumpy(), np.triu(y, -1))
    assert nn.Identity(1, a=2)(3) == 3


@pytest.mark.parametrize(("net", "shape", "pads", "how"), [
    (nn.ConstantPad1d((1, 2), 5.0), (2, 3), ((0, 0), (1, 2)), {"constant_values": 5}),
    (nn.ConstantPad2d((1, 2, 0, 3), -1), (2, 3, 3), ((0, 0), (0, 3), (1, 2)),
     {"constant_values": -1}),
    (nn.ConstantPad3d(1, 0.5), (2, 2, 3, 3), ((0, 0), (1, 1), (1, 1), (1, 1)),
     {"constant_values": 0.5}),
    (nn.ZeroPad2d((1, 0, 2, 0)), (1, 2, 3, 3), ((0, 0), (0, 0), (2, 0), (1, 0)), {}),
    (nn.ReflectionPad1d(2), (2, 4), ((0, 0), (2, 2)), {"mode": "reflect"}),
    (nn.ReflectionPad2d((1, 2, 0, 3)), (2, 4, 5), ((0, 0), (0, 3), (1, 2)), {"mode": "reflect"}),
    (nn.ReflectionPad3d((1, 0, 2, 1, 0, 1)), (1, 3, 4, 5), ((0, 0), (0, 1), (2, 1), (1, 0)),
     {"mode": "reflect"}),
    (nn.ReplicationPad1d((3, 1)), (1, 2, 4), ((0, 0), (0, 0), (3, 1)), {"mode": "edge"}),
    (nn.ReplicationPad2d(1), (2, 4, 5), ((0, 0), (1, 1), (1, 1)), {"mode": "edge"}),
    (nn.ReplicationPad3d(1), (1, 2, 3, 4, 5), ((0, 0), (0, 0), (1, 1), (1, 1), (1, 1)),
     {"mode": "edge"}),
    (nn.Pad(((1, 2), (0, 1))), (3, 4), ((1, 2), (0, 1)), {}),
    (nn.Pad(((1, 2), (0, 1)), "REFLECT"), (3, 4), ((1, 2), (0, 1)), {"mode": "reflect"}),
    (nn.Pad(((1, 2), (2, 1)), "SYMMETRIC"), (3, 4), ((1, 2), (2, 1)), {"mode": "symmetric"}),
], ids=lambda v: type(v).__name__ if isinstance(v, nn.Cell) else "")  # fmt: skip
def test_padding(net, shape, pads, how):
    x = normal(*shape)
    np.testing.assert_array_equal(net(ms.Tensor(x)).asnumpy(), np.pad(x, pads, **how))


def test_negative_padding_cuts():
    x = normal(2, 5)
    got = nn.ConstantPad1d((-1, -2), 0.0)(ms.Tensor(x))
    np.testing.assert_array_equal(got.asnumpy(), x[:, 1:3])


def test_embedding_lookup_gives_zeros_past_the_end():
    net = nn.EmbeddingLookup(5, 3, max_norm=0.5, param_init=ms.Tensor(normal(5, 3)))
    table = net.embedding_table.asnumpy()
    assert [p.name for p in net.trainable_params()] == ["embedding_table"]
    rows = np.vstack([table[[4, 0]], np.zeros(3)])
    length = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 0.5)
    got = net(ms.Tensor([4, 0, 5], ms.int32))
    np.testing.assert_allclose(got.asnumpy(), rows * 0.5 / length, rtol=1e-6)


def test_embedding_by_one_hot_reads_the_same_rows():
    table = normal(6, 3)
    ids = ms.Tensor([[0, 5], [2, 2]], ms.int32)
    for one_hot in (True, False):
        net = nn.Embedding(6, 3, one_hot, ms.Tensor(table))
        np.testing.assert_allclose(net(ids).asnumpy(), table[ids.asnumpy()], rtol=1e-6)


def test_pixel_shuffle_and_back():
    x = normal(2, 12, 3, 4)
    want = x.reshape(2, 3, 2, 2, 3, 4).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 8)
    y = nn.PixelShuffle(2)(ms.Tensor(x))
    np.testing.assert_array_equal(y.asnumpy(), want)
    np.testing.assert_array_equal(nn.PixelUnshuffle(2)(y).asnumpy(), x)


def test_channel_shuffle():
    x = normal(2, 6, 2, 3)
    got = nn.ChannelShuffle(3)(ms.Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, x[:, [0, 2, 4, 1, 3, 5]])
    with pytest.raises(ValueError, match="groups must divide"):
        nn.ChannelShuffle(4)(ms.Tensor(x))


@pytest.mark.parametrize("padding", ["valid", "SAME"])
def test_unfold_puts_windows_into_channels(padding):
    x = normal(2, 3, 7, 6)
    got = nn.Unfold([1, 3, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1], padding)(ms.Tensor(x)).asnumpy()
    if padding == "SAME":
        x = np.pad(x, ((0, 0), (0, 0), (2, 2), (0, 0)))
    rows, columns = (x.shape[2] - 5) // 2 + 1, (x.shape[3] - 2) // 3 + 1
    want = np.zeros((2, 3, 2, 3, rows, columns), np.float32)
    for i in range(3):
        for j in range(2):
            for r in range(rows):
                for c in range(columns):
                    want[:, i, j, :, r, c] = x[:, :, r * 2 + i * 2, c * 3 + j]
    np.testing.assert_array_equal(got, want.reshape(2, 18, rows, columns))


def test_fold_adds_windows_up():
    x = normal(1, 8, 9)
    got = nn.Fold((4, 4), 2)(ms.Tensor(x)).asnumpy()
    want = np.zeros((1, 2, 4, 4))
    for w in range(9):
        r, c = divmod(w, 3)
        want[0, :, r : r + 2, c : c + 2] += x[0, :, w].reshape(2, 2, 2)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


def linear_resample(x, axis, size, place):
    n = x.shape[axis]
    at = np.clip([place(i, n, size) for i in range(size)], 0, n - 1)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, n - 1)
    part = (at - low).reshape(-1, *(1,) * (x.ndim - 1 - axis))
    return np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part


@pytest.mark.parametrize(("half", "corners", "place"), [
    (False, False, lambda i, n, m: i * n / m),
    (True, False, lambda i, n, m: (i + 0.5) * n / m - 0.5),
    (False, True, lambda i, n, m: i * (n - 1) / (m - 1)),
])  # fmt: skip
def test_resize_bilinear(half, corners, place):
    x = normal(2, 3, 4, 5)
    got = nn.ResizeBilinear(half)(ms.Tensor(x), size=(7, 3), align_corners=corners)
    want = linear_resample(linear_resample(x.astype(float), 2, 7, place), 3, 3, place)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_upsample_repeats_the_nearest():
    x = normal(1, 2, 3, 2)
    got = nn.Upsample(scale_factor=2.0)(ms.Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, x.repeat(2, 2).repeat(2, 3))


def test_central_crop():
    x = normal(2, 3, 8, 6)
    got = nn.CentralCrop(0.5)(ms.Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, x[:, :, 2:6, 1:5])


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.Dense(1.5, 2), TypeError, "'in_channels' must be a positive int, but got 1.5"),
    (lambda: nn.Dense(1, 2, has_bias=1), TypeError, "'has_bias' must be a bool"),
    (lambda: nn.Dropout2d(1.5), ValueError, r"'p' must be in \[0, 1\]"),
    (lambda: nn.Dropout1d("a"), TypeError, "'p' must be a number"),
    (lambda: nn.ConstantPad1d((1, 2, 3), 0), ValueError, "'padding' must hold 2 ints"),
    (lambda: nn.ReflectionPad2d((1, -1, 1, 1)), ValueError, "'padding' must be 0 or more"),
    (lambda: nn.ReflectionPad2d(1)(ops.ones((3, 3))), ValueError, "3 or 4 axes"),
    (lambda: nn.ZeroPad2d(1.5), TypeError, "'padding' must be an int or a tuple"),
    (lambda: nn.Pad([[1, 1]]), TypeError, "'paddings' must be a tuple"),
    (lambda: nn.Pad(((1, 1),), "EDGE"), ValueError, "'mode' must be one of"),
    (lambda: nn.Pad(((1, 1),))(ops.ones((2, 2))), ValueError, "must hold 2 pairs"),
    (lambda: nn.Unfold([2, 2], [1, 1, 1, 1], [1, 1, 1, 1]), ValueError, r"\[1, rows, columns"),
    (lambda: nn.PixelShuffle(0), ValueError, "'upscale_factor' must be a positive int"),
    (lambda: nn.CentralCrop(2), TypeError, "'central_fraction' must be a float"),
    (lambda: nn.ResizeBilinear()(ops.ones((1, 1, 2, 2))), ValueError, "either 'size' or"),
    (lambda: nn.Unflatten("1", (2, 2)), TypeError, "'axis' must be an int"),
    (lambda: nn.Embedding(4, 2, padding_idx=4), ValueError, "'padding_idx' must be in"),
    (lambda: nn.EmbeddingLookup(4, 2, target="GPU"), ValueError, "'target' must be one of"),
    (lambda: nn.OneHot(depth=0), ValueError, "'depth' must be a positive int"),
    (lambda: nn.L1Regularizer(0), ValueError, "'scale' must be positive"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
