"""NumPy's functions on Tensors under MindSpore's names: ``import diptych.numpy as mnp``.

Thin Python over the ops of ``diptych.ops``: differentiable where these are, in both modes. Where an
array is asked for, a Tensor, a number, a nested list or a NumPy array will do. Numbers and lists
are int32, float32 or bool; NumPy's arrays keep their dtype. Results are Tensors.
"""

# ruff: noqa: F401, F403  everything here is exported

from __future__ import annotations

from math import e, inf, nan, pi

from ..common.dtype import (
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from . import (
    arrange,
    convert,
    counting,
    creation,
    elementwise,
    grids,
    linear,
    logic,
    padding,
    pick,
    reduce,
    sequences,
)
from .arrange import *
from .convert import *
from .counting import *
from .creation import *
from .elementwise import *
from .grids import *
from .linear import *
from .logic import *
from .padding import *
from .pick import *
from .reduce import *
from .sequences import *

_PARTS = (
    arrange,
    convert,
    counting,
    creation,
    elementwise,
    grids,
    linear,
    logic,
    padding,
    pick,
    reduce,
    sequences,
)
int_, float_, uint = int32, float32, uint32
PINF, NINF = inf, -inf

__all__ = [
    *(name for part in _PARTS for name in part.__all__),
    *"bool_ float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split(),
    *"NINF PINF e float_ inf int_ nan pi uint".split(),
]
