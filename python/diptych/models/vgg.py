"""VGG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import nn
from .._core import Tensor
from ..common.initializer import HeNormal, Normal

__all__ = [
    "VGG",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

# Channels of the convolutions of each of the five stages, by depth (columns A, B, D, E of table 1).
_CHANNELS = (64, 128, 256, 512, 512)
_COUNTS = {11: (1, 1, 2, 2, 2), 13: (2,) * 5, 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


class VGG(nn.Cell):
    """Stages of 3 x 3 convolutions, each stage with a max pool at its end, then three dense layers
    (Simonyan and Zisserman 2014, "Very deep convolutional networks for large-scale image
    recognition").

    Images (N, in_channels, H, W), 224 x 224 in the paper and never below 2 to the number of stages;
    result (N, num_classes). Children have torchvision's names: ``features.0`` ...,
    ``classifier.0``, ``.3`` and ``.6``.

    Args:
        stages: for each stage the channels of its convolutions.
        num_classes: how many outputs.
        batch_norm: a BatchNorm2d follows every convolution.
        hidden: features of the dense layers.
        dropout: probability after the first two dense layers.
        in_channels: channels of the images.

    >>> import diptych as ms
    >>> net = ms.models.VGG([(4,), (8, 8)], num_classes=3, hidden=16)
    >>> net(ms.ops.ones((2, 3, 28, 28))).shape
    (2, 3)
    """

    def __init__(
        self,
        stages: Sequence[Sequence[int]],
        num_classes: int = 1000,
        batch_norm: bool = False,
        hidden: int = 4096,
        dropout: float = 0.5,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        layers: list[nn.Cell] = []
        init, channels = HeNormal(mode="fan_out", nonlinearity="relu"), in_channels
        for stage in stages:
            for out in stage:
                layers.append(
                    nn.Conv2d(
                        channels, out, 3, pad_mode="pad", padding=1, has_bias=True,
                        weight_init=init, bias_init="zeros",
                    )
                )  # fmt: skip
                layers += [nn.BatchNorm2d(out), nn.ReLU()] if batch_norm else [nn.ReLU()]
                channels = out
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.SequentialCell(layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))

        def dense(inputs: int, outputs: int) -> nn.Dense:
            return nn.Dense(inputs, outputs, weight_init=Normal(0.01), bias_init="zeros")

        self.classifier = nn.SequentialCell(
            dense(channels * 7 * 7, hidden), nn.ReLU(), nn.Dropout(p=dropout),
            dense(hidden, hidden), nn.ReLU(), nn.Dropout(p=dropout),
            dense(hidden, num_classes),
        )  # fmt: skip

    def construct(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(x.reshape((x.shape[0], -1)))


def _vgg(depth: int, settings: dict[str, Any]) -> VGG:
    return VGG([(c,) * n for c, n in zip(_CHANNELS, _COUNTS[depth], strict=True)], **settings)


def vgg11(**settings: Any) -> VGG:
    """VGG with 11 layers, 132,863,336 parameters; settings are VGG's."""
    return _vgg(11, settings)


def vgg13(**settings: Any) -> VGG:
    """VGG with 13 layers, 133,047,848 parameters; settings are VGG's."""
    return _vgg(13, settings)


def vgg16(**settings: Any) -> VGG:
    """VGG with 16 layers, 138,357,544 parameters; settings are VGG's."""
    return _vgg(16, settings)


def vgg19(**settings: Any) -> VGG:
    """VGG with 19 layers, 143,667,240 parameters; settings are VGG's."""
    return _vgg(19, settings)


def vgg11_bn(**settings: Any) -> VGG:
    """vgg11 with batch normalisation, 132,868,840 parameters."""
    return _vgg(11, {**settings, "batch_norm": True})


def vgg13_bn(**settings: Any) -> VGG:
    """vgg13 with batch normalisation, 133,053,736 parameters."""
    return _vgg(13, {**settings, "batch_norm": True})


def vgg16_bn(**settings: Any) -> VGG:
    """vgg16 with batch normalisation, 138,365,992 parameters."""
    return _vgg(16, {**settings, "batch_norm": True})


def vgg19_bn(**settings: Any) -> VGG:
    """vgg19 with batch normalisation, 143,678,248 parameters."""
    return _vgg(19, {**settings, "batch_norm": True})
