"""Metrics of Model.eval, and finding them by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import bleu, classification, confusion, curve, error, occlusion, surface
from .bleu import *  # noqa: F403
from .classification import *  # noqa: F403
from .confusion import *  # noqa: F403
from .curve import *  # noqa: F403
from .error import *  # noqa: F403
from .metric import EvaluationBase, Metric, rearrange_inputs
from .occlusion import *  # noqa: F403
from .surface import *  # noqa: F403

__all__ = ["EvaluationBase", "Metric", "get_metric_fn", "get_metrics", "names", "rearrange_inputs"]
for _part in (bleu, classification, confusion, curve, error, occlusion, surface):
    __all__ += _part.__all__

_FACTORY: dict[str, Callable[..., Any]] = {
    name: globals()[cls]
    for name, cls in {
        "F1": "F1",
        "acc": "Accuracy",
        "accuracy": "Accuracy",
        "auc": "auc",
        "bleu_score": "BleuScore",
        "confusion_matrix": "ConfusionMatrix",
        "confusion_matrix_metric": "ConfusionMatrixMetric",
        "cosine_similarity": "CosineSimilarity",
        "dice": "Dice",
        "hausdorff_distance": "HausdorffDistance",
        "loss": "Loss",
        "mae": "MAE",
        "mean_surface_distance": "MeanSurfaceDistance",
        "mse": "MSE",
        "occlusion_sensitivity": "OcclusionSensitivity",
        "perplexity": "Perplexity",
        "precision": "Precision",
        "recall": "Recall",
        "roc": "ROC",
        "root_mean_square_distance": "RootMeanSquareDistance",
        "top_1_accuracy": "Top1CategoricalAccuracy",
        "top_5_accuracy": "Top5CategoricalAccuracy",
        "topk": "TopKCategoricalAccuracy",
    }.items()
}


def names() -> list[str]:
    """The names that get_metric_fn knows.

    >>> import diptych as ms
    >>> "accuracy" in ms.train.names()
    True
    """
    return sorted(_FACTORY)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """The metric of a name, made from the arguments.

    >>> import diptych as ms
    >>> type(ms.train.get_metric_fn("accuracy")).__name__
    'Accuracy'
    """
    if name not in _FACTORY:
        raise KeyError(f"there is no metric {name!r}; legal: {', '.join(names())}")
    return _FACTORY[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """{name: Metric} of a set or list of names, or of such a dict; None: none.

    >>> import diptych as ms
    >>> sorted(ms.train.get_metrics({"accuracy", "loss"}))
    ['accuracy', 'loss']
    """
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(f"metrics must map names to Metrics, but got {name!r}: {metric!r}")
        return metrics
    if isinstance(metrics, set | frozenset | list | tuple):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"metrics must be a set of names or a dict of Metrics, but got {metrics!r}")
