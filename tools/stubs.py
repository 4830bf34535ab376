"""Write the type stubs of the parts that exist at run time only: diptych._core and diptych.ops.

Reads the op table through the installed package. `python tools/stubs.py` rewrites the files beside
the package; `--check` exits with 1 when one is stale.
"""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import diptych
from diptych import _core, ops

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "diptych"
NOTE = '# ruff: noqa\n"""Written by tools/stubs.py."""\n\n'

MODULES = (
    "algebra", "arrange", "attention", "basic", "composite", "ctc", "detect", "layers", "loss",
    "neural",
    "numeric", "older", "place", "primitive", "random", "recurrent", "sampling",
)  # fmt: skip
KINDS = {
    "tensor": "_Operand",
    "tensors": "Sequence[_Operand] | Tensor",
    "optional": "Tensor | None",
    "number": "_Operand",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "dtype": "_DTypeLike",
    "ints": "int | Sequence[int]",
    "str": "str",
}


def parameter(slot: tuple[str, str, bool, Any]) -> str:
    """One argument of a table op."""
    name, kind, required, default = slot
    text = KINDS[kind]
    if default is None and not required and not text.endswith("None"):
        text += " | None"
    return f"{name}: {text}" + ("" if required else " = ...")


def table_parameters(op: Any) -> list[str]:
    """The arguments of a table op; what follows a default without one is a keyword."""
    slots, parts, seen_default = op.slots, [], False
    for slot in slots:
        if slot[2] and seen_default and "*" not in parts:
            parts.append("*")
        seen_default = seen_default or not slot[2]
        parts.append(parameter(slot))
    return parts


def result(op: Any) -> str:
    """The type a table op gives."""
    if op.results == 1:
        return "Tensor"
    if op.results < 0:
        return "tuple[Tensor, ...]"
    return f"tuple[{', '.join(['Tensor'] * op.results)}]"


def function(name: str, parts: list[str], returns: str, indent: str = "") -> str:
    """One `def`, wrapped at 100 characters."""
    line = f"{indent}def {name}({', '.join(parts)}) -> {returns}: ..."
    if len(line) <= 100:
        return line
    inner = "".join(f"{indent}    {p},\n" for p in parts)
    return f"{indent}def {name}(\n{inner}{indent}) -> {returns}: ..."


def ops_stub() -> str:
    """ops/__init__.pyi: table ops, then what the package's own files define."""
    own: dict[str, str] = {}
    for module in MODULES:
        for name in getattr(ops, module).__all__:
            own[name] = module
    made = [n for n, m in own.items() if m == "primitive" and n != "Primitive"
            and isinstance(getattr(ops, n), type)]
    lines = [NOTE + "from collections.abc import Sequence\nfrom typing import Any\n",
             "from .._core import Tensor, _DTypeLike, _Operand",
             *(f"from .._core import {n} as {n}" for n in sorted(vars(_core))
               if isinstance(vars(_core)[n], _core.dtype))]
    for module in MODULES:
        names = sorted(n for n, m in own.items() if m == module and n not in made)
        lines += [f"from .{module} import {n} as {n}" for n in names]
    lines += ["", "print = print_", ""]
    for name, op in sorted(_core.op_table.items()):
        if not op.hidden and name not in own:
            lines.append(function(name, table_parameters(op), result(op)))
    lines.append("")
    for name in sorted(made):
        lines.append(f"class {name}(Primitive):")
        start = [f"{s}: Any = ..." for s in getattr(ops, name)._start]
        lines.append(function("__init__", ["self", *start], "None", "    "))
    return "\n".join(lines) + "\n"


def python_parameters(target: Any) -> list[str]:
    """The arguments of a Python function as they stand in its source."""
    text = str(inspect.signature(target)).split(" ->")[0]
    parts = [p for p in re.split(r",\s*(?![^\[]*\])", text[1:-1]) if p]
    return [re.sub(r": '([^']+)'", r": \1", p) for p in parts]


def method(name: str, target: Any) -> str:
    """A Tensor method that the package hung on the type."""
    if isinstance(target, property):
        return f"    @property\n    def {name}(self) -> Any: ..."
    if isinstance(target, _core.Op):
        parts = table_parameters(target)[1:]
        return function(name, ["self", *parts], result(target), "    ")
    parts = python_parameters(target)
    names = inspect.signature(target)
    returns = names.return_annotation
    returns = "Any" if returns is inspect.Signature.empty else str(returns).strip("'")
    return function(name, ["self", *parts[1:]], returns, "    ")


CORE_HEAD = '''from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

_Operand: TypeAlias = Tensor | int | float | bool | Sequence[Any] | Any
_DTypeLike: TypeAlias = dtype | str | type | Any
# Tensor has members called int, bool, float and dtype, which hide the types inside the class.
_int: TypeAlias = int
_bool: TypeAlias = bool
_float: TypeAlias = float
_dtype: TypeAlias = dtype

class OutOfRangeError(IndexError, ValueError): ...

class dtype:
    def __new__(cls, name: _DTypeLike) -> dtype: ...
    @property
    def name(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def is_floating_point(self) -> bool: ...
    @property
    def is_signed(self) -> bool: ...

class Op:
    __name__: str
    slots: tuple[tuple[str, str, bool, Any], ...]
    parameters: str
    primitive: str | None
    hidden: bool
    summary: str
    dtype_rule: str
    results: int
    is_differentiable: bool
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Cell:
    _is_special: bool
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
'''

OPERATORS = """add sub mul truediv floordiv mod pow matmul and or xor lshift rshift""".split()


def operators() -> list[str]:
    """Arithmetic, comparison and container methods."""
    lines = []
    for name in OPERATORS:
        for form in ("__{}__", "__r{}__", "__i{}__"):
            lines.append(f"    def {form.format(name)}(self, other: _Operand) -> Tensor: ...")
    for name in ("lt", "le", "gt", "ge"):
        lines.append(f"    def __{name}__(self, other: _Operand) -> Tensor: ...")
    for name in ("eq", "ne"):
        lines.append(f"    def __{name}__(self, other: object) -> Tensor: ...  # type: ignore")
    for name in ("neg", "pos", "abs", "invert"):
        lines.append(f"    def __{name}__(self) -> Tensor: ...")
    for name, kind in (("bool", "bool"), ("int", "int"), ("float", "float"), ("index", "int"),
                       ("len", "int"), ("hash", "int"), ("iter", "Iterator[Tensor]")):
        lines.append(f"    def __{name}__(self) -> {kind}: ...")
    lines += ["    def __getitem__(self, key: Any) -> Tensor: ...",
              "    def __setitem__(self, key: Any, value: _Operand) -> None: ...",
              "    def __contains__(self, value: Any) -> bool: ...",
              "    def __buffer__(self, flags: int, /) -> memoryview: ...",
              "    def __dlpack__(self, **kwargs: Any) -> Any: ...",
              "    def __dlpack_device__(self) -> tuple[int, int]: ..."]
    return lines


TENSOR_HEAD = '''
class Tensor:
    def __init__(
        self,
        input_data: Any = ...,
        dtype: _DTypeLike | None = ...,
        shape: int | Sequence[int] | None = ...,
        init: Any = ...,
        const_arg: bool = ...,
    ) -> None: ...
    shape: tuple[int, ...]
    @property
    def dtype(self) -> dtype: ...
    ndim: int
    size: int
    itemsize: int
    nbytes: int
    strides: tuple[int, ...]
    T: Tensor
    requires_grad: bool
    const_arg: bool
    def item(self, *index: int) -> int | float | bool: ...
    def tolist(self) -> Any: ...
    def backward(
        self, gradient: Tensor | None = ..., retain_graph: bool = ..., create_graph: bool = ...
    ) -> None: ...
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any: ...
    def set_const_arg(self, const_arg: bool = ...) -> Tensor: ...'''

PARAMETER = '''
class Parameter(Tensor):
    name: str
    requires_grad: bool
    grad: Tensor | None
    def __init__(self, value: Any, name: str, requires_grad: bool = ...) -> None: ...
    def value(self) -> Tensor: ...
    def _assign(self, value: Any) -> Any: ...
    def _replace(self, value: Any) -> Any: ...
'''


HIDDEN = re.compile(r"(?<=-> )(int|bool|float|dtype)\b|(?<=[:|,] )(int|bool|float|dtype)\b(?!:)"
                    r"|(?<=\[)(int|bool|float|dtype)\b")


def qualified(lines: list[str]) -> list[str]:
    """The class body with the hidden type names replaced."""
    return [HIDDEN.sub(lambda m: "_" + m.group(0), line) for line in lines]


def core_stub() -> str:
    """_core.pyi."""
    hung = {n: v for n, v in vars(_core.Tensor).items()
            if not n.startswith("__") and (isinstance(v, _core.Op | property)
                                           or inspect.isfunction(v))}
    body = [TENSOR_HEAD, *operators(), *(method(n, v) for n, v in sorted(hung.items()))]
    lines = [NOTE + CORE_HEAD, *qualified(body), PARAMETER]
    lines += [f"{n}: dtype" for n in sorted(vars(_core)) if isinstance(vars(_core)[n], _core.dtype)]
    lines += ["op_table: dict[str, Op]", "MAX_RANK: int"]
    lines += [f"def {n}(*args: Any, **kwargs: Any) -> Any: ..." for n in sorted(vars(_core))
              if inspect.isbuiltin(vars(_core)[n]) and not n.startswith("_")]
    return "\n".join(lines) + "\n"


def main() -> int:
    files = {PACKAGE / "_core.pyi": core_stub(), PACKAGE / "ops" / "__init__.pyi": ops_stub()}
    stale = [p for p, text in files.items() if not p.exists() or p.read_text() != text]
    if "--check" in sys.argv:
        for p in stale:
            print(f"{p.name} is stale: run python tools/stubs.py")
        return bool(stale)
    for p in stale:
        p.write_text(files[p])
    print(f"stubs: {len(stale)} of {len(files)} files rewritten for diptych {diptych.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
