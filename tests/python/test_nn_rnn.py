"""Recurrent layers and cells against their equations in double: layers, directions, sequences of
different lengths, names of parameters."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(17)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, state, w, u, b, d):
    h, c = state
    i, f, g, o = np.split(x @ w.T + b + h @ u.T + d, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, state, w, u, b, d):
    (h,) = state
    rx, zx, nx = np.split(x @ w.T + b, 3, -1)
    rh, zh, nh = np.split(h @ u.T + d, 3, -1)
    z = sigmoid(zx + zh)
    return ((1 - z) * np.tanh(nx + sigmoid(rx + rh) * nh) + z * h,)


def tanh_step(x, state, w, u, b, d):
    return (np.tanh(x @ w.T + b + state[0] @ u.T + d),)


def relu_step(x, state, w, u, b, d):
    return (np.maximum(x @ w.T + b + state[0] @ u.T + d, 0),)


STEPS = {"LSTM": lstm_step, "GRU": gru_step, "tanh": tanh_step, "relu": relu_step}


def weights_of(net, layer, suffix):
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    found = [getattr(net, f"{n}_l{layer}{suffix}", None) for n in names]
    return [0.0 if p is None else p.asnumpy().astype(float) for p in found]


def reference(net, step, x, states, lengths):
    """x (L, N, in); states: a list of (layers * directions, N, hidden)."""
    steps, batch = x.shape[:2]
    suffixes = ("", "_reverse") if net.bidirectional else ("",)
    last = []
    for layer in range(net.num_layers):
        outputs = []
        for k, suffix in enumerate(suffixes):
            w = weights_of(net, layer, suffix)
            at = layer * len(suffixes) + k
            y = np.zeros((steps, batch, net.hidden_size))
            ends = []
            for n in range(batch):
                state = tuple(s[at, n : n + 1] for s in states)
                order = range(lengths[n])
                for t in reversed(order) if suffix else order:
                    state = step(x[t, n : n + 1], state, *w)
                    y[t, n] = state[0][0]
                ends.append([s[0] for s in state])
            outputs.append(y)
            last.append(ends)
        x = np.concatenate(outputs, -1)
    states = np.array(last)  # (layers * directions, batch, kinds, hidden)
    return x, [states[:, :, i] for i in range(states.shape[2])]


def make(kind, *args, **settings):
    if kind in ("tanh", "relu"):
        return nn.RNN(*args, nonlinearity=kind, **settings)
    return getattr(nn, kind)(*args, **settings)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("settings", [
    {}, {"num_layers": 2, "bidirectional": True}, {"has_bias": False, "batch_first": True}],
    ids=str)  # fmt: skip
@pytest.mark.parametrize("lengths", [None, [6, 2, 4]], ids=["whole", "lengths"])
def test_layers(kind, settings, lengths):
    net = make(kind, 3, 4, **settings)
    x = normal(6, 3, 3)
    rows = net.num_layers * (2 if net.bidirectional else 1)
    states = [normal(rows, 3, 4) for _ in range(2 if kind == "LSTM" else 1)]
    want, last = reference(net, STEPS[kind], x.astype(float), states, lengths or [6] * 3)
    given = ms.Tensor(x.swapaxes(0, 1) if net.batch_first else x)
    hx = tuple(map(ms.Tensor, states))
    seq = None if lengths is None else ms.Tensor(lengths, ms.int32)
    y, h = net(given, hx if kind == "LSTM" else hx[0], seq)
    want = want.swapaxes(0, 1) if net.batch_first else want
    np.testing.assert_allclose(y.asnumpy(), want, rtol=1e-4, atol=1e-5)
    for got, expected in zip(h if kind == "LSTM" else (h,), last, strict=True):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_states_start_at_zero():
    x = ms.Tensor(normal(5, 2, 3))
    for net, zero in ((nn.GRU(3, 4), ops.zeros((1, 2, 4))),
                      (nn.LSTM(3, 4), (ops.zeros((1, 2, 4)),) * 2)):  # fmt: skip
        np.testing.assert_array_equal(net(x)[0].asnumpy(), net(x, zero)[0].asnumpy())


def test_names_and_shapes():
    net = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    assert [p.name for p in net.trainable_params()] == [
        f"{kind}_l{layer}{suffix}"
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for layer in (0, 1)
        for suffix in ("", "_reverse")
    ]
    shapes = {p.name: p.shape for p in net.trainable_params()}
    assert shapes["weight_ih_l0"] == (16, 3) and shapes["weight_ih_l1_reverse"] == (16, 8)
    assert shapes["weight_hh_l1"] == (16, 4) and shapes["bias_hh_l0"] == (16,)
    assert [p.shape for p in net.w_ih_list] == [(16, 3), (16, 3), (16, 8), (16, 8)]
    assert np.abs(net.weight_ih_l0.asnumpy()).max() <= 0.5


def test_names_within_nested_networks():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(2, 3, has_bias=False)

    names = [p.name for p in nn.SequentialCell(Net()).get_parameters()]
    assert names == ["0.rnn.weight_ih_l0", "0.rnn.weight_hh_l0"]


def test_dropout_between_layers_only_while_training():
    net = nn.RNN(3, 50, num_layers=2, dropout=0.5)
    x = ms.Tensor(normal(4, 2, 3))
    np.testing.assert_array_equal(net(x)[0].asnumpy(), net(x)[0].asnumpy())
    net.set_train()
    assert (net(x)[0].asnumpy() != net(x)[0].asnumpy()).any()


def test_half_precision_of_a_layer():
    net = nn.LSTM(3, 4).to_float(ms.float16)
    assert net(ms.Tensor(normal(5, 2, 3)))[0].dtype == ms.float16


@pytest.mark.parametrize(("kind", "cls", "settings"), [
    ("LSTM", nn.LSTMCell, {}), ("GRU", nn.GRUCell, {}), ("tanh", nn.RNNCell, {}),
    ("relu", nn.RNNCell, {"nonlinearity": "relu"}), ("GRU", nn.GRUCell, {"has_bias": False}),
])  # fmt: skip
def test_cells(kind, cls, settings):
    net = cls(3, 4, **settings)
    x, states = normal(2, 3), [normal(2, 4) for _ in range(2 if kind == "LSTM" else 1)]
    names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
    assert [p.name for p in net.trainable_params()] == names[: 4 if net.has_bias else 2]
    w = [p.asnumpy().astype(float) for p in net.trainable_params()] + [0.0, 0.0]
    want = STEPS[kind](x.astype(float), states, *w[:4])
    hx = tuple(map(ms.Tensor, states))
    got = net(ms.Tensor(x), hx if kind == "LSTM" else hx[0])
    for g, expected in zip(got if kind == "LSTM" else (got,), want, strict=True):
        np.testing.assert_allclose(g.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_gradient_of_a_cell():
    net = nn.GRUCell(2, 3)
    x, h, weights = normal(4, 2), normal(4, 3), normal(4, 3)
    params = [p.asnumpy().astype(float) for p in net.trainable_params()]
    want = np.zeros_like(params[1])
    for i in np.ndindex(*want.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = [p.copy() for p in params]
            moved[1][i] += step
            ends.append((gru_step(x.astype(float), (h.astype(float),), *moved)[0] * weights).sum())
        want[i] = (ends[0] - ends[1]) / 2e-6

    def loss(x, h):
        return (net(x, h) * ms.Tensor(weights)).sum()

    got = ms.grad(loss, None, [net.weight_hh])(ms.Tensor(x), ms.Tensor(h))
    got = got[0] if isinstance(got, tuple) else got
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("build", "error", "message"), [
    (lambda: nn.LSTM(0, 4), ValueError, "'input_size' must be a positive int"),
    (lambda: nn.LSTM(3, 4, dropout=1.0), ValueError, r"'dropout' must be in \[0, 1\)"),
    (lambda: nn.LSTM(3, 4, bidirectional=2), TypeError, "'bidirectional' must be a bool"),
    (lambda: nn.RNN(3, 4, nonlinearity="sin"), ValueError, "'nonlinearity' must be one of"),
    (lambda: nn.LSTM(3, 4)(ops.ones((5, 3))), ValueError, "must have 3 axes"),
    (lambda: nn.LSTM(3, 4)(ops.ones((5, 2, 3)), ops.ones((1, 2, 4))), TypeError, "two Tensors"),
    (lambda: nn.LSTMCell(3, 4)(ops.ones((2, 3)), ops.ones((2, 4))), TypeError, "two Tensors"),
    (lambda: nn.GRUCell(3, 4)(ops.ones((2, 5)), ops.ones((2, 4))), ValueError, r"\(N, 3\)"),
    (lambda: nn.GRUCell(3, 4)(ops.ones((2, 3)), ops.ones((2, 5))), ValueError, r"\(N, 4\)"),
])  # fmt: skip
def test_refusals(build, error, message):
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize("length", [[3, 7], [-1, 2]])
@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_lengths_beyond_the_steps_are_refused(make, length) -> None:
    layer, x = make(4, 5, batch_first=True), ops.ones((2, 6, 4))
    run = lambda: layer(x, seq_length=ms.Tensor(length, ms.int32))  # noqa: E731
    with pytest.raises(ValueError, match=r"seq_length\[\d\] is (7|-1); legal: 0 to 6"):
        run()
    with pytest.raises(ValueError, match="legal: 0 to 6"):
        ms.jit(run)()
