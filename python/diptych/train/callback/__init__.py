"""Callbacks of Model."""

from .callback import Callback, RunContext
from .checkpoint import CheckpointConfig, ModelCheckpoint
from .monitor import History, LambdaCallback, LearningRateScheduler, LossMonitor, TimeMonitor
from .plateau import EarlyStopping, ReduceLROnPlateau
from .progress import ProgressBar
from .request import OnRequestExit
from .summary import SummaryCollector, SummaryRecord

__all__ = [
    "Callback",
    "CheckpointConfig",
    "EarlyStopping",
    "History",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "ModelCheckpoint",
    "OnRequestExit",
    "ProgressBar",
    "ReduceLROnPlateau",
    "RunContext",
    "SummaryCollector",
    "SummaryRecord",
    "TimeMonitor",
]
