"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import initializer
from ..common.parameter import Parameter
from .cell import Cell
from .check import check_positive

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm", "RMSNorm"]


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
        data_format: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, num_features=num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"For '{cls}', 'momentum' must be in [0, 1], but got {momentum}")
        if data_format not in (None, "NCHW", "NCDHW"):
            raise ValueError(f"For '{cls}', 'data_format' {data_format!r} is not available; "
                             "channels stand before the sizes (NCHW)")
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine = affine
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)

        def parameter(init: Any, name: str, learns: bool) -> Parameter:
            return Parameter(initializer(init, shape, dtype), name=name, requires_grad=learns)

        self.moving_mean = parameter(moving_mean_init, "moving_mean", False)
        self.moving_variance = parameter(moving_var_init, "moving_variance", False)
        self.gamma = parameter(gamma_init, "gamma", affine)
        self.beta = parameter(beta_init, "beta", affine)

    def construct(self, x: Tensor) -> Tensor:
        if x.ndim not in self._ranks:
            raise ValueError(
                f"For '{type(self).__name__}', the input must have "
                f"{' or '.join(map(str, self._ranks))} axes, but its shape is {x.shape}"
            )
        from_batch = self.training if self.use_batch_statistics is None else (
            self.use_batch_statistics)
        return ops.batch_norm(
            x,
            self.moving_mean,
            self.moving_variance,
            self.gamma,
            self.beta,
            training=from_batch,
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
    """Batch normalisation of (N, C) or (N, C, L)."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    _ranks = (5,)


class LayerNorm(Cell):
    """Normalises over the axes from ``begin_norm_axis`` on (Ba et al. 2016).

    gamma and beta have the shape ``normalized_shape`` = x.shape[begin_params_axis:].
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
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")

    def construct(self, x: Tensor) -> Tensor:
        begin = self.begin_norm_axis + (x.ndim if self.begin_norm_axis < 0 else 0)
        shape = tuple(x.shape[begin:])
        if shape == self.normalized_shape:
            return ops.layer_norm(x, shape, self.gamma, self.beta, self.epsilon)
        return ops.layer_norm(x, shape, None, None, self.epsilon) * self.gamma + self.beta

    def extend_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, epsilon={self.epsilon}"


class RMSNorm(Cell):
    """x / sqrt(mean(x^2) + epsilon) * weight over the last axes (Zhang and Sennrich 2019)."""

    def __init__(self, normalized_shape: Any, epsilon: float = 1e-6, dtype: Any = None) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.epsilon = epsilon
        self.weight = Parameter(initializer("ones", tuple(shape), dtype), name="weight")

    def construct(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, self.epsilon)[0]


class GroupNorm(Cell):
    """Normalises groups of channels of (N, C, ...) (Wu and He 2018)."""

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
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        shape = (num_channels,)
        self.gamma = Parameter(
            initializer(gamma_init, shape, dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(
            initializer(beta_init, shape, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"
