"""Parameter groups: which learning rate and weight decay each parameter has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..._core import Tensor
from ...common.parameter import Parameter
from ..bounds import bounded
from ..cell import Cell

__all__ = ["read_params"]

_KEYS = ("params", "lr", "weight_decay", "grad_centralization", "order_params")


class Choice(NamedTuple):
    """What holds for one parameter. ``rate``: number of the group whose rate it takes, or -1."""

    param: Parameter
    rate: int
    decay: Any
    centralized: bool


def _check_params(cls: str, params: Any) -> list[Parameter]:
    if params is None:
        raise ValueError(f"For '{cls}', 'params' is None; it must be a list of Parameters")
    if isinstance(params, Tensor) or not isinstance(params, Iterable):
        raise TypeError(
            f"For '{cls}', 'params' must be a list of Parameters, but got {type(params).__name__}"
        )
    params = list(params)
    if not params:
        raise ValueError(f"For '{cls}', the list of parameters is empty")
    for i, p in enumerate(params):
        if not isinstance(p, Parameter):
            raise TypeError(
                f"For '{cls}', 'params' must hold Parameters, but item {i} is {type(p).__name__}"
            )
        if not p.requires_grad:
            raise ValueError(f"For '{cls}', parameter '{p.name}' does not require a gradient")
    return params


def check_decay(cls: str, decay: Any) -> Any:
    """A number of at least 0, or a Cell that gives one for a step."""
    return decay if isinstance(decay, Cell) else bounded(cls, "weight_decay", decay, 0.0)


def _read_group(cls: str, number: int, group: dict, decay: Any) -> list[Choice]:
    for key in group:
        if key not in _KEYS:
            raise KeyError(
                f"For '{cls}', the key {key!r} of parameter group {number} is unknown; legal: "
                f"{', '.join(_KEYS)}"
            )
    if "params" not in group:
        raise KeyError(f"For '{cls}', parameter group {number} has no 'params'")
    own = check_decay(cls, group.get("weight_decay", decay))
    centralized = group.get("grad_centralization", False)
    if not isinstance(centralized, bool):
        raise TypeError(f"For '{cls}', 'grad_centralization' must be a bool, got {centralized!r}")
    rate = number if "lr" in group else -1
    return [Choice(p, rate, own, centralized) for p in _check_params(cls, group["params"])]


def _ordered(cls: str, choices: list[Choice], order: Any) -> list[Choice]:
    by_id = {id(c.param): c for c in choices}
    wanted = _check_params(cls, order)
    if len(wanted) != len(choices) or any(id(p) not in by_id for p in wanted):
        raise ValueError(
            f"For '{cls}', 'order_params' must hold the {len(choices)} parameters of the groups, "
            f"but got {len(wanted)} parameters"
        )
    return [by_id[id(p)] for p in wanted]


def read_params(
    cls: str, parameters: Any, decay: Any, decays_all: bool
) -> tuple[list[Choice], Sequence[dict]]:
    """The choice of each parameter, and the groups (none: a plain list of Parameters).

    In a plain list the shifts and scales of norms (names with "beta" or "gamma") have no decay,
    unless ``decays_all``; groups say themselves what decays.
    """
    decay = check_decay(cls, decay)
    plain = isinstance(parameters, Tensor) or not isinstance(parameters, Iterable)
    items = parameters if plain else list(parameters)
    groups: list[dict] = []
    if isinstance(items, list) and items and isinstance(items[0], dict):
        choices: list[Choice] = []
        order = None
        for i, group in enumerate(items):
            if not isinstance(group, dict):
                raise TypeError(f"For '{cls}', parameter group {i} is {type(group).__name__}")
            groups.append(group)
            if "order_params" in group:
                if len(group) > 1:
                    raise ValueError(f"For '{cls}', 'order_params' must stand in a group alone")
                order = group["order_params"]
            else:
                choices += _read_group(cls, i, group, decay)
        if order is not None:
            choices = _ordered(cls, choices, order)
    else:
        choices = [
            Choice(p, -1, decay if decays_all or _decays(p) else 0.0, False)
            for p in _check_params(cls, items)
        ]
    if len({id(c.param) for c in choices}) != len(choices):
        raise ValueError(f"For '{cls}', a parameter is given twice")
    return choices, groups


def _decays(p: Parameter) -> bool:
    return "beta" not in p.name and "gamma" not in p.name
