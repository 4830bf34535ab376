"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import initializer
from ..common.parameter import Parameter
from ..ops.layers import move_statistics
from .cell import Cell
from .check import check_bool, check_number, check_positive

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "RMSNorm",
]


def _norm_parameter(
    init: Any, shape: tuple[int, ...], dtype: Any, name: str, learns: bool = True
) -> Parameter:
    return Parameter(initializer(init, shape, dtype), name=name, requires_grad=learns)


def _check_momentum(cls: str, eps: float, momentum: float) -> None:
    check_number(cls, eps=eps, momentum=momentum)
    if not 0 <= momentum <= 1:
        raise ValueError(f"For '{cls}', 'momentum' must be in [0, 1], but got {momentum}")


def _check_rank(cls: str, x: Tensor, ranks: tuple[int, ...]) -> None:
    if x.ndim not in ranks:
        raise ValueError(
            f"For '{cls}', the input must have {' or '.join(map(str, ranks))} axes, but its shape "
            f"is {x.shape}"
        )


class _BatchNorm(Cell):
    """Batch normalisation over all axes but the channels (axis 1) (Ioffe and Szegedy 2015).

    Training uses the batch's statistics and moves ``moving_mean`` and ``moving_variance`` by
    ``momentum * old + (1 - momentum) * batch``; evaluation uses the moving ones.
    ``use_batch_statistics`` True or False fixes which, whatever the mode.
    """

    _ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, num_features=num_features)
        _check_momentum(cls, eps, momentum)
        check_bool(cls, affine=affine)
        if data_format != "NCHW":
            raise ValueError(
                f"For '{cls}', 'data_format' {data_format!r} is not available; channels stand "
                "before the sizes (NCHW)"
            )
        if use_batch_statistics is not None:
            check_bool(cls, use_batch_statistics=use_batch_statistics)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = affine
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)
        self.moving_mean = _norm_parameter(moving_mean_init, shape, dtype, "mean", False)
        self.moving_variance = _norm_parameter(moving_var_init, shape, dtype, "variance", False)
        self.gamma = _norm_parameter(gamma_init, shape, dtype, "gamma", affine)
        self.beta = _norm_parameter(beta_init, shape, dtype, "beta", affine)

    def construct(self, x: Tensor) -> Tensor:
        _check_rank(type(self).__name__, x, self._ranks)
        fixed = self.use_batch_statistics
        return ops.batch_norm(
            x,
            self.moving_mean,
            self.moving_variance,
            self.gamma,
            self.beta,
            training=self.training if fixed is None else fixed,
            momentum=1 - self.momentum,
            eps=self.eps,
        )

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L). The settings are those of BatchNorm2d.

    >>> import diptych as ms
    >>> ms.nn.BatchNorm1d(3)(ms.ops.ones((2, 3))).shape
    (2, 3)
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W): (x - mean) / sqrt(variance + eps) * gamma + beta for
    each channel (Ioffe and Szegedy 2015).

    Args:
        num_features: the number of channels.
        eps: added to the variance.
        momentum: the weight of the old value when ``moving_mean`` and ``moving_variance`` take in a
            batch's statistics (the variance without bias).
        affine: whether ``gamma`` and ``beta`` learn.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initial values.
        use_batch_statistics: True normalises by the batch, False by the moving statistics, None by
            the batch while training.
        data_format: "NCHW".

    >>> import diptych as ms
    >>> net = ms.nn.BatchNorm2d(3).set_train()
    >>> y = net(ms.ops.randn(8, 3, 4, 4) * 5 + 2)
    >>> bool(ms.ops.abs(y.mean((0, 2, 3))).max() < 1e-4)
    True
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W). The settings are those of BatchNorm2d.

    >>> import diptych as ms
    >>> ms.nn.BatchNorm3d(3)(ms.ops.ones((2, 3, 2, 2, 2))).shape
    (2, 3, 2, 2, 2)
    """

    _ranks = (5,)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
            moving_var_init, use_batch_statistics, dtype=dtype,
        )  # fmt: skip


class _InstanceNorm(Cell):
    """What InstanceNorm1d, 2d and 3d share; a subclass sets ``_ranks``."""

    _ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls, shape = type(self).__name__, (num_features,)
        check_positive(cls, num_features=num_features)
        _check_momentum(cls, eps, momentum)
        check_bool(cls, affine=affine)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = affine
        self.moving_mean = _norm_parameter("zeros", shape, dtype, "mean", False)
        self.moving_variance = _norm_parameter("ones", shape, dtype, "variance", False)
        self.gamma = _norm_parameter(gamma_init, shape, dtype, "gamma", affine)
        self.beta = _norm_parameter(beta_init, shape, dtype, "beta", affine)

    def construct(self, x: Tensor) -> Tensor:
        _check_rank(type(self).__name__, x, self._ranks)
        if self.training:
            places = tuple(range(2, x.ndim))
            mean, variance = x.mean(places).mean(0), ops.var(x, places).mean(0)
            move_statistics(
                x[:1], self.moving_mean, self.moving_variance, mean, variance, 1 - self.momentum
            )
        return ops.instance_norm(x, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}"
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L). The settings are those of InstanceNorm2d.

    >>> import diptych as ms
    >>> ms.nn.InstanceNorm1d(3)(ms.ops.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    _ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """(x - mean) / sqrt(variance + eps) * gamma + beta over each channel of each sample of
    (N, C, H, W), in training and evaluation alike (Ulyanov et al. 2016).

    Training moves ``moving_mean`` and ``moving_variance`` (means over the batch, the variance
    without bias) with the weight ``momentum`` for the old value; they are for the record only.
    ``affine``: whether gamma and beta learn.

    >>> import diptych as ms
    >>> y = ms.nn.InstanceNorm2d(3)(ms.ops.randn(2, 3, 4, 4) * 5 + 2)
    >>> bool(ms.ops.abs(y.mean((2, 3))).max() < 1e-4)
    True
    """

    _ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W). The settings are those of InstanceNorm2d.

    >>> import diptych as ms
    >>> ms.nn.InstanceNorm3d(3)(ms.ops.ones((2, 3, 2, 2, 2))).shape
    (2, 3, 2, 2, 2)
    """

    _ranks = (5,)


class LayerNorm(Cell):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta over the axes from ``begin_norm_axis``
    on (Ba et al. 2016).

    gamma and beta have the shape ``normalized_shape`` = x.shape[begin_params_axis:].

    >>> import diptych as ms
    >>> ms.nn.LayerNorm((4,))(ms.Tensor([[1.0, 1.0, 3.0, 3.0]])).round().tolist()
    [[-1.0, -1.0, 1.0, 1.0]]
    """

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, tuple | list):
            raise TypeError(
                "For 'LayerNorm', 'normalized_shape' must be a tuple or list of ints, "
                f"but got {normalized_shape!r}"
            )
        check_number("LayerNorm", epsilon=epsilon)
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon
        self.gamma = _norm_parameter(gamma_init, self.normalized_shape, dtype, "gamma")
        self.beta = _norm_parameter(beta_init, self.normalized_shape, dtype, "beta")

    def construct(self, x: Tensor) -> Tensor:
        begin = self.begin_norm_axis + (x.ndim if self.begin_norm_axis < 0 else 0)
        shape = tuple(x.shape[begin:])
        if shape == self.normalized_shape:
            return ops.layer_norm(x, shape, self.gamma, self.beta, self.epsilon)
        return ops.layer_norm(x, shape, None, None, self.epsilon) * self.gamma + self.beta

    def extend_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class RMSNorm(Cell):
    """x / sqrt(mean(x^2) + epsilon) * weight over the last axes (Zhang and Sennrich 2019).

    ``normalized_shape``: their sizes, which are those of weight; an int for the last axis alone.

    >>> import diptych as ms
    >>> ms.nn.RMSNorm(2)(ms.Tensor([[3.0, 3.0]])).round().tolist()
    [[1.0, 1.0]]
    """

    def __init__(self, normalized_shape: Any, epsilon: float = 1e-6, dtype: Any = None) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        if not isinstance(shape, tuple | list):
            raise TypeError(
                "For 'RMSNorm', 'normalized_shape' must be an int, or a tuple or list of ints, "
                f"but got {normalized_shape!r}"
            )
        check_number("RMSNorm", epsilon=epsilon)
        self.epsilon = epsilon
        self.weight = _norm_parameter("ones", tuple(shape), dtype, "weight")

    def construct(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, self.epsilon)[0]

    def extend_repr(self) -> str:
        return f"normalized_shape={self.weight.shape}, epsilon={self.epsilon}"


class GroupNorm(Cell):
    """(x - mean) / sqrt(variance + eps) * gamma + beta over each of ``num_groups`` groups of the
    channels of (N, C, ...) (Wu and He 2018). gamma and beta: (num_channels,).

    >>> import diptych as ms
    >>> ms.nn.GroupNorm(2, 4)(ms.ops.ones((1, 4, 3, 3))).shape
    (1, 4, 3, 3)
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_positive("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(
                "For 'GroupNorm', 'num_groups' must divide 'num_channels', "
                f"but got {num_groups} and {num_channels}"
            )
        check_number("GroupNorm", eps=eps)
        check_bool("GroupNorm", affine=affine)
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        shape = (num_channels,)
        self.gamma = _norm_parameter(gamma_init, shape, dtype, "gamma", affine)
        self.beta = _norm_parameter(beta_init, shape, dtype, "beta", affine)

    def construct(self, x: Tensor) -> Tensor:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"
