"""Checkpoints: parameters by name in one safetensors file, with what belongs to them.

A file is written beside its place, synced and renamed, so that a crash leaves the older one whole.
Numbers and texts beside the tensors stand as JSON in the file's metadata, entry "diptych".
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core, runtime
from .._core import Tensor
from ..common.parameter import Parameter
from ..nn.cell import Cell
from .ckpt import read_ckpt
from .export import export
from .writer import AsyncWriter

__all__ = [
    "async_ckpt_thread_status",
    "export",
    "load_checkpoint",
    "load_param_into_net",
    "save_checkpoint",
    "torch_name_map",
    "wait_for_checkpoints",
]

_FORMATS = ("ckpt", "safetensors")
_writer = AsyncWriter()


# ---- saving


def _tensors_of(save_obj: Any) -> dict[str, Tensor]:
    """{name: Tensor or Parameter} of what save_checkpoint takes."""
    if isinstance(save_obj, Cell):
        return _named((p.name, p) for p in save_obj.get_parameters())
    if isinstance(save_obj, Mapping):
        return _named(save_obj.items())
    if isinstance(save_obj, list | tuple):
        for i, item in enumerate(save_obj):
            if not isinstance(item, dict) or not {"name", "data"} <= set(item):
                raise TypeError(
                    f"save_checkpoint: item {i} of the list must be a dict with 'name' and "
                    f"'data', but got {item!r}"
                )
        return _named((item["name"], item["data"]) for item in save_obj)
    raise TypeError(
        "save_checkpoint: save_obj must be a Cell, a list of {'name', 'data'} or a dict, but got "
        f"{type(save_obj).__name__}"
    )


def _named(items: Any) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for name, value in items:
        if not isinstance(name, str):
            raise TypeError(f"save_checkpoint: the name {name!r} must be a str")
        if not isinstance(value, Tensor):
            raise TypeError(
                f"save_checkpoint: '{name}' must be a Tensor, but got {type(value).__name__}"
            )
        if name in found and found[name] is not value:
            raise ValueError(
                f"save_checkpoint: two parameters have the name '{name}': one would be lost"
            )
        found[name] = value
    return found


def _extras_of(append_dict: Any, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """Numbers and texts of append_dict; its Tensors join ``tensors``."""
    if append_dict is None:
        return {}
    if not isinstance(append_dict, dict):
        raise TypeError(f"save_checkpoint: append_dict must be a dict, but got {append_dict!r}")
    extras: dict[str, Any] = {}
    for name, value in append_dict.items():
        if name in tensors:
            raise ValueError(f"save_checkpoint: '{name}' of append_dict is a parameter's name")
        if isinstance(value, Tensor):
            tensors[name] = value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError(f"save_checkpoint: '{name}' of append_dict, {value}, is no int64")
        elif isinstance(value, bool | int | float | str):
            extras[name] = value
        else:
            raise TypeError(
                f"save_checkpoint: '{name}' of append_dict must be a number, a text or a Tensor, "
                f"but got {type(value).__name__}"
            )
    return extras


def _full_name(name: str | os.PathLike, format: str) -> str:
    if format not in _FORMATS:
        raise ValueError(f"format is {format!r}; it must be 'ckpt' or 'safetensors'")
    path = os.fspath(name)
    return path if path.endswith((".ckpt", ".safetensors")) else f"{path}.{format}"


def save_checkpoint(
    save_obj: Any,
    ckpt_file_name: str | os.PathLike,
    integrated_save: bool = True,
    async_save: bool = False,
    append_dict: dict[str, Any] | None = None,
    choice_func: Callable[[str], bool] | None = None,
    format: str = "ckpt",
) -> None:
    """Writes parameters into one safetensors file.

    Args:
        save_obj: a Cell (all its parameters; of a TrainOneStepCell the optimiser's states too), a
            list of ``{"name": ..., "data": ...}``, or a dict of Tensors by name.
        ckpt_file_name: a name without ".ckpt" or ".safetensors" gets ``format`` as its ending; the
            content is the same.
        integrated_save: for parameters split over processes; here all are whole.
        async_save: a thread writes, from the values of this moment; its error is raised by the next
            call of a function of this module that saves or waits.
        append_dict: numbers, texts and Tensors that load_checkpoint gives back beside the
            parameters.
        choice_func: ``choice_func(name)`` tells which parameters are saved.

    Raises TypeError and ValueError for what cannot be saved, OSError when the file cannot be
    written; an older file of the name stays whole.

    >>> import diptych as ms, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    >>> ms.save_checkpoint(ms.nn.Dense(2, 1), path, append_dict={"epoch_num": 3})
    >>> list(ms.load_checkpoint(path))
    ['weight', 'bias', 'epoch_num']
    """
    _writer.wait()
    path = _full_name(ckpt_file_name, format)
    tensors = _tensors_of(save_obj)
    if choice_func is not None:
        tensors = {name: t for name, t in tensors.items() if choice_func(name)}
    extras = _extras_of(append_dict, tensors)
    metadata = json.dumps({"format": "pt", "diptych": json.dumps(extras)})
    # Values are immutable: a later step makes new ones and leaves these to the writer.
    values = {name: t.value() if isinstance(t, Parameter) else t for name, t in tensors.items()}
    if async_save:
        _writer.submit(path, lambda: _core.save_safetensors(path, values, metadata))
    else:
        _core.save_safetensors(path, values, metadata)


def async_ckpt_thread_status() -> bool:
    """Whether an asynchronous save is being written.

    >>> import diptych as ms
    >>> ms.train.async_ckpt_thread_status()
    False
    """
    return _writer.is_running()


def wait_for_checkpoints() -> None:
    """Waits for the asynchronous save; raises RuntimeError when it failed.

    >>> import diptych as ms
    >>> ms.train.wait_for_checkpoints()
    """
    _writer.wait()


# ---- loading


def _read_file(path: str) -> dict[str, Any]:
    """{name: Tensor, number or text}; the first bytes tell the kind of the file."""
    with open(path, "rb") as f:
        head = f.read(16)
    if head.startswith((b"PK\x03\x04", b"\x80\x02", b"\x80\x04")):
        raise ValueError(
            f"load_checkpoint: {path} is a pickled PyTorch file, not safetensors; save it with "
            "safetensors.torch.save_file"
        )
    if head[:1] == b"\n" and head[8:9] != b"{":
        return read_ckpt(path)
    return {**_core.load_safetensors(path), **_read_extras(path)}


def _read_extras(path: str) -> dict[str, Any]:
    """The numbers and texts that save_checkpoint put beside the tensors; other programs put other
    things there, which are passed over."""
    with open(path, "rb") as f:
        header = f.read(int.from_bytes(f.read(8), "little"))
    try:
        text = json.loads(header).get("__metadata__", {}).get("diptych", "{}")
        extras = json.loads(text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    if not isinstance(extras, dict):
        return {}
    return {
        name: value
        for name, value in extras.items()
        if isinstance(value, bool | float | str)
        or (isinstance(value, int) and -(2**63) <= value < 2**63)
    }


def _prefixes(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    values = (value,) if isinstance(value, str) else tuple(value)
    if not values or not all(isinstance(v, str) and v for v in values):
        raise ValueError(f"load_checkpoint: {name} must hold texts that are not empty: {value!r}")
    return values


def _renamed(found: dict[str, Any], name_map: Any) -> dict[str, Any]:
    if name_map is None:
        return found
    made: dict[str, Any] = {}
    for name, value in found.items():
        new = name_map(name) if callable(name_map) else name_map.get(name, name)
        if new is None:
            continue
        if new in made:
            raise ValueError(
                f"load_checkpoint: name_map gives the name '{new}' twice, the second time to "
                f"'{name}'"
            )
        made[new] = value
    return made


def load_checkpoint(
    ckpt_file_name: str | os.PathLike,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: str | Sequence[str] | None = None,
    specify_prefix: str | Sequence[str] | None = None,
    choice_func: Callable[[str], bool] | None = None,
    name_map: Mapping[str, str | None] | Callable[[str], str | None] | None = None,
) -> dict[str, Any]:
    """{name: Parameter} of a file, in its order; texts of append_dict stay texts.

    Args:
        ckpt_file_name: a safetensors file of save_checkpoint, PyTorch or MindSpore, or a protobuf
            file (``.ckpt``) of MindSpore; its CRC-32 is checked where it has one.
        net: load_param_into_net puts the parameters there, with ``strict_load``.
        filter_prefix: parameters whose names start so are left out.
        specify_prefix: only parameters whose names start so are taken.
        choice_func: ``choice_func(name)`` tells which are taken.
        name_map: names of the file to other names (a dict or a function); None drops the parameter.
            The prefixes and choice_func look at names of the file. See torch_name_map.

    Raises OSError when the file cannot be read, ValueError when it is damaged, of another kind, or
    has nothing that is wanted; then ``net`` is as it was.

    >>> import diptych as ms, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "net.ckpt")
    >>> ms.save_checkpoint(ms.nn.Dense(2, 1), path)
    >>> ms.load_checkpoint(path, name_map={"weight": "fc.weight"})["fc.weight"].shape
    (1, 2)
    """
    path = os.fspath(ckpt_file_name)
    without = _prefixes("filter_prefix", filter_prefix)
    only = _prefixes("specify_prefix", specify_prefix)
    found = _read_file(path)
    wanted = {
        name: value
        for name, value in found.items()
        if not (without and name.startswith(without))
        and (not only or name.startswith(only))
        and (choice_func is None or choice_func(name))
    }
    if not wanted:
        raise ValueError(
            f"load_checkpoint: {path} has no parameter that is wanted; it has "
            f"{', '.join(list(found)[:8]) or 'none at all'}"
        )
    made = {name: _parameter(name, v) for name, v in _renamed(wanted, name_map).items()}
    if net is not None:
        load_param_into_net(net, made, strict_load)
    return made


def _parameter(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        value = Tensor(value, "int64")
    elif isinstance(value, float):
        value = Tensor(value, "float64")
    return Parameter(value, name=name, requires_grad=Tensor(value).dtype.is_floating_point)


# ---- into a network


def _kind(dtype: Any) -> str:
    if dtype.is_floating_point:
        return "float"
    return "bool" if dtype.name == "bool" else "int"


def _fitted(p: Parameter, name: str, value: Tensor, strict: bool) -> Tensor:
    """The value in the parameter's shape and dtype, or an error naming both."""
    where = f"load_param_into_net: '{name}'"
    shape = value.shape
    if shape != p.shape:
        if strict or _without_ones(shape) != _without_ones(p.shape):
            raise ValueError(f"{where} has shape {shape} in the file and {p.shape} in the network")
        value = value.reshape(p.shape)
    if value.dtype == p.dtype:
        return value
    if strict or _kind(value.dtype) != _kind(p.dtype):
        raise TypeError(
            f"{where} is {value.dtype.name} in the file and {p.dtype.name} in the network"
        )
    made = value.astype(p.dtype)
    if _kind(p.dtype) == "int" and not (made.astype(value.dtype) == value).all().item():
        raise ValueError(f"{where} holds numbers that do not fit into {p.dtype.name}")
    return made


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Any], strict_load: bool = False
) -> tuple[list[str], list[str]]:
    """Puts values into the parameters of the same names.

    Floats are converted between their widths, integers too where they fit, and axes of length 1 may
    stand elsewhere; with ``strict_load`` shapes and dtypes must be the same.

    Returns the names of the network that got no value, and the names of the dict that have no place
    in it. When one does not fit, ValueError or TypeError name it and nothing at all is changed.

    >>> import diptych as ms
    >>> net = ms.nn.Dense(2, 1)
    >>> ms.load_param_into_net(net, {"weight": ms.Parameter(ms.ops.ones((1, 2)))})
    (['bias'], [])
    """
    if not isinstance(net, Cell):
        raise TypeError(f"load_param_into_net: net must be a Cell, got {type(net).__name__}")
    if not isinstance(parameter_dict, Mapping):
        raise TypeError(
            f"load_param_into_net: parameter_dict must be a dict, got {parameter_dict!r}"
        )
    params = _named((p.name, p) for p in net.get_parameters())
    fitted: list[tuple[Parameter, Tensor]] = []
    for name, value in parameter_dict.items():
        if name not in params:
            continue
        if not isinstance(value, Tensor):
            raise TypeError(
                f"load_param_into_net: '{name}' must be a Parameter, got {type(value).__name__}"
            )
        fitted.append((params[name], _fitted(params[name], name, value, strict_load)))
    for p, value in fitted:
        p.set_data(value)
    missing = [name for name in params if name not in parameter_dict]
    return missing, [name for name in parameter_dict if name not in params]


_TORCH_ENDINGS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
    "mean": "running_mean",  # the norm itself, not inside a Cell
    "variance": "running_var",
    "w": "weight",  # PReLU, inside a Cell and itself
    "a": "weight",
}
_TORCH_PARTS = {"dense1": "linear1", "dense2": "linear2"}  # of Transformer layers


def torch_name_map(net: Cell) -> Callable[[str], str | None]:
    """A name_map from a PyTorch module of the same structure: its norms, embeddings, PReLU and
    Transformer layers call their parameters otherwise, and norms count batches.

    >>> import diptych as ms
    >>> names = ms.train.torch_name_map(ms.nn.SequentialCell(ms.nn.BatchNorm2d(3)))
    >>> names("0.weight"), names("0.running_mean"), names("0.num_batches_tracked")
    ('0.gamma', '0.moving_mean', None)
    """
    own = [p.name for p in net.get_parameters()]
    names = {name: name for name in own}
    for name in own:
        *stem, ending = name.split(".")
        parts = [_TORCH_PARTS.get(part, part) for part in stem]
        names.setdefault(".".join([*parts, _TORCH_ENDINGS.get(ending, ending)]), name)

    def renamed(name: str) -> str | None:
        if name.endswith("num_batches_tracked"):
            return None
        return names.get(name, name)

    return renamed


# ---- the state of a training


class TrainingState(NamedTuple):
    """How far a training had come when it was saved."""

    epoch: int  # whole epochs
    step_in_epoch: int  # steps of the epoch after them
    step: int  # steps over all epochs
    random: Tensor | None

    def set_random_state(self) -> None:
        """Goes on with the random numbers of that moment."""
        if self.random is not None:
            runtime.set_rng_state(self.random)


def training_extras(params: Any, epoch_state: Tensor) -> dict[str, Any]:
    """What restore_training needs beside the parameters; ``epoch_state``: the random state at the
    start of the epoch."""
    return {
        "epoch_num": params.cur_epoch_num,
        "step_num": params.cur_step_num,
        "step_in_epoch": params.cur_step_in_epoch,
        "batch_num": params.batch_num,
        "random_state": runtime.get_rng_state(),
        "epoch_random_state": epoch_state,
    }


def restore_training(network: Cell, path: str | os.PathLike) -> TrainingState:
    """Weights, optimiser and random state of a file of ModelCheckpoint; how far it had come.

    In the middle of an epoch the random state becomes that of its start, so that data sets which
    shuffle by it give the same batches; set_random_state goes on from there.
    """
    found = load_checkpoint(path)
    extras = [k for k in found if k in ("epoch_num", "step_num", "step_in_epoch", "batch_num")]
    if len(extras) < 4 or "random_state" not in found:
        raise ValueError(f"resume_from: {os.fspath(path)} was not written by ModelCheckpoint")
    numbers = {k: int(found.pop(k).item()) for k in extras}
    states = {k: found.pop(k).value() for k in ("random_state", "epoch_random_state")}
    names = [p.name for p in network.get_parameters()]
    missing = [name for name in names if name not in found]
    foreign = [name for name in found if name not in names]
    if missing or foreign:
        raise ValueError(
            f"resume_from: {os.fspath(path)} does not fit: it lacks {missing[:8]} and has "
            f"{foreign[:8]} more"
        )
    load_param_into_net(network, found, strict_load=True)
    epoch, inside = numbers["epoch_num"], numbers["step_in_epoch"]
    if inside == numbers["batch_num"]:
        runtime.set_rng_state(states["random_state"])
        return TrainingState(epoch, 0, numbers["step_num"], None)
    runtime.set_rng_state(states["epoch_random_state"])
    return TrainingState(epoch - 1, inside, numbers["step_num"], states["random_state"])
