"""Every layer and loss computes the same eagerly and compiled: results, what it does to its
parameters, gradients of the first float input and of the parameters."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops

RNG = np.random.default_rng(29)


def normal(*shape):
    return ms.Tensor(RNG.standard_normal(shape).astype(np.float32))


def unit(*shape):
    return ms.Tensor(RNG.uniform(0.1, 0.9, shape).astype(np.float32))


def ints(*values):
    return ms.Tensor(np.array(values, np.int32))


class Call(nn.Cell):
    """A net that is called with more than Tensors, as a net of Tensors."""

    def __init__(self, net, call):
        super().__init__()
        self.net, self.call = net, call

    def construct(self, *inputs):
        return self.call(self.net, *inputs)


SIGNS, X = ms.Tensor([1.0, -1.0, 1.0]), normal(5, 2, 8)
FIELDS = (ints([1, 2, 3]), normal(1, 3), ints([0, 1, 1]))
LAYERS = [
    (nn.Embedding(9, 3), ints(1, 2, 8)), (nn.Embedding(9, 3, True), ints(1, 2, 8)),
    (nn.EmbeddingLookup(9, 3, max_norm=0.5), ints(1, 2, 9)),
    (nn.MultiFieldEmbeddingLookup(9, 3, 2), *FIELDS),
    (nn.MultiFieldEmbeddingLookup(9, 3, 2, operator="MEAN"), *FIELDS),
    (nn.MultiFieldEmbeddingLookup(9, 3, 2, operator="MAX"), *FIELDS),
    (nn.Dense(4, 3, activation="relu"), normal(2, 4)),
    (nn.BiDense(3, 4, 2), normal(5, 3), normal(5, 4)),
    (nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2)), normal(2, 3)),
    (Call(nn.CellList([nn.Dense(3, 3), nn.Tanh()]), lambda net, x: net[1](net[0](x))),
     normal(2, 3)),
    (Call(nn.CellDict({"a": nn.Dense(3, 3)}), lambda net, x: net["a"](x)), normal(2, 3)),
    (nn.Dropout(p=0.3).set_train(), normal(3, 50)), (nn.Dropout1d().set_train(), normal(9, 8, 4)),
    (nn.Dropout2d().set_train(), normal(9, 3, 2, 2)),
    (nn.Dropout3d().set_train(), normal(9, 3, 2, 2, 2)),
    (nn.Flatten(), normal(2, 3, 4)), (nn.Unflatten(1, (3, 4)), normal(2, 12)),
    (nn.Identity(), normal(3)), (nn.OneHot(axis=0, depth=4), ints(1, 2, 3)),
    (nn.Norm(), normal(3, 4)), (nn.ClipByNorm(), normal(3, 4), ms.Tensor(0.5)),
    (nn.CosineSimilarity(), normal(3, 4), normal(3, 4)), (nn.L1Regularizer(0.1), normal(3)),
    (nn.MatMul(True), normal(4, 3), normal(4, 2)), (nn.Roll(1, 0), normal(4)),
    (nn.Tril(), normal(3, 3)), (nn.Triu(), normal(3, 3)),
    (nn.Jvp(nn.Tanh()), normal(3), normal(3)), (nn.Vjp(nn.Tanh()), normal(3), normal(3)),
    (nn.ReduceLogSumExp(1), normal(3, 4)), (nn.LGamma(), unit(3)), (nn.DiGamma(), ints(1, 2)),
    (nn.LBeta(), unit(3), unit(3)), (nn.Moments(0), normal(4, 3)), (nn.Range(1, 7, 2),),
    (nn.TimeDistributed(nn.Dense(3, 4), 1), normal(2, 5, 3)),
    (nn.TimeDistributed(nn.Dense(3, 4), 1, 0), normal(2, 5, 3)),
]  # fmt: skip
ACTIVATIONS = [
    (getattr(nn, name)(), normal(3, 4))
    for name in nn.activation.__all__
    if name not in ("LRN", "PReLU", "Softmax2d", "Threshold", "get_activation")
] + [
    (nn.LRN(1), normal(2, 5, 3, 3)), (nn.PReLU(4), normal(3, 4)), (nn.PReLU(), normal(3, 4)),
    (nn.Softmax2d(), normal(2, 3, 4, 4)), (nn.Threshold(0.1, 2.0), normal(3, 4)),
]  # fmt: skip
ATTENTION = [
    (nn.MultiheadAttention(8, 2), X, normal(6, 2, 8), normal(6, 2, 8)),
    (nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), X, X, X),
    (nn.TransformerEncoderLayer(8, 2, 16), X), (nn.TransformerDecoderLayer(8, 2, 16), X, X),
    (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2), X),
    (nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2), X, X),
    (nn.Transformer(8, 2, 1, 1, 16).set_train(), X, normal(4, 2, 8)),
]  # fmt: skip
CONVOLUTIONS = [
    (layer(4, 6, 3, 2, group=2, has_bias=True), normal(2, 4, *sizes))
    for layers, sizes in (
        ((nn.Conv1d, nn.Conv1dTranspose), (9,)), ((nn.Conv2d, nn.Conv2dTranspose), (6, 5)),
        ((nn.Conv3d, nn.Conv3dTranspose), (4, 5, 3)))
    for layer in layers
]  # fmt: skip
NORMS = [
    (layer(3).set_train(training), normal(4, 3, *sizes))
    for training in (False, True)
    for layer, sizes in (
        (nn.BatchNorm1d, ()), (nn.BatchNorm2d, (2, 3)), (nn.BatchNorm3d, (2, 2, 3)),
        (nn.InstanceNorm1d, (5,)), (nn.InstanceNorm2d, (2, 3)), (nn.InstanceNorm3d, (2, 2, 3)))
] + [
    (nn.GroupNorm(2, 4), normal(2, 4, 3)), (nn.LayerNorm((4,)), normal(2, 4)),
    (nn.LayerNorm((4,), 1, 2), normal(2, 3, 4)), (nn.RMSNorm(4), normal(2, 4)),
]  # fmt: skip
POOLS = [
    (getattr(nn, f"{kind}{n}d")(*settings), normal(1, 2, *(6,) * n))
    for n in (1, 2, 3)
    for kind, settings in (
        ("MaxPool", (2, 2)), ("AvgPool", (2, 2, "same")), ("AdaptiveAvgPool", (3,)),
        ("AdaptiveMaxPool", (3,)))
] + [
    (nn.MaxPool2d(2, 2, return_indices=True), normal(1, 2, 4, 4)), (nn.MaxPool2d(2), X),
    (nn.MaxUnpool1d(2), normal(1, 2, 3), ints([[0, 3, 4], [1, 2, 5]])),
    (nn.MaxUnpool2d(2), normal(1, 1, 1, 2), ints([[[0, 3]]])),
    (nn.MaxUnpool3d(2), normal(1, 1, 1, 1, 1), ints([[[[7]]]])),
    (nn.LPPool1d(2, 2), unit(1, 2, 6)), (nn.LPPool2d(2, 2), unit(1, 2, 6, 6)),
]  # fmt: skip
IMAGES = [
    (nn.PixelShuffle(2), normal(1, 8, 2, 2)), (nn.PixelUnshuffle(2), normal(1, 2, 4, 4)),
    (nn.ChannelShuffle(2), normal(1, 4, 2, 2)), (nn.CentralCrop(0.5), normal(1, 2, 6, 6)),
    (nn.Upsample(scale_factor=2.0, mode="bilinear"), normal(1, 2, 3, 3)),
    (nn.Unfold([1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "same"), normal(1, 2, 4, 4)),
    (nn.Fold((4, 4), 2), normal(1, 8, 9)),
    (Call(nn.ResizeBilinear(), lambda net, x: net(x, size=(5, 7))), normal(1, 2, 3, 3)),
    (Call(nn.ResizeBilinear(True), lambda net, x: net(x, scale_factor=2)), normal(1, 2, 3, 3)),
    (nn.SSIM(filter_size=3), unit(1, 2, 8, 8), unit(1, 2, 8, 8)),
    (nn.MSSSIM(1.0, (0.5, 0.5), 3), unit(1, 2, 8, 8), unit(1, 2, 8, 8)),
    (nn.PSNR(), unit(1, 2, 8, 8), unit(1, 2, 8, 8)), (nn.ImageGradients(), unit(1, 2, 8, 8)),
    (nn.Pad(((1, 1), (0, 2)), "SYMMETRIC"), normal(3, 4)), (nn.ZeroPad2d(1), normal(1, 3, 3)),
] + [
    (getattr(nn, f"{kind}Pad{n}d")(1, *settings), normal(2, *(4,) * n))
    for n in (1, 2, 3)
    for kind, settings in (("Constant", (2.0,)), ("Reflection", ()), ("Replication", ()))
]  # fmt: skip
RECURRENT = [
    (layer(3, 4, 2, bidirectional=True), normal(5, 2, 3)) for layer in (nn.LSTM, nn.GRU, nn.RNN)
] + [
    (Call(nn.LSTM(3, 4), lambda net, x, n: net(x, None, n)), normal(5, 2, 3), ints(5, 3)),
    (nn.RNNCell(3, 4), normal(2, 3), normal(2, 4)), (nn.GRUCell(3, 4), normal(2, 3), normal(2, 4)),
    (Call(nn.LSTMCell(3, 4), lambda net, x, h, c: net(x, (h, c))), normal(2, 3), normal(2, 4),
     normal(2, 4)),
]  # fmt: skip
A, B, P, NUMBERS = normal(3, 4), normal(3, 4), unit(3, 4), ints(0, 1, 3)
LOSSES = [(getattr(nn, name)(), A, B) for name in (
    "MSELoss", "RMSELoss", "L1Loss", "MAELoss", "SmoothL1Loss", "HuberLoss")] + [
    (nn.KLDivLoss(), A, P), (nn.PoissonNLLLoss(full=True), A, P),
    (nn.GaussianNLLLoss(), A, B, P), (nn.BCELoss(), P, unit(3, 4)),
    (nn.BCEWithLogitsLoss(), A, P), (nn.MarginRankingLoss(), normal(3), normal(3), SIGNS),
    (nn.CosineEmbeddingLoss(), A, B, SIGNS), (nn.HingeEmbeddingLoss(), normal(3), SIGNS),
    (nn.SoftMarginLoss(), normal(3), SIGNS), (nn.MultiLabelSoftMarginLoss(), A, P),
    (nn.MultiMarginLoss(2), A, NUMBERS), (nn.MultilabelMarginLoss(), A, ints(*[[0, 1, -1, 2]] * 3)),
    (nn.TripletMarginLoss(swap=True), A, B, normal(3, 4)),
    (nn.TripletMarginWithDistanceLoss(), A, B, normal(3, 4)),
    (nn.CrossEntropyLoss(label_smoothing=0.1), A, NUMBERS), (nn.NLLLoss(), A, NUMBERS),
    (nn.SoftmaxCrossEntropyWithLogits(True), A, NUMBERS),
    (nn.SoftmaxCrossEntropyWithLogits(), A, P), (nn.DiceLoss(), P, unit(3, 4)),
    (nn.MultiClassDiceLoss(), A, P), (nn.FocalLoss(), A, ints([0], [1], [3])),
    (Call(nn.CTCLoss(), lambda net, x, y: net(ops.log_softmax(x), y, (4,), (2,))),
     normal(4, 1, 3), ints([1, 2])),
]  # fmt: skip
ALL = LAYERS + ACTIVATIONS + ATTENTION + CONVOLUTIONS + NORMS + POOLS + IMAGES + RECURRENT + LOSSES
FAMILIES = (
    "activation", "attention", "basic", "container", "conv", "embedding", "grad", "image",
    "loss.classes", "loss.distance", "loss.margin", "loss.overlap", "math", "norm", "padding",
    "pool", "rnn", "similarity", "timedistributed", "transformer",
)  # fmt: skip


def tensors(result):
    """The Tensors of a result, in order."""
    if isinstance(result, ms.Tensor):
        return [result]
    return [t for part in result for t in tensors(part)]


def fresh(net, state):
    """Puts values back into a net's parameters and the seed to 1."""
    for p, value in zip(net.get_parameters(), state, strict=True):
        p.set_data(value)
    ms.set_seed(1)


def compare(eager, compiled):
    for a, b in zip(eager, compiled, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", ALL, ids=lambda row: type(getattr(row[0], "net", row[0])).__name__)
def test_both_modes(row):
    net, inputs = row[0], row[1:]
    state = [p.value() for p in net.get_parameters()]
    fresh(net, state)
    eager, moved = tensors(net(*inputs)), [p.value() for p in net.get_parameters()]
    fresh(net, state)
    compiled = tensors(ms.jit(lambda *args: net(*args))(*inputs))
    if not isinstance(net, nn.RReLU):
        compare(eager, compiled)
    compare(moved, [p.value() for p in net.get_parameters()])

    at = next((i for i, x in enumerate(inputs) if x.dtype.is_floating_point), None)
    weights = net.trainable_params()
    if at is None or isinstance(net, nn.RReLU):
        return

    def loss(*args):
        floats = [y for y in tensors(net(*args)) if y.dtype.is_floating_point]
        return sum((y * y).sum() for y in floats)

    gradient = ms.grad(loss, at, weights) if weights else ms.grad(loss, at)
    fresh(net, state)
    eager = tensors(gradient(*inputs))
    fresh(net, state)
    compare(eager, tensors(ms.jit(gradient)(*inputs)))
    fresh(net, state)


def test_every_layer_has_a_row() -> None:
    tested = {type(cell) for row in ALL for _, cell in row[0].cells_and_names()}
    missing = []
    for family in FAMILIES:
        module = nn
        for part in family.split("."):
            module = getattr(module, part)
        layers = [getattr(module, name) for name in module.__all__ if name[0].isupper()]
        missing += [c.__name__ for c in layers if c not in tested]
    assert not missing
