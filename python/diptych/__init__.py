"""Diptych: deep learning with one op table and two modes. ``import diptych as ms``."""

# ruff: noqa: E402, F401, F403, I001  the callbacks of C come first, everything here is exported

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import _core
from .common import describe as _describe
from .common import methods as _methods
from .common import tensor as _tensor

_core.set_callbacks({**_tensor.CALLBACKS, **_describe.CALLBACKS})
_methods.install()

from ._core import OutOfRangeError
from . import compile, context, io, nn, ops, runtime
from .common import dtype
from .common.dtype import *
from .common.grad import (
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
from .common.host import TensorSpec, host_callback
from .common.initializer import initializer
from .common.jacobian import jacfwd, jacrev
from .common.mutables import mutable
from .common.parameter import Parameter, ParameterTuple
from .common.sparse import CSRTensor
from .common.static import jit_class, static, static_range
from .common.tensor import Tensor, from_dlpack, from_numpy, is_tensor, tensor
from .compile import jit, jit_disabled
from .context import (
    COMPATIBLE,
    GRAPH_MODE,
    LAX,
    PYNATIVE_MODE,
    STRICT,
    ParallelMode,
    get_context,
    set_context,
    set_device,
)
from .ops.basic import control_depend
from .ops.vmap import vmap
from .runtime import (
    get_rng_state,
    get_seed,
    manual_seed,
    memory_usage,
    run_check,
    set_rng_state,
    set_seed,
)

if TYPE_CHECKING:
    from . import dataset, models, numpy, train
    from .train import Model, amp
    from .train.serialization import load_checkpoint, load_param_into_net, save_checkpoint

_no_grad = no_grad
# Of diptych.train, as MindSpore has them at the top.
_LATER = (
    "Callback",
    "CheckpointConfig",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "FixedLossScaleManager",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "LossScaleManager",
    "Model",
    "ModelCheckpoint",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryRecord",
    "TimeMonitor",
    "amp",
    "async_ckpt_thread_status",
    "build_train_network",
    "export",
    "load_checkpoint",
    "load_param_into_net",
    "save_checkpoint",
)


def __getattr__(name: str) -> Any:
    """The parts that need NumPy at once come when they are asked for."""
    if name in ("dataset", "models", "numpy", "train"):
        return importlib.import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(importlib.import_module(".train", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__version__ = "0.1.0"
