"""The shared workloads: the same nets, batches, losses and optimisers as in the peers' scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diptych as ms
from diptych import nn, ops


class Gpt(nn.Cell):
    """6 blocks, width 384, 6 heads, context 256, vocabulary 256, pre-LayerNorm, tanh-GELU."""

    def __init__(self, vocab: int = 256, context: int = 256, depth: int = 6, width: int = 384,
                 heads: int = 6) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.CellList([GptBlock(width, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm((width,), epsilon=1e-5)
        self.head = nn.Dense(width, vocab, has_bias=False)
        self.places = ops.arange(context)

    def construct(self, ids: ms.Tensor) -> ms.Tensor:
        h = self.token(ids) + self.place(self.places)
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


class GptBlock(nn.Cell):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm((width,), epsilon=1e-5)
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.norm2 = nn.LayerNorm((width,), epsilon=1e-5)
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU(approximate=True)

    def construct(self, h: ms.Tensor) -> ms.Tensor:
        b, t, d = h.shape
        q, k, v = ops.chunk(self.qkv(self.norm1(h)), 3, -1)
        q, k, v = (ops.transpose(a.reshape(b, t, self.heads, -1), (0, 2, 1, 3)) for a in (q, k, v))
        a = ops.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + self.out(ops.transpose(a, (0, 2, 1, 3)).reshape(b, t, d))
        return h + self.down(self.gelu(self.up(self.norm2(h))))


class LstmNet(nn.Cell):
    """LSTM 128 -> 256 over 64 steps, Dense 256 -> 10 on the last."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head = nn.LSTM(128, 256, batch_first=True), nn.Dense(256, 10)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.rnn(x)[0][:, -1])


class Dynamic(nn.Cell):
    """Ten Dense 256 -> 256; 8 of them if x.sum() > 0, else 5."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.CellList([nn.Dense(256, 256) for _ in range(10)])

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        used = 8 if x.sum() > 0 else 5
        for i in range(used):
            x = self.layers[i](x)
        return x


class Bottleneck(nn.Cell):
    """1x1, 3x3 (with the stride), 1x1 to 4 x width, and the shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.down = None
        if stride != 1 or channels != 4 * width:
            self.down = nn.SequentialCell(
                nn.Conv2d(channels, 4 * width, 1, stride), nn.BatchNorm2d(4 * width))

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        y = ops.relu(self.bn1(self.conv1(x)))
        y = ops.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return ops.relu(y + (x if self.down is None else self.down(x)))


class Resnet50(nn.Cell):
    """ResNet-50 v1.5 (He et al. 2016, stride on the 3x3)."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, pad_mode="pad", padding=3)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        blocks, channels = [], 64
        for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(depth):
                blocks.append(Bottleneck(channels, width, stride if i == 0 else 1))
                channels = 4 * width
        self.blocks = nn.SequentialCell(blocks)
        self.head = nn.Dense(channels, classes)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        x = self.pool(ops.relu(self.bn1(self.conv1(x))))
        x = self.blocks(x)
        return self.head(ops.mean(x, (2, 3)))


def dense() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(1024, 2048), nn.Dense(2048, 1024))


def mlp() -> nn.Cell:
    return nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 64), nn.ReLU(),
                             nn.Dense(64, 10))


def chain(x: ms.Tensor, y: ms.Tensor) -> ms.Tensor:
    z = x * 2.0 + y
    z = ops.tanh(z) * ops.sigmoid(x) + ops.exp(-y * y)
    z = (z - z.mean(-1, keep_dims=True)) / (z.std(-1, ddof=1, keepdims=True) + 1e-5)
    return ops.softmax(ops.gelu(z, approximate="tanh") + x, -1)


def _labels(high: int, *shape: int) -> ms.Tensor:
    return ops.randint(0, high, shape)


# work -> (net, input, labels, optimiser, items a step)
TRAINED: dict[str, Callable[[], tuple[nn.Cell, Any, ms.Tensor, str, int]]] = {
    "resnet50": lambda: (Resnet50(), ops.randn((16, 3, 224, 224)), _labels(1000, 16), "sgd", 16),
    "gpt": lambda: (Gpt(), _labels(256, 8, 256), _labels(256, 8, 256), "adamw", 8 * 256),
    "lstm": lambda: (LstmNet(), ops.randn((32, 64, 128)), _labels(10, 32), "adam", 32),
    "dense": lambda: (dense(), ops.randn((32, 1024)), _labels(1024, 32), "adam", 32),
    "mlp": lambda: (mlp(), ops.randn((32, 64)), _labels(10, 32), "adam", 32),
    "dynamic": lambda: (Dynamic(), ops.abs(ops.randn((32, 256))), _labels(256, 32), "sgd", 32),
}

_OPTIMISERS = {
    "sgd": lambda p: nn.Momentum(p, 0.01, 0.9),
    "adam": lambda p: nn.Adam(p, 1e-3),
    "adamw": lambda p: nn.AdamW(p, 3e-4),
}


def trainer(work: str, dtype: str, mode: str) -> tuple[Callable[[], float], int]:
    """(a function that runs one training step and gives the loss, items a step). ``mode``: "eager",
    or "compile": the whole step, optimiser included, is one graph."""
    net, x, y, name, items = TRAINED[work]()
    net.set_train()
    optimizer = _OPTIMISERS[name](net.trainable_params())
    loss_fn = nn.CrossEntropyLoss()
    labels = y.reshape(-1)
    if dtype == "bf16":
        net.to_float(ms.bfloat16)

    def step(x: ms.Tensor) -> ms.Tensor:
        out = net(x)
        loss = loss_fn(out.reshape(-1, out.shape[-1]).astype(ms.float32), labels)
        loss.backward()
        optimizer.step()
        return loss

    if mode == "compile":
        step = ms.jit(step)
    if work == "dynamic":
        negative = -x
        return (lambda: float(step(x)) + float(step(negative))), items
    return (lambda: float(step(x))), items
