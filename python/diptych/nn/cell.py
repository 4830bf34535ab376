"""Cell: the base of layers, networks, losses and optimisers.

Parameters and child Cells are plain attributes, found by looking through the instance; nothing is
registered, so reading and writing attributes costs what Python costs. The C base
(python/ext/cell.c) runs ``construct`` on a call and counts attribute writes.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _core
from .._core import Tensor
from ..common.grad import no_grad, present, record_custom
from ..common.parameter import Parameter, ParameterTuple
from ..common.recompute import run_recomputed, tensors_in
from ..compile import compiled_cell
from ..compile.expected import Inputs

__all__ = ["Cell"]

_RECOMPUTE_SETTINGS = (
    "mp_comm_recompute",
    "parallel_optimizer_comm_recompute",
    "recompute_slice_activation",
)


def _new_cell(cls: type) -> Any:
    return cls.__new__(cls)


def _check_name(method: str, name: Any, refuse_dot: bool) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{method}: the name is {name!r}; it must be a str")
    if not name or (refuse_dot and "." in name):
        raise KeyError(f"{method}: the name {name!r} must not be empty or contain a dot")


class _HookHandle:
    """remove() takes a hook away from its Cell."""

    _count = 0

    def __init__(self, cell: Cell, kind: str, hook: Callable) -> None:
        if not callable(hook):
            raise TypeError(f"{kind}: the hook is of type {type(hook).__name__}, not callable")
        _HookHandle._count += 1
        self._cell, self._kind, self._key = cell, kind, _HookHandle._count
        cell.__dict__.setdefault("_hooks", {}).setdefault(kind, {})[self._key] = hook
        cell._refresh()

    def remove(self) -> None:
        """Removes the hook; a second call does nothing."""
        self._cell.__dict__.get("_hooks", {}).get(self._kind, {}).pop(self._key, None)
        self._cell._refresh()


class Cell(_core.Cell):
    """Base of everything that holds parameters. Subclasses give ``construct`` (or ``forward``).

    Args:
        auto_prefix: whether parameters of child Cells are named ``attribute.name``.
        flags: attributes to set on the instance.

    >>> import diptych as ms
    >>> class Net(ms.nn.Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.w = ms.Parameter(ms.Tensor([2.0]))
    ...     def construct(self, x):
    ...         return x * self.w
    >>> net = Net()
    >>> net(ms.Tensor([3.0])).tolist(), [p.name for p in net.trainable_params()]
    ([6.0], ['w'])
    """

    def __init__(self, auto_prefix: bool = True, flags: dict | None = None) -> None:
        super().__init__()
        self._auto_prefix = auto_prefix
        self.training = False
        self.requires_grad = False
        if flags:
            self.add_flags(**flags)
        self._refresh()

    # ---- calling

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """What a call computes."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise AttributeError(
                f"For '{type(self).__name__}', the method 'construct' is not defined"
            )
        return forward(*inputs, **kwargs)

    def _refresh(self) -> None:
        """Tells the C side whether calls need the long way."""
        hooks = self.__dict__.get("_hooks", {})
        self._is_special = bool(
            any(hooks.values())
            or hasattr(type(self), "bprop")
            or self.__dict__.get("_to_float")
            or self.__dict__.get("_recomputes")
        )

    def _call_graph(self, *inputs: Any, **kwargs: Any) -> Any:
        """The outermost call in GRAPH_MODE."""
        return compiled_cell(self)(*inputs, **kwargs)

    def compile(self, *inputs: Any, **kwargs: Any) -> None:
        """Compiles the call for inputs like these, as a call in GRAPH_MODE does, without running
        it; parameters must have different names.

        >>> import diptych as ms
        >>> ms.nn.Dense(3, 2).compile(ms.Tensor([[1.0, 2.0, 3.0]]))
        """
        self.check_names()
        compiled_cell(self).compile(*inputs, **kwargs)

    def _call_special(self, *inputs: Any, **kwargs: Any) -> Any:
        """A call with hooks, casts or a bprop."""
        for hook in list(self._hooks_of("forward_pre")):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        backward = list(self._hooks_of("backward"))
        caught: list[Any] = []
        if backward:
            inputs = self._watch_inputs(inputs, backward, caught)
        out = self._run(inputs, kwargs)
        if backward:
            out = self._watch_outputs(out, caught)
        for hook in list(self._hooks_of("forward")):
            changed = hook(self, inputs, out)
            out = out if changed is None else changed
        return out

    def _run(self, inputs: tuple[Any, ...], kwargs: dict) -> Any:
        if not self.__dict__.get("_recomputes"):
            return self._run_kept(inputs, kwargs)
        if not _core.is_capturing():
            parameters = list(self.get_parameters())

            def run(*inputs: Any, **kwargs: Any) -> Any:
                return self._run_kept(inputs, kwargs)

            return run_recomputed(type(self).__name__, run, inputs, kwargs, parameters)
        part = _core.recompute()
        out = self._run_kept(inputs, kwargs)
        _core.recomputed(part, tensors_in(out))
        return out

    def _run_kept(self, inputs: tuple[Any, ...], kwargs: dict) -> Any:
        dtype = self.__dict__.get("_to_float")
        if dtype is not None:
            return self._run_cast(inputs, kwargs, dtype)
        if not hasattr(type(self), "bprop"):
            return self.construct(*inputs, **kwargs)
        given = [present(x) for x in inputs]
        with no_grad():
            out = self.construct(*inputs, **kwargs)

        def backward(*grads: Tensor) -> Any:
            dout = grads[0] if isinstance(out, Tensor) else grads
            return self.bprop(*given, out, dout)

        return record_custom(type(self).__name__, inputs, out, backward)

    def _run_cast(self, inputs: tuple[Any, ...], kwargs: dict, dtype: Any) -> Any:
        """Runs with float inputs and parameters converted to dtype."""

        def cast(x: Any) -> Any:
            is_float = isinstance(x, Tensor) and x.dtype.is_floating_point
            return x.astype(dtype, copy=False) if is_float else x

        own = dict(self._params)
        try:
            for name, p in own.items():
                self.__dict__[name] = cast(p)
            return self.construct(*map(cast, inputs), **{k: cast(v) for k, v in kwargs.items()})
        finally:
            self.__dict__.update(own)

    # ---- hooks

    def _hooks_of(self, kind: str) -> Iterable[Callable]:
        return self.__dict__.get("_hooks", {}).get(kind, {}).values()

    def register_forward_pre_hook(self, hook_fn: Callable) -> _HookHandle:
        """``hook_fn(cell, inputs)`` before construct; may return other inputs."""
        return _HookHandle(self, "forward_pre", hook_fn)

    def register_forward_hook(self, hook_fn: Callable) -> _HookHandle:
        """``hook_fn(cell, inputs, output)`` after construct; may return another output."""
        return _HookHandle(self, "forward", hook_fn)

    def register_backward_hook(self, hook_fn: Callable) -> _HookHandle:
        """``hook_fn(cell, grad_input, grad_output)``; may return other input gradients."""
        return _HookHandle(self, "backward", hook_fn)

    def _watch_inputs(
        self, inputs: tuple[Any, ...], hooks: list[Callable], caught: list[Any]
    ) -> tuple[Any, ...]:
        places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor)]

        def backward(*grads: Tensor) -> tuple[Tensor, ...]:
            for hook in hooks:
                changed = hook(self, grads, tuple(caught))
                if changed is not None:
                    grads = changed if isinstance(changed, tuple) else (changed,)
            return grads

        watched = record_custom(
            "backward hook", [inputs[i] for i in places], [inputs[i] for i in places], backward
        )
        made = list(inputs)
        for i, x in zip(places, watched, strict=True):
            made[i] = x
        return tuple(made)

    def _watch_outputs(self, out: Any, caught: list[Any]) -> Any:
        def backward(*grads: Tensor) -> tuple[Tensor, ...]:
            caught[:] = grads
            return grads

        outputs = [out] if isinstance(out, Tensor) else list(out)
        watched = record_custom("backward hook", outputs, outputs, backward)
        return watched[0] if isinstance(out, Tensor) else type(out)(watched)

    # ---- attributes

    def _set_special(self, name: str, value: Any) -> bool:
        """Called by C for writes of tensors and Cells; True: write as usual."""
        if "_auto_prefix" not in self.__dict__:
            raise AttributeError(
                f"For '{type(self).__name__}', call super().__init__() before setting '{name}'"
            )
        if isinstance(value, Parameter):
            if value.is_unnamed:
                value.name = name
        elif isinstance(value, Tensor):
            old = self.__dict__.get(name)
            if isinstance(old, Parameter):
                old.set_data(value)
                return False
        elif self._auto_prefix:
            value.update_parameters_name(f"{name}.")
        return True

    @property
    def _params(self) -> dict[str, Parameter]:
        """Own parameters by attribute; those of a ParameterTuple by their names."""
        found: dict[str, Parameter] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, Parameter):
                found[name] = value
            elif isinstance(value, ParameterTuple):
                found.update((p.name, p) for p in value)
        return found

    @property
    def _cells(self) -> dict[str, Cell]:
        """Child Cells by attribute."""
        return {n: c for n, c in self.__dict__.items() if isinstance(c, Cell)}

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Sets a parameter as the attribute ``param_name``."""
        _check_name("insert_param_to_cell", param_name, check_name_contain_dot)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"insert_param_to_cell: '{param_name}' is of type {type(param).__name__}; it must "
                "be a Parameter"
            )
        setattr(self, param_name, param)

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Sets a child Cell, or None for one that is not there, as ``child_name``."""
        _check_name("insert_child_to_cell", child_name, True)
        if child_cell is not None and not isinstance(child_cell, Cell):
            raise TypeError(
                f"insert_child_to_cell: '{child_name}' is of type {type(child_cell).__name__}; it "
                "must be a Cell"
            )
        setattr(self, child_name, child_cell)

    # ---- looking through

    def cells(self) -> Iterable[Cell]:
        """Child Cells."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Cell]:
        """Child Cells by name; a Cell held twice appears once."""
        found: OrderedDict[str, Cell] = OrderedDict()
        seen: set[int] = set()
        for name, cell in self._cells.items():
            if id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def cells_and_names(
        self, cells: set[int] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, Cell]]:
        """(name, Cell) of this Cell and all below, parents first; ``cells``: ids to skip."""
        seen = set() if cells is None else cells
        stack: list[tuple[str, Cell]] = [(name_prefix, self)]
        while stack:
            prefix, cell = stack.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            yield prefix, cell
            dot = f"{prefix}." if prefix else ""
            stack.extend((dot + n, c) for n, c in reversed(list(cell._cells.items())))

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(path, Parameter) of each parameter once; ``expand``: those of children too."""
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for prefix, cell in cells:
            for name, p in cell._params.items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield (f"{prefix}.{name}" if prefix else name), p

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """All parameters."""
        for _, p in self.parameters_and_names(expand=expand):
            yield p

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Parameters that require a gradient."""
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Parameters that do not."""
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """Parameters by their names."""
        return OrderedDict((p.name, p) for p in self.get_parameters(expand=recurse))

    def check_names(self) -> None:
        """Refuses two parameters of one name.

        Raises:
            ValueError: the name that occurs twice.
        """
        seen: dict[str, str] = {}
        for path, p in self.parameters_and_names():
            first = seen.setdefault(p.name, path)
            if first != path:
                raise ValueError(
                    f"For '{type(self).__name__}', '{first}' and '{path}' are two parameters of "
                    f"the name '{p.name}'"
                )

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names every parameter ``prefix`` + its path from this Cell."""
        if not isinstance(prefix, str):
            raise TypeError(f"update_parameters_name: prefix is {prefix!r}; it must be a str")
        for name, p in self.parameters_and_names(expand=recurse):
            p.name = prefix + name

    # ---- modes

    def set_train(self, mode: bool = True) -> Cell:
        """Training (True) or inference for this Cell and all below."""
        for _, cell in self.cells_and_names():
            cell.training = mode
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Kept for MindSpore's sake: calls are always recorded where gradients are wanted."""
        self.requires_grad = requires_grad
        return self

    def set_inputs(self, *inputs: Any) -> None:
        """Says what calls in GRAPH_MODE get: for each input a Tensor, another object that calls
        give as it is, or None for anything. Sizes None, as in ``Tensor(shape=[None, 3],
        dtype=ms.float32)``, may be any, and one graph serves them all; calls with other sizes are a
        ValueError. ``Tensor(dtype=ms.float32)`` stands for any sizes and number of axes. Without
        inputs: calls get anything.

        >>> import diptych as ms
        >>> net = ms.nn.Dense(3, 2)
        >>> net.set_inputs(ms.Tensor(shape=[None, 3], dtype=ms.float32))
        """
        self.__dict__["_inputs"] = Inputs(inputs) if inputs else None
        self.__dict__.pop("_compiled", None)

    def get_inputs(self) -> tuple[Any, ...] | None:
        """What set_inputs was given; None: nothing."""
        asked = self.__dict__.get("_inputs")
        return asked and asked.asked

    def to_float(self, dst_type: Any) -> Cell:
        """Computes in ``dst_type``: float inputs and parameters are converted on the way in."""
        dtype = _core.dtype(dst_type)
        if not dtype.is_floating_point:
            raise ValueError(f"to_float: dst_type is {dtype.name}; it must be a float type")
        for _, cell in self.cells_and_names():
            cell._to_float = dtype
            cell._refresh()
        return self

    def recompute(self, **kwargs: Any) -> Cell:
        """Gradients compute the values inside this Cell (and the Cells below) again instead of
        keeping them: less memory, more time, the same bits. To be called before the first call;
        what the Cell returns is kept. In a graph it takes effect where the gradient is part of the
        graph: a compiled training step, ``value_and_grad``.

        Args:
            kwargs: MindSpore's settings for parallel training, mp_comm_recompute,
                parallel_optimizer_comm_recompute and recompute_slice_activation: one process has
                nothing that they steer, which a warning says.

        Raises:
            TypeError: an unknown setting, or one that is not a bool.

        >>> import diptych as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(2, 3), ms.nn.Tanh(), ms.nn.Dense(3, 1))
        >>> _ = net[0].recompute()
        >>> loss = net(ms.Tensor([[1.0, 2.0]])).sum()
        >>> loss.backward()
        >>> net[0].weight.grad.shape
        (3, 2)
        """
        for name, value in kwargs.items():
            if name not in _RECOMPUTE_SETTINGS or not isinstance(value, bool):
                raise TypeError(
                    f"recompute: got {name}={value!r}; the settings are "
                    f"{', '.join(_RECOMPUTE_SETTINGS)}, each True or False"
                )
            warnings.warn(
                f"recompute: {name} steers parallel training, which one process does not do",
                stacklevel=2,
            )
        self._recomputes = True
        self._refresh()
        return self

    def add_flags(self, **flags: Any) -> Cell:
        """Sets attributes."""
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self, **flags: Any) -> Cell:
        """Sets attributes here and below."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def apply(self, fn: Callable[[Cell], Any]) -> Cell:
        """Calls ``fn`` on every Cell, children first."""
        for _, cell in reversed(list(self.cells_and_names())):
            fn(cell)
        return self

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict:
        """Parameters have their values from the start: nothing to do."""
        return {}

    @property
    def cls_name(self) -> str:
        """Name of the class."""
        return type(self).__name__

    # ---- printing and copying

    def extend_repr(self) -> str:
        """What stands in the parentheses besides the children."""
        return ""

    def __repr__(self) -> str:
        own = self.extend_repr()
        children = [
            f"  ({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in self._cells.items()
        ]
        if not children:
            return f"{type(self).__name__}({own})"
        head = f"{type(self).__name__}({own}" if own else f"{type(self).__name__}("
        return "\n".join([head, *children, ")"])

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k != "_compiled"}
        return _new_cell, (type(self),), state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._refresh()
