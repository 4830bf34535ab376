"""Image transforms under MindSpore's names, over arrays (H, W) or (H, W, C).

Pillow is needed for Decode and ToPIL only.
"""

from .affine import RandomAffine
from .color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustHue,
    AdjustSaturation,
    Grayscale,
    Invert,
    RandomColorAdjust,
    RandomGrayscale,
)
from .effects import (
    AutoContrast,
    Equalize,
    GaussianBlur,
    Posterize,
    RandomErasing,
    Solarize,
)
from .formats import HWC2CHW, Decode, Normalize, Rescale, ToNumpy, ToPIL, ToTensor, ToType
from .geometry import (
    CenterCrop,
    Crop,
    CutOut,
    HorizontalFlip,
    Pad,
    RandomCrop,
    RandomCropDecodeResize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    Rotate,
    VerticalFlip,
)
from .image import Border, ImageBatchFormat, Inter
from .mix import CutMixBatch, MixUpBatch

__all__ = [
    "AdjustBrightness",
    "AdjustContrast",
    "AdjustHue",
    "AdjustSaturation",
    "AutoContrast",
    "Border",
    "CenterCrop",
    "Crop",
    "CutMixBatch",
    "CutOut",
    "Decode",
    "Equalize",
    "GaussianBlur",
    "Grayscale",
    "HWC2CHW",
    "HorizontalFlip",
    "ImageBatchFormat",
    "Inter",
    "Invert",
    "MixUpBatch",
    "Normalize",
    "Pad",
    "Posterize",
    "RandomAffine",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomCropDecodeResize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "Rotate",
    "Solarize",
    "ToNumpy",
    "ToPIL",
    "ToTensor",
    "ToType",
    "VerticalFlip",
]
