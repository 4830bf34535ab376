"""The graph under construction: the only file that knows the C side.

Op calls on symbolic tensors append nodes by themselves; this adds regions, If and While nodes,
effects, parameters' values and positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Parameter, Tensor, op_table
from ..compile.mode import levels

__all__ = ["Builder", "Free", "Params", "value_id"]

# {id: (parameter, value, gradient or None)}
Params = dict[int, tuple[Parameter, Tensor, Tensor | None]]

# axes of argument leaves whose sizes may differ from call to call
Free = dict[int, frozenset[int]]

_DTYPES = {bool: "bool", int: "int64", float: "float64"}


class Builder:
    """Builds one graph on this thread."""

    def __init__(self, records: bool = False, free: Free | None = None) -> None:
        self.graph = _core.Graph()
        self._free = free
        self.inputs: list[Tensor] = []
        self.raises: list[str] = []
        self._records = records
        self._regions: list[Any] = [None]
        self._line: tuple[Any, ...] = ()
        self._entry: Params = {}
        self._zeros: dict[tuple[str, tuple[int, ...]], Tensor] = {}

    # ---- the whole

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Op calls inside append nodes; ``finish`` is to be called inside."""
        before = _core.set_grad_enabled(self._records)
        self.graph.begin()
        if self._free is not None:
            self.graph.record_sizes()
        try:
            yield
        except BaseException:
            if _core.is_capturing():
                self.graph.end()
            raise
        finally:
            _core.set_grad_enabled(before)

    def input(self, like: Tensor, leaf: int | None = None) -> Tensor:
        """The next input of the graph, of the dtype and shape of ``like``; ``leaf``: which of the
        arguments it is."""
        axes = () if self._free is None or leaf is None else self._free.get(leaf, ())
        made = self.graph.input(like.dtype, like.shape, sum(1 << axis for axis in axes))
        if self._records and like.requires_grad:
            made = _core.variable(made)
        self.inputs.append(_core.alias(made))  # the function may write to its handle
        return made

    @property
    def has_free_sizes(self) -> bool:
        """Whether sizes may be others in a later run of the same graph."""
        return self._free is not None

    def touch(self, parameter: Parameter) -> None:
        """Makes a parameter an input of the graph."""
        parameter.value()

    def recorded(self, outputs: Sequence[Tensor]) -> tuple[Any, str | None]:
        """What was recorded for other sizes, or why nothing was."""
        if self._free is None:
            return None, None
        return self.graph.recorded(self.inputs, list(outputs))

    def finish(self, outputs: Sequence[Tensor]) -> None:
        """Names the results."""
        self.graph.outputs(list(outputs), *levels())

    def at(self, filename: str, line: int, column: int, end_column: int, function: str) -> None:
        """Position of the nodes to come."""
        position = (filename, line, column, end_column, function)
        if position != self._line:
            self._line = position
            self.graph.set_line(*position)

    # ---- values

    @staticmethod
    def is_symbolic(value: Any) -> bool:
        """Whether a value is a tensor of the graph."""
        return isinstance(value, Tensor) and _core.is_symbolic(value)

    @staticmethod
    def constant(value: Any, kind: type) -> Tensor:
        """A concrete 0-d tensor that holds a Python number."""
        return Tensor(value, _DTYPES[kind])

    @staticmethod
    def dtype_of(kind: type) -> Any:
        """The dtype that numbers of a Python type have in the graph."""
        return _core.dtype(_DTYPES[kind])

    def zeros(self, like: Tensor) -> Tensor:
        """Zeros of the dtype and shape of ``like``: the value of a tensor on the path that has
        none."""
        if any(type(n) is not int for n in like.shape):
            return op_table["zeros"](like.shape, like.dtype)
        key = (like.dtype.name, tuple(like.shape))
        if key not in self._zeros:
            self._zeros[key] = op_table["zeros"](like.shape, like.dtype)
        return self._zeros[key]

    # ---- regions

    @property
    def region(self) -> Any:
        """Where nodes go now; None: the function's own region."""
        return self._regions[-1]

    def new_region(self) -> Any:
        """A region inside the present one."""
        return self.graph.region()

    @contextmanager
    def inside(self, region: Any) -> Iterator[None]:
        """Nodes go to the end of ``region``."""
        self.graph.enter(region)
        self._regions.append(region)
        try:
            yield
        finally:
            self._regions.pop()
            self.graph.leave()

    def fork(
        self,
        cond: Tensor,
        then: Any,
        then_values: Sequence[Tensor],
        orelse: Any,
        else_values: Sequence[Tensor],
    ) -> list[Tensor]:
        """An If over two regions: its results."""
        return list(self.graph.if_(cond, then, tuple(then_values), orelse, tuple(else_values)))

    def loop(self, init: Sequence[Tensor]) -> tuple[Any, list[Tensor], Any, Any]:
        """A While on its way: ``loop, params, condition region, body region``; params stand for the
        values carried from round to round, which start as ``init``."""
        return self.graph.loop(tuple(init))

    def close_loop(self, loop: Any, cond: Tensor, following: Sequence[Tensor]) -> list[Tensor]:
        """The While: results are the carried values after the last round."""
        return list(self.graph.while_(loop, cond, tuple(following)))

    # ---- effects

    def host(self, call: Callable, tensors: Sequence[Tensor], deferred: bool = False) -> None:
        """Calls Python with concrete tensors at run time; deferred: after the run succeeded."""
        self.graph.host(call, tuple(tensors), [], deferred)

    def params(self) -> Params:
        """Parameters touched so far with their present values and gradients, by id."""
        return {id(p): (p, value, grad) for p, value, grad in self.graph.params()}

    def _entered(self, parameter: Parameter) -> tuple[Parameter, Tensor, Tensor | None]:
        """What a parameter held when the graph began, also one that a native call touched."""
        if id(parameter) not in self._entry:
            self._entry[id(parameter)] = self.graph.entry(parameter)
        return self._entry[id(parameter)]

    def params_since(self, before: Params) -> Params:
        """What has changed since ``before``, which came from ``params``."""
        changed: Params = {}
        for key, now in self.params().items():
            old = before.get(key) or self._entered(now[0])
            if any(value_id(a) != value_id(b) for a, b in zip(now[1:], old[1:], strict=True)):
                changed[key] = now
        return changed

    def set_params(self, params: Params) -> None:
        """Gives parameters other values from here on."""
        for parameter, value, grad in params.values():
            self.graph.set_param(parameter, value, grad)

    def undo_params(self, before: Params) -> Params:
        """Takes back what has changed since ``before``; returns it."""
        changed = self.params_since(before)
        old = {key: before.get(key) or self._entered(now[0]) for key, now in changed.items()}
        self.set_params(old)
        return changed


def value_id(tensor: Tensor | None) -> int:
    """Equal for two handles that show the same value; 0 for None."""
    return 0 if tensor is None else _core.value_id(tensor)
