"""Layers: MindSpore's names, shapes and defaults, and what they compute, against NumPy."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops


def tensor(*shape: int, seed: int = 0) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def f64(x: ms.Tensor) -> np.ndarray:
    return x.asnumpy().astype(np.float64)


def test_dense_is_the_product_and_names_its_parameters():
    net = nn.Dense(5, 3)
    x = tensor(2, 4, 5)
    want = f64(x) @ f64(net.weight).T + f64(net.bias)
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-5, atol=1e-6)
    assert [p.name for p in net.trainable_params()] == ["weight", "bias"]
    assert net.weight.shape == (3, 5) and np.abs(f64(net.weight)).max() <= 1 / np.sqrt(5) + 1e-6


def test_dense_with_activation_and_without_bias():
    net = nn.Dense(4, 2, has_bias=False, activation="relu")
    assert net.bias is None and (net(tensor(8, 4)).asnumpy() >= 0).all()
    with pytest.raises(ValueError, match="'in_channels' must be a positive int"):
        nn.Dense(0, 2)


def test_names_follow_the_path():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.SequentialCell(nn.Dense(3, 1)))
    assert [p.name for p in net.trainable_params()] == [
        "0.weight", "0.bias", "2.0.weight", "2.0.bias"]
    net.append(nn.Dense(1, 1, has_bias=False))
    assert net.trainable_params()[-1].name == "3.weight" and len(net) == 4
    del net[1]
    assert [p.name for p in net.trainable_params()][2] == "1.0.weight"


def test_cell_list_holds_parameters_of_all():
    cells = nn.CellList([nn.Dense(2, 2) for _ in range(3)])
    assert len(cells.trainable_params()) == 6 and isinstance(cells[-1], nn.Dense)
    cells.insert(0, nn.Dense(2, 5))
    assert cells[0].weight.name == "0.weight" and cells[0].weight.shape == (5, 2)
    with pytest.raises(TypeError, match="CellList holds Cells"):
        cells.append(ops.relu)


def conv_reference(x, w, stride, pad):
    x = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[1]), (pad[2], pad[3])))
    n, _, h, width = x.shape
    out, _, kh, kw = w.shape
    oh, ow = (h - kh) // stride + 1, (width - kw) // stride + 1
    y = np.zeros((n, out, oh, ow))
    for i in range(oh):
        for j in range(ow):
            part = x[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw]
            y[:, :, i, j] = np.einsum("ncij,ocij->no", part, w)
    return y


@pytest.mark.parametrize(("mode", "padding", "pad"), [
    ("same", 0, (1, 1, 1, 1)), ("valid", 0, (0, 0, 0, 0)), ("pad", 2, (2, 2, 2, 2))])
def test_conv2d_pad_modes(mode, padding, pad):
    net = nn.Conv2d(3, 4, 3, pad_mode=mode, padding=padding, has_bias=True)
    x = tensor(2, 3, 6, 5)
    want = conv_reference(f64(x), f64(net.weight), 1, pad) + f64(net.bias)[:, None, None]
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_conv2d_same_with_stride_pads_the_end_more():
    net = nn.Conv2d(1, 1, 3, stride=2, weight_init="ones")
    x = ops.ones((1, 1, 6, 6))
    want = conv_reference(f64(x), np.ones((1, 1, 3, 3)), 2, (0, 1, 0, 1))
    np.testing.assert_allclose(net(x).asnumpy(), want)


def test_batch_norm_moves_its_statistics_and_uses_them():
    net = nn.BatchNorm2d(3, momentum=0.8)
    x = tensor(4, 3, 5, 5) * 2 + 1
    net.set_train()
    y = f64(net(x))
    np.testing.assert_allclose(y.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(y.std((0, 2, 3)), 1, atol=1e-3)
    mean = f64(x).mean((0, 2, 3))
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.2 * mean, rtol=1e-4, atol=1e-6)
    net.set_train(False)
    m, v = f64(net.moving_mean)[:, None, None], f64(net.moving_variance)[:, None, None]
    np.testing.assert_allclose(net(x).asnumpy(), (f64(x) - m) / np.sqrt(v + 1e-5), rtol=1e-4,
                               atol=1e-5)
    assert [p.name for p in net.trainable_params()] == ["gamma", "beta"]


def test_layer_norm():
    net = nn.LayerNorm((6,), epsilon=1e-5)
    x = tensor(3, 4, 6)
    v = f64(x)
    want = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="'normalized_shape'"):
        nn.LayerNorm(6)


def test_embedding_rows_and_bad_index():
    net = nn.Embedding(10, 4, padding_idx=3)
    ids = ms.Tensor([[1, 3], [9, 0]], ms.int32)
    np.testing.assert_array_equal(net(ids).asnumpy(), net.embedding_table.asnumpy()[ids.asnumpy()])
    assert (net.embedding_table.asnumpy()[3] == 0).all()
    with pytest.raises(IndexError, match="10"):
        net(ms.Tensor([10], ms.int32))


def test_dropout_only_while_training():
    net = nn.Dropout(p=0.25)
    x = ops.ones((100, 100))
    np.testing.assert_array_equal(net(x).asnumpy(), 1)
    net.set_train()
    y = net(x).asnumpy()
    assert set(np.unique(y.round(4))) == {0.0, np.float32(1.3333)}
    assert abs((y == 0).mean() - 0.25) < 0.02
    with pytest.raises(ValueError, match="'p' must be in"):
        nn.Dropout(p=1.0)


@pytest.mark.parametrize(("layer", "function"), [
    (nn.ReLU(), lambda x: np.maximum(x, 0)),
    (nn.LeakyReLU(), lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.ELU(), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    (nn.GELU(), lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    (nn.Softmax(), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    (nn.PReLU(), lambda x: np.where(x > 0, x, 0.25 * x)),
], ids=lambda v: type(v).__name__)
def test_activations(layer, function):
    x = tensor(4, 7)
    np.testing.assert_allclose(layer(x).asnumpy(), function(f64(x)), rtol=1e-5, atol=1e-6)


def test_max_and_average_pooling():
    x = tensor(1, 2, 4, 4)
    blocks = f64(x).reshape(1, 2, 2, 2, 2, 2)
    np.testing.assert_allclose(nn.MaxPool2d(2, 2)(x).asnumpy(), blocks.max((3, 5)))
    np.testing.assert_allclose(nn.AvgPool2d(2, 2)(x).asnumpy(), blocks.mean((3, 5)), rtol=1e-6,
                               atol=1e-7)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_lstm_against_its_equations():
    net = nn.LSTM(3, 4, batch_first=True)
    x = tensor(2, 5, 3)
    w, u, b, c_b = (f64(p) for p in net.trainable_params())
    h = c = np.zeros((2, 4))
    outputs = []
    for t in range(5):
        gates = f64(x)[:, t] @ w.T + h @ u.T + b + c_b
        i, f, g, o = np.split(gates, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    y, (hn, cn) = net(x)
    np.testing.assert_allclose(y.asnumpy(), np.stack(outputs, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(hn.asnumpy()[0], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(cn.asnumpy()[0], c, rtol=1e-4, atol=1e-5)
    assert [p.name for p in net.trainable_params()][0] == "weight_ih_l0"


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(reduction):
    reduce = {"mean": np.mean, "sum": np.sum, "none": lambda v: v}[reduction]
    x, y = tensor(4, 3), tensor(4, 3, seed=1)
    d = f64(x) - f64(y)
    np.testing.assert_allclose(nn.MSELoss(reduction)(x, y).asnumpy(), reduce(d * d), rtol=1e-5)
    np.testing.assert_allclose(nn.L1Loss(reduction)(x, y).asnumpy(), reduce(np.abs(d)), rtol=1e-5)
    labels = ms.Tensor([0, 2, 1, 1], ms.int32)
    logp = f64(x) - np.log(np.exp(f64(x)).sum(-1, keepdims=True))
    want = reduce(-logp[np.arange(4), labels.asnumpy()])
    np.testing.assert_allclose(nn.CrossEntropyLoss(reduction=reduction)(x, labels).asnumpy(), want,
                               rtol=1e-5)
    sparse = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction=reduction)
    np.testing.assert_allclose(sparse(x, labels).asnumpy(), want, rtol=1e-5)


@pytest.mark.parametrize(("name", "low", "high", "sigma"), [
    ("zeros", 0, 0, 0), ("ones", 1, 1, 0), ("uniform", -0.07, 0.07, 0.0404),
    ("truncatedNormal", -0.02, 0.02, 0.0088), ("xavier_uniform", -0.0866, 0.0866, 0.05),
    ("he_uniform", -0.1225, 0.1225, 0.0707)])
def test_initialisers_stay_in_range(name, low, high, sigma):
    ms.set_seed(3)
    w = f64(ms.initializer(name, (400, 400)))
    assert low - 1e-3 <= w.min() and w.max() <= high + 1e-3
    np.testing.assert_allclose(w.std(), sigma, rtol=0.03, atol=1e-9)


def test_cell_dict():
    cells = nn.CellDict([("first", nn.Dense(2, 3)), ("second", nn.ReLU())])
    cells["third"] = nn.Dense(3, 1, has_bias=False)
    assert [p.name for p in cells.trainable_params()] == [
        "first.weight", "first.bias", "third.weight"]
    assert list(cells) == list(cells.keys()) == ["first", "second", "third"] and len(cells) == 3
    assert "second" in cells and cells.pop("second").cls_name == "ReLU" and "second" not in cells
    cells.update({"first": nn.Dense(2, 5)})
    assert cells["first"].weight.shape == (5, 2) and [k for k, _ in cells.items()][0] == "first"
    cells.clear()
    assert len(cells) == 0 and not cells.trainable_params()


@pytest.mark.parametrize(("key", "cell", "error", "message"), [
    ("", nn.ReLU(), KeyError, "must not be empty"), ("a.b", nn.ReLU(), KeyError, "dot"),
    (1, nn.ReLU(), TypeError, "not str"), ("training", nn.ReLU(), KeyError, "attribute of Cell"),
    ("a", ops.relu, TypeError, "CellDict holds Cells")])
def test_cell_dict_refusals(key, cell, error, message):
    with pytest.raises(error, match=message):
        nn.CellDict()[key] = cell


def test_cell_list_adds_in_place():
    cells = nn.CellList([nn.Dense(2, 2)])
    cells += [nn.Dense(2, 3)]
    assert isinstance(cells, nn.CellList) and cells[1].weight.name == "1.weight"
    with pytest.raises(TypeError, match="takes Cells or a list"):
        nn.SequentialCell("relu")


def test_attributes_before_the_constructor_are_refused():
    class Hasty(nn.Cell):
        def __init__(self):
            self.dense = nn.Dense(2, 2)
            super().__init__()

    with pytest.raises(AttributeError, match="call super"):
        Hasty()


@pytest.mark.parametrize("name", ["", "a.b"])
def test_inserted_names_are_checked(name):
    cell = nn.Cell()
    with pytest.raises(KeyError, match="empty or contain a dot"):
        cell.insert_child_to_cell(name, nn.ReLU())
    with pytest.raises(KeyError, match="empty or contain a dot"):
        cell.insert_param_to_cell(name, ms.Parameter(1.0))


def test_a_child_may_be_absent():
    cell = nn.Cell()
    cell.insert_child_to_cell("norm", None)
    assert cell.norm is None and not list(cell.cells())
