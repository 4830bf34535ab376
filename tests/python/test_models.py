"""The nets of ms.models: published parameter counts, shapes, errors, training in both modes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import models, nn, ops
from diptych.common import initializer

RNG = np.random.default_rng(5)

# Of torchvision's pages of models; GPT, BERT: of the published checkpoints; LeNet-5: by hand from
# the sizes in the paper.
COUNTS = {
    "LeNet5": 61_706,
    "vgg11": 132_863_336,
    "vgg13": 133_047_848,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "vgg11_bn": 132_868_840,
    "vgg13_bn": 133_053_736,
    "vgg16_bn": 138_365_992,
    "vgg19_bn": 143_678_248,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "mobilenet_v2": 3_504_872,
    "GPT": 124_439_808,
    "BertModel": 109_482_240,
    "BertForPreTraining": 110_106_428,
    "vit_b_16": 86_567_656,
}


def images(*shape: int) -> ms.Tensor:
    return ms.Tensor(RNG.standard_normal(shape).astype(np.float32))


def tokens(n: int, length: int, vocabulary: int) -> ms.Tensor:
    return ms.Tensor(RNG.integers(0, vocabulary, (n, length)).astype(np.int32))


def count(net: nn.Cell) -> int:
    return sum(p.size for p in net.trainable_params())


@pytest.fixture
def unfilled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights start as zeros: large nets are quickly made."""
    for kind in vars(initializer).values():
        if isinstance(kind, type) and "make" in vars(kind):
            monkeypatch.setattr(kind, "make", lambda self, shape, dtype: ops.zeros(shape, dtype))


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_as_many_as_published(name: str, unfilled: None) -> None:
    assert count(getattr(models, name)()) == COUNTS[name]


@pytest.mark.parametrize(("size", "millions"), [(650, 20), (1500, 66)])
def test_lstm_language_models_are_as_large_as_published(size, millions, unfilled) -> None:
    net = models.LSTMLanguageModel(embedding_size=size, hidden_size=size)
    assert round(count(net) / 1e6) == millions


TINY: dict[str, tuple[Callable[[], nn.Cell], ms.Tensor, int]] = {
    "LeNet5": (lambda: models.LeNet5(5), images(4, 1, 32, 32), 5),
    "VGG": (lambda: models.VGG([(4,), (8, 8)], 5, hidden=16), images(4, 3, 28, 28), 5),
    "VGG-bn": (lambda: models.VGG([(4,), (8, 8)], 5, True, 16), images(4, 3, 28, 28), 5),
    "ResNet-basic": (
        lambda: models.ResNet(models.BasicBlock, (1, 2, 1, 1), 5, width=4),
        images(4, 3, 64, 64),
        5,
    ),
    "ResNet-bottleneck": (
        lambda: models.ResNet(models.Bottleneck, (1, 2, 1, 1), 5, width=4),
        images(4, 3, 64, 64),
        5,
    ),
    "MobileNetV2": (
        lambda: models.MobileNetV2(5, stages=[(1, 8, 1, 1), (6, 16, 2, 2)]),
        images(4, 3, 16, 16),
        5,
    ),
    "LSTMLanguageModel": (lambda: models.LSTMLanguageModel(20, 8, 16), tokens(3, 5, 20), 20),
    "GPT": (lambda: models.GPT(20, 8, 16, 2, 4), tokens(3, 5, 20), 20),
    "Bert": (
        lambda: models.BertForPreTraining(20, 16, 2, 4, 32, max_position_embeddings=8),
        tokens(3, 5, 20),
        20,
    ),
    "VisionTransformer": (
        lambda: models.VisionTransformer(8, 4, 2, 2, 16, 32, 5, dropout=0.1),
        images(4, 3, 8, 8),
        5,
    ),
}


def logits_of(result: Any) -> ms.Tensor:
    """The logits, which language models return with more."""
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", TINY)
def test_shapes(name: str) -> None:
    make, x, classes = TINY[name]
    lead = x.shape if x.ndim == 2 else x.shape[:1]
    out = logits_of(make().set_train(False)(x))
    assert out.shape == (*lead, classes) and out.dtype == ms.float32
    assert np.isfinite(out.asnumpy()).all()


def train(name: str, compiled: bool) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses of three steps and the weights after them."""
    make, x, classes = TINY[name]
    ms.set_seed(7)
    net = make().set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    targets = ops.arange(x.size if x.ndim == 2 else len(x)) % classes

    def forward(x: ms.Tensor, targets: ms.Tensor) -> ms.Tensor:
        logits = logits_of(net(x))
        return ops.cross_entropy(logits.reshape((-1, logits.shape[-1])), targets)

    differentiated = ms.value_and_grad(forward, None, optimizer.parameters)

    def step(x: ms.Tensor, targets: ms.Tensor) -> ms.Tensor:
        loss, grads = differentiated(x, targets)
        optimizer(grads)
        return loss

    if compiled:
        step = ms.jit(step)
    losses = [float(step(x, targets)) for _ in range(3)]
    return losses, {p.name: p.asnumpy() for p in net.get_parameters()}


@pytest.mark.parametrize("name", TINY)
def test_training_is_the_same_in_both_modes(name: str) -> None:
    losses, weights = train(name, False)
    same_losses, same_weights = train(name, True)
    assert losses == same_losses and len(set(losses)) == 3
    for key, value in weights.items():
        np.testing.assert_array_equal(value, same_weights[key], err_msg=key)


# ---- what the architecture promises


def test_gpt_does_not_look_ahead() -> None:
    net, x = TINY["GPT"][0]().set_train(False), tokens(2, 6, 20).asnumpy().copy()
    before = net(ms.Tensor(x)).asnumpy()
    x[:, 4:] = (x[:, 4:] + 1) % 20
    after = net(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(before[:, :4], after[:, :4], rtol=1e-5, atol=1e-6)
    assert not np.allclose(before[:, 4:], after[:, 4:])


def test_bert_does_not_see_padding() -> None:
    net, x = models.BertModel(20, 16, 2, 4, 32).set_train(False), tokens(2, 6, 20).asnumpy()
    mask = ms.Tensor(np.array([[1] * 4 + [0] * 2] * 2, np.int32))
    sequence, pooled = net(ms.Tensor(x), None, mask)
    short, short_pooled = net(ms.Tensor(x[:, :4]))
    np.testing.assert_allclose(sequence[:, :4].asnumpy(), short.asnumpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pooled.asnumpy(), short_pooled.asnumpy(), rtol=1e-4, atol=1e-5)


def test_lstm_carries_its_state() -> None:
    net, x = TINY["LSTMLanguageModel"][0]().set_train(False), tokens(2, 6, 20)
    whole, _ = net(x)
    first, state = net(x[:, :2])
    second, _ = net(x[:, 2:], state)
    parts = ops.concat([first, second], 1)
    np.testing.assert_allclose(whole.asnumpy(), parts.asnumpy(), rtol=1e-5, atol=1e-6)


def test_names_are_torchvisions() -> None:
    net = TINY["ResNet-basic"][0]()
    names = {p.name for p in net.get_parameters()}
    assert {"conv1.weight", "bn1.gamma", "layer2.1.conv2.weight", "fc.bias"} <= names
    assert {"layer2.0.downsample.0.weight", "layer2.0.downsample.1.moving_mean"} <= names
    names = {p.name for p in TINY["MobileNetV2"][0]().get_parameters()}
    assert {"features.0.0.weight", "features.2.conv.1.1.beta", "classifier.1.weight"} <= names


@pytest.mark.parametrize(("call", "message"), [
    (lambda: models.GPT(20, 8, 10, 1, 3), "'n_head' must divide 'n_embd', but got 3 and 10"),
    (lambda: models.BertModel(20, 0), "'hidden_size' must be"),
    (lambda: models.VisionTransformer(10, 4), "'patch_size' must divide 'image_size'"),
    (lambda: models.ResNet(models.BasicBlock, (1, 1)), "'layers' must tell the blocks"),
    (lambda: models.GPT(20, 8, 16, 1, 2)(tokens(1, 9, 20)), r"L in \[1, 8\], but got \(1, 9\)"),
    (lambda: TINY["VisionTransformer"][0]()(images(1, 3, 9, 9)), "images must have the shape"),
])  # fmt: skip
def test_errors_name_argument_and_range(call: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
