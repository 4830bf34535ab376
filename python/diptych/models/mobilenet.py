"""MobileNetV2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import nn
from .._core import Tensor
from ..common.initializer import HeNormal, Normal
from ..nn.check import check_number

__all__ = ["InvertedResidual", "MobileNetV2", "mobilenet_v2"]

# Expansion, channels, blocks and first stride of each stage (table 2 of the paper).
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def _divisible(channels: float) -> int:
    """The nearest multiple of 8, at least 8 and no less than 90 % of ``channels``."""
    made = max(8, int(channels + 4) // 8 * 8)
    return made + 8 if made < 0.9 * channels else made


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, group: int = 1) -> nn.Conv2d:
    pads = {"pad_mode": "pad", "padding": kernel // 2}
    init = HeNormal(mode="fan_out", nonlinearity="relu")
    return nn.Conv2d(inputs, outputs, kernel, stride, group=group, weight_init=init, **pads)


def _unit(*settings: int) -> nn.SequentialCell:
    """Convolution, norm and ReLU6."""
    conv = _conv(*settings)
    return nn.SequentialCell(conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU6())


class InvertedResidual(nn.Cell):
    """1 x 1 convolution to ``expand`` times the channels, depthwise 3 x 3, and a linear 1 x 1 back;
    the input is added where shapes agree. (N, inputs, H, W) to (N, outputs, H / stride,
    W / stride).

    >>> import diptych as ms
    >>> ms.models.InvertedResidual(4, 8, stride=2, expand=6)(ms.ops.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        hidden = inputs * expand
        self.is_residual = stride == 1 and inputs == outputs
        self.conv = nn.SequentialCell(
            *([_unit(inputs, hidden, 1)] if expand != 1 else []),
            _unit(hidden, hidden, 3, stride, hidden),
            _conv(hidden, outputs, 1),
            nn.BatchNorm2d(outputs),
        )

    def construct(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.is_residual else self.conv(x)


class MobileNetV2(nn.Cell):
    """Inverted residuals with linear bottlenecks (Sandler et al. 2018, "MobileNetV2: inverted
    residuals and linear bottlenecks").

    Images (N, in_channels, H, W), 224 x 224 in the paper; result (N, num_classes). Children have
    torchvision's names: ``features.0.0``, ``features.1.conv.0.0`` ..., ``classifier.1``.

    Args:
        num_classes: how many outputs.
        width_mult: scales the channels of every layer, the last only upwards.
        stages: rows (expansion, channels, blocks, first stride); the paper's when left out.
        dropout: probability before the dense layer.
        in_channels: channels of the images.

    >>> import diptych as ms
    >>> net = ms.models.MobileNetV2(num_classes=5, stages=[(1, 8, 1, 1), (6, 16, 2, 2)])
    >>> net(ms.ops.ones((2, 3, 16, 16))).shape
    (2, 5)
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        stages: Sequence[Sequence[int]] = _STAGES,
        dropout: float = 0.2,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        check_number("MobileNetV2", width_mult=width_mult)
        if not 0 < width_mult < math.inf:
            raise ValueError(
                f"For 'MobileNetV2', 'width_mult' must be positive and finite, but got {width_mult}"
            )
        channels = _divisible(32 * width_mult)
        layers: list[nn.Cell] = [_unit(in_channels, channels, 3, 2)]
        for expand, wanted, count, stride in stages:
            outputs = _divisible(wanted * width_mult)
            for i in range(count):
                layers.append(InvertedResidual(channels, outputs, stride if i == 0 else 1, expand))
                channels = outputs
        last = _divisible(1280 * max(1.0, width_mult))
        self.features = nn.SequentialCell(*layers, _unit(channels, last, 1))
        dense = nn.Dense(last, num_classes, weight_init=Normal(0.01), bias_init="zeros")
        self.classifier = nn.SequentialCell(nn.Dropout(p=dropout), dense)

    def construct(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


def mobilenet_v2(**settings: Any) -> MobileNetV2:
    """MobileNetV2 of the paper, 3,504,872 parameters; settings are MobileNetV2's."""
    return MobileNetV2(**settings)
