"""Diptych: deep learning with one op table and two modes. ``import diptych as ms``."""

from __future__ import annotations

from . import _core
from .common import describe as _describe
from .common import methods as _methods
from .common import tensor as _tensor

_core.set_callbacks({**_tensor.CALLBACKS, **_describe.CALLBACKS})
_methods.install()

from . import context, io, nn, ops, runtime  # noqa: E402
from .common import dtype  # noqa: E402
from .common.dtype import *  # noqa: E402, F403
from .common.grad import (  # noqa: E402
    Function,
    GradOperation,
    enable_grad,
    grad,
    jvp,
    no_grad,
    stop_gradient,
    value_and_grad,
    vjp,
)
from .common.initializer import initializer  # noqa: E402
from .common.parameter import Parameter, ParameterTuple  # noqa: E402
from .common.tensor import Tensor, from_dlpack, from_numpy, is_tensor, tensor  # noqa: E402
from .context import (  # noqa: E402
    GRAPH_MODE,
    PYNATIVE_MODE,
    ParallelMode,
    get_context,
    set_context,
)
from .runtime import (  # noqa: E402
    get_rng_state,
    get_seed,
    manual_seed,
    memory_usage,
    set_rng_state,
    set_seed,
)

_no_grad = no_grad
__version__ = "0.1.0"
