"""Image transforms under MindSpore's names, over arrays (H, W) or (H, W, C).

Pillow is needed for Decode and ToPIL only.
"""

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
from .formats import HWC2CHW, Decode, Normalize, Rescale, ToNumpy, ToPIL, ToTensor, ToType
from .geometry import (
    CenterCrop,
    Crop,
    CutOut,
    HorizontalFlip,
    Pad,
    RandomCrop,
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
    "Border",
    "CenterCrop",
    "Crop",
    "CutMixBatch",
    "CutOut",
    "Decode",
    "Grayscale",
    "HWC2CHW",
    "HorizontalFlip",
    "ImageBatchFormat",
    "Inter",
    "Invert",
    "MixUpBatch",
    "Normalize",
    "Pad",
    "RandomColorAdjust",
    "RandomCrop",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Rescale",
    "Resize",
    "Rotate",
    "ToNumpy",
    "ToPIL",
    "ToTensor",
    "ToType",
    "VerticalFlip",
]
