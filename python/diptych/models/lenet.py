"""LeNet-5."""

from __future__ import annotations

from .. import nn, ops
from .._core import Tensor

__all__ = ["LeNet5"]


class LeNet5(nn.Cell):
    """Two convolutions and three dense layers (LeCun et al. 1998, "Gradient-based learning applied
    to document recognition"), with ReLU and max pooling as is usual today.

    Images (N, num_channel, 32, 32), result (N, num_class); 61,706 parameters. Images of 28 x 28 get
    a border of 2 first.

    >>> import diptych as ms
    >>> net = ms.models.LeNet5(num_class=10)
    >>> net(ms.ops.ones((2, 1, 32, 32))).shape
    (2, 10)
    """

    def __init__(self, num_class: int = 10, num_channel: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.max_pool2d = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, num_class)

    def construct(self, x: Tensor) -> Tensor:
        x = self.max_pool2d(ops.relu(self.conv1(x)))
        x = self.max_pool2d(ops.relu(self.conv2(x)))
        x = x.reshape((x.shape[0], -1))
        x = ops.relu(self.fc1(x))
        return self.fc3(ops.relu(self.fc2(x)))
