"""Decoding, and what turns pixels into the numbers that a net takes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.dtype import dtype_to_nptype
from ..config import check_list
from ..draws import Draws
from ..transform import Transform, check_number
from ..transforms import TypeCast
from .image import ImageTransform, pillow

__all__ = [
    "HWC2CHW",
    "Decode",
    "LinearTransformation",
    "Normalize",
    "NormalizePad",
    "PilToTensor",
    "Rescale",
    "ToNumpy",
    "ToPIL",
    "ToTensor",
    "ToType",
]

ToType = TypeCast


class Decode(Transform):
    """The bytes of an image file (JPEG, PNG ... whatever Pillow reads) to RGB.

    Gives uint8 (H, W, 3), or Pillow's image with to_pil. Raises ValueError when the bytes are no
    image that can be read.
    """

    uniform = False

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil = bool(to_pil)

    def __call__(self, *columns: Any) -> Any:
        images = tuple(self._decode(column) for column in columns)
        return images[0] if len(images) == 1 else images

    def _decode(self, data: Any) -> Any:
        if not isinstance(data, bytes):
            data = np.asarray(data)
            if data.dtype.kind != "S" and (data.dtype != np.uint8 or data.ndim != 1):
                raise TypeError(
                    f"Decode: the data is {data.dtype} of shape {list(data.shape)}; it must be "
                    "bytes or a uint8 vector, the contents of an image file"
                )
            data = data.tobytes()
        try:
            image = pillow("Decode").open(io.BytesIO(data)).convert("RGB")
        except OSError as error:
            raise ValueError(f"Decode: {len(data)} bytes are no readable image: {error}") from None
        return image if self.to_pil else np.asarray(image)


class ToPIL(Transform):
    """An array (H, W), (H, W, 1) or (H, W, 3) of uint8 as Pillow's image."""

    uniform = False

    def __call__(self, *columns: Any) -> Any:
        images = tuple(self._image(np.asarray(column)) for column in columns)
        return images[0] if len(images) == 1 else images

    @staticmethod
    def _image(array: np.ndarray) -> Any:
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[..., 0]
        try:
            return pillow("ToPIL").fromarray(array)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"ToPIL: {array.dtype} of shape {list(array.shape)} is no image: {error}"
            ) from None


class ToNumpy(Transform):
    """Pillow's image as an array.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.ToNumpy()(np.zeros((2, 3))).shape
    (2, 3)
    """

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return x


class Rescale(ImageTransform):
    """image * rescale + shift, float32.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Rescale(1 / 255, 0.0)(np.array([[0, 255]], np.uint8))
    array([[0., 1.]], dtype=float32)
    """

    pointwise = True

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale = check_number("Rescale", "rescale", rescale, -np.inf)
        self.shift = check_number("Rescale", "shift", shift, -np.inf)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        made = np.multiply(x, np.float32(self.rescale), dtype=np.float32)
        made += np.float32(self.shift)
        return made


class Normalize(ImageTransform):
    """(image - mean) / std for each channel, float32. mean and std are in the scale of the pixels.

    Args:
        mean, std: one number a channel; std above 0.
        is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.Normalize([10.0], [2.0])(np.array([[10, 14]], np.uint8))
    array([[0., 2.]], dtype=float32)
    """

    pointwise = True

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        where, tiny = "Normalize", float(np.finfo(np.float32).tiny)
        means, stds = check_list(where, "mean", mean), check_list(where, "std", std)
        self.mean = [check_number(where, "mean", m, -np.inf) for m in means]
        self.std = [check_number(where, "std", s, tiny) for s in stds]
        if len(self.mean) != len(self.std):
            raise ValueError(
                f"Normalize: {len(self.mean)} numbers in 'mean' and {len(self.std)} in 'std'; "
                "there must be as many"
            )
        self.is_hwc = bool(is_hwc)

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        channels = 1 if x.ndim == 3 else x.shape[3 if self.is_hwc else 1]
        if len(self.mean) not in (1, channels):
            raise ValueError(
                f"Normalize: 'mean' holds {len(self.mean)} numbers; the image has {channels} "
                "channels"
            )
        shape = (-1,) if self.is_hwc or x.ndim == 3 else (-1, 1, 1)
        made = np.subtract(x, np.array(self.mean, np.float32).reshape(shape), dtype=np.float32)
        made /= np.array(self.std, np.float32).reshape(shape)
        return made


class NormalizePad(Normalize):
    """Normalize, with a fourth channel of zeros behind the three.

    Args:
        mean, std: three numbers; std above 0.
        dtype: "float32" or "float16".
        is_hwc: the channels are the last axis; False: the first.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.NormalizePad([1.0] * 3, [2.0] * 3)(np.array([[[1, 3, 5]]], np.uint8))
    array([[[0., 1., 2., 0.]]], dtype=float32)
    """

    pointwise = False

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        dtype: str = "float32",
        is_hwc: bool = True,
    ) -> None:
        super().__init__(mean, std, is_hwc)
        if dtype not in ("float32", "float16"):
            raise ValueError(
                f"NormalizePad: 'dtype' is {dtype!r}; it must be 'float32' or 'float16'"
            )
        self.dtype = dtype

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        axis = 3 if self.is_hwc else 1
        if x.ndim != 4 or x.shape[axis] != 3 or len(self.mean) != 3:
            raise ValueError(
                f"NormalizePad: the image has shape {list(x.shape[1:])} and 'mean' "
                f"{len(self.mean)} numbers; there must be 3 channels and 3 numbers"
            )
        widths = [(0, int(i == axis)) for i in range(4)]
        return np.pad(super()._apply(x, draws), widths).astype(self.dtype)


class HWC2CHW(ImageTransform):
    """(H, W, C) to (C, H, W); (H, W) to (1, H, W).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.HWC2CHW()(np.zeros((4, 5, 3))).shape
    (3, 4, 5)
    """

    pointwise = True

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return channels_first(x)


class ToTensor(ImageTransform):
    """(H, W) or (H, W, C) with pixels 0 to 255 to (C, H, W) in [0, 1], float32 or output_type.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.ToTensor()(np.array([[0, 255]], np.uint8))
    array([[[0., 1.]]], dtype=float32)
    """

    pointwise = True

    def __init__(self, output_type: Any = np.float32) -> None:
        self.output_type = output_type
        self._type = np.dtype(dtype_to_nptype(output_type))

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        made = np.divide(channels_first(x), np.float32(255), dtype=np.float32)
        return made.astype(self._type, copy=False)


def channels_first(x: np.ndarray) -> np.ndarray:
    """(n, H, W) or (n, H, W, C) as (n, C, H, W), dense."""
    if x.ndim == 3:
        return x[:, None]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


class PilToTensor(ImageTransform):
    """Pillow's image or an array (H, W) or (H, W, C) as (C, H, W), its numbers as they are.

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.PilToTensor()(np.array([[0, 255]], np.uint8))
    array([[[  0, 255]]], dtype=uint8)
    """

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        return channels_first(x)


class LinearTransformation(ImageTransform):
    """(flat image - mean_vector) @ transformation_matrix in the image's shape, float32: whitening.

    Args:
        transformation_matrix: (d, d) for images of d numbers.
        mean_vector: (d,).

    >>> import numpy as np
    >>> from diptych.dataset import vision
    >>> vision.LinearTransformation(2 * np.eye(2), np.ones(2))(np.array([[[1.0, 3.0]]]))
    array([[[0., 4.]]], dtype=float32)
    """

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        self._matrix = np.asarray(transformation_matrix, np.float32)
        self._mean = np.asarray(mean_vector, np.float32)
        if self._mean.ndim != 1 or self._matrix.shape != (len(self._mean),) * 2:
            raise ValueError(
                f"LinearTransformation: 'transformation_matrix' has shape "
                f"{list(self._matrix.shape)} and 'mean_vector' {list(self._mean.shape)}; they must "
                "be [d, d] and [d]"
            )

    def _apply(self, x: np.ndarray, draws: Draws) -> np.ndarray:
        flat = x.reshape(len(x), -1).astype(np.float32)
        if flat.shape[1] != len(self._mean):
            raise ValueError(
                f"LinearTransformation: the image of shape {list(x.shape[1:])} has {flat.shape[1]} "
                f"numbers; 'mean_vector' has {len(self._mean)}"
            )
        return ((flat - self._mean) @ self._matrix).reshape(x.shape)
