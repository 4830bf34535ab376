"""Attention of several heads and Transformer layers against their equations in double: masks,
extra keys, orders of axes, names of parameters."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(19)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def value(p):
    return None if p is None else p.asnumpy().astype(float)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def additive(mask):
    return np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask.astype(float)


def attention(net, q, k, v, padding=None, pairs=None):
    """Inputs (N, length, features); the output and the weights of each head."""
    e, h = net.embed_dim, net.num_heads
    if net.in_proj_weight is not None:
        ws = np.split(value(net.in_proj_weight), 3)
    else:
        ws = [value(p) for p in (net.q_proj_weight, net.k_proj_weight, net.v_proj_weight)]
    bias = net.in_proj_bias
    bs = np.zeros((3, e)) if bias is None else np.split(value(bias), 3)
    q, k, v = (x.astype(float) @ w.T + b for x, w, b in zip((q, k, v), ws, bs, strict=True))
    n, length, count = q.shape[0], q.shape[1], k.shape[1]
    mask = np.zeros((n, h, length, count))
    if pairs is not None:
        mask = mask + additive(pairs).reshape(-1 if pairs.ndim == 3 else 1, length, count).reshape(
            (n, h, length, count) if pairs.ndim == 3 else (1, 1, length, count))  # fmt: skip
    if padding is not None:
        mask = mask + additive(padding)[:, None, None]
    if net.bias_k is not None:
        k = np.concatenate([k, np.repeat(value(net.bias_k), n, 0)], 1)
        v = np.concatenate([v, np.repeat(value(net.bias_v), n, 0)], 1)
    if net.add_zero_attn:
        k, v = (np.concatenate([x, np.zeros((n, 1, e))], 1) for x in (k, v))
    mask = np.pad(mask, ((0, 0), (0, 0), (0, 0), (0, k.shape[1] - count)))

    def heads(x):
        return x.reshape(n, -1, h, e // h).transpose(0, 2, 1, 3)

    w = softmax(heads(q) @ heads(k).transpose(0, 1, 3, 2) / np.sqrt(e // h) + mask)
    out = (w @ heads(v)).transpose(0, 2, 1, 3).reshape(n, length, e)
    out = out @ value(net.out_proj.weight).T
    return out if net.out_proj.bias is None else out + value(net.out_proj.bias), w


PADDING = np.array([[0, 0, 0, 1, 1], [0, 1, 0, 0, 0]], bool)
PAIRS = np.triu(np.ones((4, 5), bool), 2)
FLOATS = normal(4, 5)
EACH = np.broadcast_to(PAIRS, (4, 4, 5)) & (RNG.random((4, 4, 5)) < 0.7)


@pytest.mark.parametrize(("padding", "pairs"), [
    (None, None), (PADDING, None), (None, PAIRS), (PADDING, PAIRS), (PADDING, FLOATS),
    (np.where(PADDING, -5.0, 0.5).astype(np.float32), PAIRS), (None, EACH),
])  # fmt: skip
@pytest.mark.parametrize("settings", [
    {}, {"kdim": 5, "vdim": 7}, {"add_bias_kv": True}, {"add_zero_attn": True, "has_bias": False},
    {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
], ids=str)  # fmt: skip
def test_attention(padding, pairs, settings):
    net = nn.MultiheadAttention(6, 2, **settings)
    if net.in_proj_bias is not None:
        net.in_proj_bias.set_data(ms.Tensor(normal(18)))
    q, k, v = normal(2, 4, 6), normal(2, 5, net.kdim), normal(2, 5, net.vdim)
    want, weights = attention(net, q, k, v, padding, pairs)
    inputs = [ms.Tensor(x if net.batch_first else x.swapaxes(0, 1)) for x in (q, k, v)]
    masks = {
        "key_padding_mask": None if padding is None else ms.Tensor(padding),
        "attn_mask": None if pairs is None else ms.Tensor(pairs),
    }
    got, mean = net(*inputs, **masks)
    (fused,) = net(*inputs, need_weights=False, **masks)
    each = net(*inputs, average_attn_weights=False, **masks)[1]
    for y in (got, fused):
        y = y if net.batch_first else y.swapaxes(0, 1)
        np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(each.asnumpy(), weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(mean.asnumpy(), weights.mean(1), rtol=1e-4, atol=1e-6)


def test_attention_without_a_batch():
    net = nn.MultiheadAttention(6, 3)
    q, k = normal(4, 6), normal(5, 6)
    want, weights = attention(net, q[None], k[None], k[None], PADDING[:1])
    got, mean = net(ms.Tensor(q), ms.Tensor(k), ms.Tensor(k), ms.Tensor(PADDING[0]))
    np.testing.assert_allclose(got.asnumpy(), want[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean.asnumpy(), weights.mean(1)[0], rtol=1e-4, atol=1e-6)


def test_self_attention_projects_once():
    net = nn.MultiheadAttention(6, 2, batch_first=True)
    x = normal(2, 5, 6)
    t, copy = ms.Tensor(x), ms.Tensor(x)
    want = attention(net, x, x, x)[0]
    for inputs in ((t, t, t), (t, copy, copy)):
        np.testing.assert_allclose(net(*inputs)[0].asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_dropout_of_weights_only_while_training():
    net = nn.MultiheadAttention(8, 2, dropout=0.5)
    x = ms.Tensor(normal(6, 2, 8))
    for need in (True, False):
        net.set_train(False)
        once = net(x, x, x, need_weights=need)[0].asnumpy()
        np.testing.assert_array_equal(once, net(x, x, x, need_weights=need)[0].asnumpy())
        net.set_train()
        assert (net(x, x, x, need_weights=need)[0].asnumpy() != once).any()


@pytest.mark.parametrize(("settings", "names"), [
    ({}, {"in_proj_weight": (18, 6), "in_proj_bias": (18,)}),
    ({"kdim": 5, "vdim": 7, "has_bias": False},
     {"q_proj_weight": (6, 6), "k_proj_weight": (6, 5), "v_proj_weight": (6, 7)}),
    ({"add_bias_kv": True}, {"in_proj_weight": (18, 6), "in_proj_bias": (18,),
                             "bias_k": (1, 1, 6), "bias_v": (1, 1, 6)}),
], ids=str)  # fmt: skip
def test_names_of_attention(settings, names):
    net = nn.MultiheadAttention(6, 2, **settings)
    names = {**names, "out_proj.weight": (6, 6)}
    if settings.get("has_bias", True):
        names["out_proj.bias"] = (6,)
    assert {p.name: p.shape for p in net.trainable_params()} == names


# ---- layers


def norm(layer, x):
    off = x - x.mean(-1, keepdims=True)
    x = off / np.sqrt((off**2).mean(-1, keepdims=True) + layer.epsilon)
    return x * value(layer.gamma) + value(layer.beta)


def dense(layer, x):
    return x @ value(layer.weight).T + value(layer.bias)


def feed_forward(layer, x):
    return dense(layer.dense2, np.maximum(dense(layer.dense1, x), 0))


def encode(layer, x, padding=None, pairs=None):
    if layer.norm_first:
        y = norm(layer.norm1, x)
        x = x + attention(layer.self_attn, y, y, y, padding, pairs)[0]
        return x + feed_forward(layer, norm(layer.norm2, x))
    x = norm(layer.norm1, x + attention(layer.self_attn, x, x, x, padding, pairs)[0])
    return norm(layer.norm2, x + feed_forward(layer, x))


def decode(layer, x, memory, pairs=None, padding=None):
    if layer.norm_first:
        y = norm(layer.norm1, x)
        x = x + attention(layer.self_attn, y, y, y, None, pairs)[0]
        y = norm(layer.norm2, x)
        x = x + attention(layer.multihead_attn, y, memory, memory, padding)[0]
        return x + feed_forward(layer, norm(layer.norm3, x))
    x = norm(layer.norm1, x + attention(layer.self_attn, x, x, x, None, pairs)[0])
    x = norm(layer.norm2, x + attention(layer.multihead_attn, x, memory, memory, padding)[0])
    return norm(layer.norm3, x + feed_forward(layer, x))


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers(norm_first):
    settings = {"batch_first": True, "norm_first": norm_first}
    encoder = nn.TransformerEncoderLayer(6, 2, 10, **settings)
    decoder = nn.TransformerDecoderLayer(6, 2, 10, **settings)
    src, tgt, future = normal(2, 5, 6), normal(2, 4, 6), np.triu(np.ones((4, 4), bool), 1)
    memory = encode(encoder, src.astype(float), PADDING)
    got = encoder(ms.Tensor(src), src_key_padding_mask=ms.Tensor(PADDING))
    np.testing.assert_allclose(got.asnumpy(), memory, rtol=1e-4, atol=1e-5)
    want = decode(decoder, tgt.astype(float), memory, future, PADDING)
    masks = {"tgt_mask": ms.Tensor(future), "memory_key_padding_mask": ms.Tensor(PADDING)}
    got = decoder(ms.Tensor(tgt), got, **masks)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_whole_transformer():
    net = nn.Transformer(6, 2, 2, 2, 10, dropout=0.2)
    src, tgt = normal(5, 2, 6), normal(4, 2, 6)
    future = np.triu(np.ones((4, 4), bool), 1)
    x, y = src.swapaxes(0, 1).astype(float), tgt.swapaxes(0, 1).astype(float)
    for layer in net.encoder.layers:
        x = encode(layer, x)
    memory = norm(net.encoder.norm, x)
    for layer in net.decoder.layers:
        y = decode(layer, y, memory, future)
    want = norm(net.decoder.norm, y).swapaxes(0, 1)
    got = net(ms.Tensor(src), ms.Tensor(tgt), tgt_mask=ms.Tensor(future))
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_names_of_a_transformer():
    names = [p.name for p in nn.Transformer(6, 2, 2, 1, 10).trainable_params()]
    assert len(names) == len(set(names)) == 2 * 12 + 18 + 4
    for name in ("encoder.layers.1.self_attn.in_proj_weight", "encoder.layers.0.dense1.weight",
                 "encoder.norm.gamma", "decoder.layers.0.multihead_attn.out_proj.bias",
                 "decoder.layers.0.norm3.beta", "decoder.layers.0.dense2.bias"):  # fmt: skip
        assert name in names


def test_copies_of_a_layer_are_apart():
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
    first, second = net.layers[0].dense1.weight, net.layers[1].dense1.weight
    np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    first.set_data(ops.zeros(first.shape))
    assert np.abs(second.asnumpy()).max() > 0


def test_every_parameter_learns():
    net = nn.Transformer(4, 2, 1, 1, 8, activation="gelu", batch_first=True).set_train()
    loss = (net(ms.Tensor(normal(2, 5, 4)), ms.Tensor(normal(2, 3, 4))) ** 3).sum()
    loss.backward()
    for p in net.trainable_params():
        grad = p.grad.asnumpy()
        assert np.isfinite(grad).all() and np.abs(grad).max() > 0, p.name


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.MultiheadAttention(6, 4), ValueError, "'num_heads' must divide 'embed_dim'"),
    (lambda: nn.MultiheadAttention(6, 2, dropout=1.0), ValueError, "'dropout' must be in"),
    (lambda: nn.MultiheadAttention(6, 2)(ops.ones(6), ops.ones(6), ops.ones(6)), ValueError,
     "'query' must have 3 axes"),
    (lambda: nn.MultiheadAttention(6, 2)(
        *[ops.ones((3, 1, 6))] * 3, attn_mask=ops.ones((2, 3))), ValueError, r"\(3, 3\) or"),
    (lambda: nn.MultiheadAttention(6, 2)(
        *[ops.ones((3, 1, 6))] * 3, ops.ones((1, 3), ms.int32)), TypeError, "bool or float"),
    (lambda: nn.TransformerEncoderLayer(6, 2, activation="tanh"), ValueError, "'activation' must"),
    (lambda: nn.TransformerEncoder(ops.relu, 2), TypeError, "'encoder_layer' must be a Cell"),
    (lambda: nn.TransformerEncoder(nn.ReLU(), 0), ValueError, "'num_layers' must be a positive"),
    (lambda: nn.Transformer(4, 2, 1, 1, 8)(ops.ones((3, 1, 4)), ops.ones((3, 1, 6))), ValueError,
     "must have 4 features"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()
