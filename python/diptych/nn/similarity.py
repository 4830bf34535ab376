"""How alike two batches of images are: PSNR, SSIM and MS-SSIM; and gradients of images."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from .cell import Cell
from .check import check_number, check_positive, check_tensor

__all__ = ["MSSSIM", "PSNR", "SSIM", "ImageGradients"]


def _check_max(cls: str, max_val: Any) -> None:
    check_number(cls, max_val=max_val)
    if max_val <= 0:
        raise ValueError(f"For '{cls}', 'max_val' must be positive, but got {max_val}")


def _check_images(cls: str, img1: Tensor, img2: Tensor) -> None:
    check_tensor(cls, img1=img1, img2=img2)
    if img1.ndim != 4 or img1.shape != img2.shape:
        raise ValueError(
            f"For '{cls}', 'img1' and 'img2' must have one shape (N, C, H, W), but got "
            f"{img1.shape} and {img2.shape}"
        )
    if img1.dtype != img2.dtype:
        raise TypeError(
            f"For '{cls}', 'img1' and 'img2' must have one dtype, but got {img1.dtype.name} and "
            f"{img2.dtype.name}"
        )


def _as_float(x: Tensor) -> Tensor:
    return x if x.dtype.is_floating_point else x.astype(ops.float32)


class PSNR(Cell):
    """Peak signal-to-noise ratio 10 log10(max_val^2 / mean squared difference) of each image of two
    batches (N, C, H, W); the result is (N,).

    >>> import diptych as ms
    >>> a = ms.ops.zeros((1, 1, 4, 4))
    >>> round(float(ms.nn.PSNR()(a, a + 0.1)), 4)
    20.0
    """

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        _check_max("PSNR", max_val)
        self.max_val = max_val

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _check_images("PSNR", img1, img2)
        squares = ops.square(_as_float(img1) - _as_float(img2)).mean((1, 2, 3))
        return ops.log10(self.max_val**2 / squares) * 10


class _Similarity(Cell):
    """The terms of SSIM by a Gaussian window."""

    def __init__(
        self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        _check_max(cls, max_val)
        check_positive(cls, filter_size=filter_size)
        for name, value in (("filter_sigma", filter_sigma), ("k1", k1), ("k2", k2)):
            if not isinstance(value, float):
                raise TypeError(f"For '{cls}', '{name}' must be a float, but got {value!r}")
        if filter_sigma <= 0:
            raise ValueError(
                f"For '{cls}', 'filter_sigma' must be positive, but got {filter_sigma}"
            )
        self.max_val, self.filter_size = max_val, filter_size
        self.c1, self.c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
        middle = (filter_size - 1) / 2
        weights = [math.exp(-0.5 * ((i - middle) / filter_sigma) ** 2) for i in range(filter_size)]
        total = sum(weights)
        self.window = Tensor([w / total for w in weights])

    def _blur(self, x: Tensor) -> Tensor:
        """Weighted means of the whole windows of (M, 1, H, W)."""
        window = self.window.astype(x.dtype)
        rows = ops.conv2d(x, window.reshape((1, 1, -1, 1)))
        return ops.conv2d(rows, window.reshape((1, 1, 1, -1)))

    def _terms(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """(luminance * contrast * structure, contrast * structure), means (N, C)."""
        n, c, h, w = a.shape
        if h < self.filter_size or w < self.filter_size:
            raise ValueError(
                f"For '{type(self).__name__}', images of {h} x {w} are smaller than the window of "
                f"'filter_size' {self.filter_size}"
            )
        a, b = a.reshape((n * c, 1, h, w)), b.reshape((n * c, 1, h, w))
        mean_a, mean_b = self._blur(a), self._blur(b)
        products, squares = mean_a * mean_b, mean_a * mean_a + mean_b * mean_b
        covariance = self._blur(a * b) - products
        variances = self._blur(a * a + b * b) - squares
        shape = (2 * covariance + self.c2) / (variances + self.c2)
        light = (2 * products + self.c1) / (squares + self.c1)
        return tuple(t.mean((1, 2, 3)).reshape((n, c)) for t in (light * shape, shape))


class SSIM(_Similarity):
    """Structural similarity of each image of two batches (N, C, H, W), 1 for equal images; the
    result is (N,) (Wang et al. 2004).

    The mean over places and channels of
    (2 mx my + c1) (2 sxy + c2) / ((mx^2 + my^2 + c1) (sx^2 + sy^2 + c2)) with means, variances and
    covariance in Gaussian windows, c1 = (k1 max_val)^2 and c2 = (k2 max_val)^2.

    >>> import diptych as ms
    >>> a = ms.ops.rand(2, 3, 16, 16)
    >>> ms.nn.SSIM()(a, a).round().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _check_images("SSIM", img1, img2)
        return self._terms(_as_float(img1), _as_float(img2))[0].mean(1)


class MSSSIM(_Similarity):
    """Multi-scale structural similarity of each image of two batches (N, C, H, W); the result is
    (N,) (Wang et al. 2003).

    The contrast and structure terms of SSIM at each scale but the last, and SSIM at the last, each
    to its power of ``power_factors``, multiplied; every scale halves the images by means of 2 x 2.

    >>> import diptych as ms
    >>> a = ms.ops.rand(2, 1, 64, 64)
    >>> ms.nn.MSSSIM(power_factors=(0.3, 0.3, 0.4))(a, a).round().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        if not isinstance(power_factors, tuple | list):
            raise TypeError(
                f"For 'MSSSIM', 'power_factors' must be a tuple or list, but got {power_factors!r}"
            )
        self.power_factors = tuple(power_factors)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _check_images("MSSSIM", img1, img2)
        a, b = _as_float(img1), _as_float(img2)
        result: Any = 1
        last = len(self.power_factors) - 1
        for i, power in enumerate(self.power_factors):
            whole, shape = self._terms(a, b)
            result = result * ops.pow(ops.relu(whole if i == last else shape), power)
            if i != last:
                a, b = ops.avg_pool2d(a, 2, 2), ops.avg_pool2d(b, 2, 2)
        return result.mean(1)


class ImageGradients(Cell):
    """(dy, dx) of (N, C, H, W): differences to the next row and the next column, 0 at the last.

    >>> import diptych as ms
    >>> dy, dx = ms.nn.ImageGradients()(ms.Tensor([[[[1.0, 2.0], [4.0, 8.0]]]]))
    >>> dy.tolist(), dx.tolist()
    ([[[[3.0, 6.0], [0.0, 0.0]]]], [[[[1.0, 0.0], [4.0, 0.0]]]])
    """

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        check_tensor("ImageGradients", images=images)
        if images.ndim != 4:
            raise ValueError(
                f"For 'ImageGradients', the input must have 4 axes, but its shape is {images.shape}"
            )
        dy = images[:, :, 1:] - images[:, :, :-1]
        dx = images[..., 1:] - images[..., :-1]
        return ops.pad(dy, (0, 0, 0, 1)), ops.pad(dx, (0, 1))
