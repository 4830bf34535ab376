"""The nets of ms.models: published parameter counts, shapes, errors, training in both modes."""

import math
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


# ---- against the formulas in double


class Weights:
    """The weights of a net in double, and the formulas of its layers, by name."""

    def __init__(self, net: nn.Cell) -> None:
        self.of = {p.name: p.asnumpy().astype(np.float64) for p in net.get_parameters()}

    def dense(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.of[f"{name}.weight"].T + self.of[f"{name}.bias"]

    def norm(self, name: str, x: np.ndarray, epsilon: float) -> np.ndarray:
        spread = np.sqrt(x.var(-1, keepdims=True) + epsilon)
        centred = (x - x.mean(-1, keepdims=True)) / spread
        return centred * self.of[f"{name}.gamma"] + self.of[f"{name}.beta"]

    def rows(self, name: str, ids: Any) -> np.ndarray:
        return self.of[f"{name}.embedding_table"][ids]


def attention(projected: np.ndarray, heads: int, causal: bool) -> np.ndarray:
    """Of (N, L, 3 features): queries, keys and values side by side."""
    n, length, size = projected.shape
    parts = projected.reshape(n, length, 3, heads, size // 3 // heads)
    q, k, v = np.moveaxis(parts, (2, 3), (0, 2))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ v
    return np.swapaxes(out, 1, 2).reshape(n, length, size // 3)


def stirred(net: nn.Cell) -> nn.Cell:
    """The net with weights that make every part count."""
    for p in net.get_parameters():
        p.set_data(p + images(*p.shape) * 0.3)
    return net.set_train(False)


def test_gpt_is_its_formula() -> None:
    net, x = stirred(models.GPT(20, 8, 16, 2, 4)), tokens(3, 5, 20)
    w, ids = Weights(net), x.asnumpy()
    y = w.rows("wte", ids) + w.rows("wpe", range(5))
    for i in range(2):
        projected = w.dense(f"h.{i}.attn.c_attn", w.norm(f"h.{i}.ln_1", y, 1e-5))
        y = y + w.dense(f"h.{i}.attn.c_proj", attention(projected, 4, True))
        z = w.dense(f"h.{i}.mlp.c_fc", w.norm(f"h.{i}.ln_2", y, 1e-5))
        z = 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
        y = y + w.dense(f"h.{i}.mlp.c_proj", z)
    expected = w.norm("ln_f", y, 1e-5) @ w.of["wte.embedding_table"].T
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-4)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


def test_bert_is_its_formula() -> None:
    net, x, kinds = stirred(TINY["Bert"][0]()), tokens(3, 5, 20), tokens(3, 5, 2)
    w = Weights(net)
    y = w.rows("bert.embeddings.word_embeddings", x.asnumpy())
    y = y + w.rows("bert.embeddings.token_type_embeddings", kinds.asnumpy())
    y = y + w.rows("bert.embeddings.position_embeddings", range(5))
    y = w.norm("bert.embeddings.LayerNorm", y, 1e-12)
    for i in range(2):
        at = f"bert.encoder.layers.{i}"
        projected = y @ w.of[f"{at}.self_attn.in_proj_weight"].T
        projected = projected + w.of[f"{at}.self_attn.in_proj_bias"]
        z = w.dense(f"{at}.self_attn.out_proj", attention(projected, 4, False))
        y = w.norm(f"{at}.norm1", y + z, 1e-12)
        z = w.dense(f"{at}.dense2", gelu(w.dense(f"{at}.dense1", y)))
        y = w.norm(f"{at}.norm2", y + z, 1e-12)
    follows = w.dense("seq_relationship", np.tanh(w.dense("bert.pooler", y[:, 0])))
    y = w.norm("LayerNorm", gelu(w.dense("transform", y)), 1e-12)
    words = y @ w.of["bert.embeddings.word_embeddings.embedding_table"].T + w.of["bias"]
    for found, expected in zip(net(x, kinds), (words, follows), strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-4, atol=1e-4)


# ---- what the architecture promises


@pytest.mark.parametrize("name", ["GPT", "Bert", "VisionTransformer"])
def test_layers_start_with_their_own_weights(name: str) -> None:
    drawn = [p.asnumpy() for p in TINY[name][0]().trainable_params() if p.ndim == 2]
    for i, a in enumerate(drawn):
        assert not any(a.shape == b.shape and np.array_equal(a, b) for b in drawn[:i])
        assert 0.001 < a.std() < 0.03


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
    (lambda: models.GPT(20, 8, 16, 0, 2), "'n_layer' must be"),
    (lambda: models.MobileNetV2(width_mult=0), "'width_mult' must be positive"),
    (lambda: models.BertModel(20, 0), "'hidden_size' must be"),
    (lambda: models.VisionTransformer(10, 4), "'patch_size' must divide 'image_size'"),
    (lambda: models.ResNet(models.BasicBlock, (1, 1)), "'layers' must tell the blocks"),
    (lambda: models.GPT(20, 8, 16, 1, 2)(tokens(1, 9, 20)), r"L in \[1, 8\], but got \(1, 9\)"),
    (lambda: TINY["VisionTransformer"][0]()(images(1, 3, 9, 9)), "images must have the shape"),
])  # fmt: skip
def test_errors_name_argument_and_range(call: Callable, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
