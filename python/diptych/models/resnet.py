"""ResNet 18 to 152."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import nn, ops
from .._core import Tensor
from ..common.initializer import HeNormal

__all__ = [
    "BasicBlock",
    "Bottleneck",
    "ResNet",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
]


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    init = HeNormal(mode="fan_out", nonlinearity="relu")
    pads = {"pad_mode": "pad", "padding": kernel // 2}
    return nn.Conv2d(inputs, outputs, kernel, stride, weight_init=init, **pads)


def _shortcut(inputs: int, outputs: int, stride: int) -> nn.Cell:
    """What brings the block's input to its output's shape."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.SequentialCell(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class BasicBlock(nn.Cell):
    """Two 3 x 3 convolutions beside a shortcut: (N, inputs, H, W) to (N, channels, H / stride,
    W / stride).

    >>> import diptych as ms
    >>> ms.models.BasicBlock(4, 8, stride=2)(ms.ops.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    expansion = 1

    def __init__(self, inputs: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = _conv(inputs, channels, 3, stride)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = _conv(channels, channels, 3)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = _shortcut(inputs, channels, stride)

    def construct(self, x: Tensor) -> Tensor:
        out = ops.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return ops.relu(out + self.downsample(x))


class Bottleneck(nn.Cell):
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut: (N, inputs, H, W) to (N, 4 channels,
    H / stride, W / stride). The 3 x 3 convolution takes the stride, as in torchvision.

    >>> import diptych as ms
    >>> ms.models.Bottleneck(4, 8, stride=2)(ms.ops.ones((1, 4, 6, 6))).shape
    (1, 32, 3, 3)
    """

    expansion = 4

    def __init__(self, inputs: int, channels: int, stride: int = 1) -> None:
        super().__init__()
        outputs = channels * self.expansion
        self.conv1 = _conv(inputs, channels, 1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = _conv(channels, channels, 3, stride)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = _conv(channels, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = _shortcut(inputs, outputs, stride)

    def construct(self, x: Tensor) -> Tensor:
        out = ops.relu(self.bn1(self.conv1(x)))
        out = ops.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return ops.relu(out + self.downsample(x))


class ResNet(nn.Cell):
    """A 7 x 7 convolution, four stages of residual blocks, the mean over the image and a dense
    layer (He et al. 2015, "Deep residual learning for image recognition").

    Images (N, in_channels, H, W), 224 x 224 in the paper; result (N, num_classes). Children have
    torchvision's names: ``conv1``, ``bn1``, ``layer1.0.conv1`` ..., ``layer2.0.downsample.0``,
    ``fc``.

    Args:
        block: BasicBlock or Bottleneck.
        layers: how many blocks each of the four stages has.
        num_classes: how many outputs.
        in_channels: channels of the images.
        width: channels of the first stage; each later one has twice as many.

    >>> import diptych as ms
    >>> net = ms.models.ResNet(ms.models.BasicBlock, (1, 1, 1, 1), num_classes=10, width=4)
    >>> net(ms.ops.ones((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        layers: Sequence[int],
        num_classes: int = 1000,
        in_channels: int = 3,
        width: int = 64,
    ) -> None:
        super().__init__()
        if len(layers) != 4:
            raise ValueError(
                f"For 'ResNet', 'layers' must tell the blocks of 4 stages, but got {layers!r}"
            )
        self.conv1 = _conv(in_channels, width, 7, 2)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        self._channels = width
        self.layer1 = self._stage(block, width, layers[0], 1)
        self.layer2 = self._stage(block, 2 * width, layers[1], 2)
        self.layer3 = self._stage(block, 4 * width, layers[2], 2)
        self.layer4 = self._stage(block, 8 * width, layers[3], 2)
        self.fc = nn.Dense(self._channels, num_classes)

    def _stage(self, block: Any, channels: int, count: int, stride: int) -> nn.SequentialCell:
        blocks = []
        for i in range(count):
            blocks.append(block(self._channels, channels, stride if i == 0 else 1))
            self._channels = channels * block.expansion
        return nn.SequentialCell(blocks)

    def construct(self, x: Tensor) -> Tensor:
        x = self.maxpool(ops.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def resnet18(**settings: Any) -> ResNet:
    """ResNet with 18 layers, 11,689,512 parameters; settings are ResNet's."""
    return ResNet(BasicBlock, (2, 2, 2, 2), **settings)


def resnet34(**settings: Any) -> ResNet:
    """ResNet with 34 layers, 21,797,672 parameters; settings are ResNet's."""
    return ResNet(BasicBlock, (3, 4, 6, 3), **settings)


def resnet50(**settings: Any) -> ResNet:
    """ResNet with 50 layers, 25,557,032 parameters; settings are ResNet's."""
    return ResNet(Bottleneck, (3, 4, 6, 3), **settings)


def resnet101(**settings: Any) -> ResNet:
    """ResNet with 101 layers, 44,549,160 parameters; settings are ResNet's."""
    return ResNet(Bottleneck, (3, 4, 23, 3), **settings)


def resnet152(**settings: Any) -> ResNet:
    """ResNet with 152 layers, 60,192,808 parameters; settings are ResNet's."""
    return ResNet(Bottleneck, (3, 8, 36, 3), **settings)
