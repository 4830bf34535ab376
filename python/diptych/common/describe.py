"""What help(), inspect and error messages say about an op, from its row of the table."""

from __future__ import annotations

from typing import Any

_KINDS = {
    "tensor": "Tensor",
    "tensors": "several Tensors, or a list of them",
    "optional": "Tensor or None",
    "number": "number (or 0-d Tensor)",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "dtype": "dtype",
    "ints": "int or tuple of ints",
    "str": "str",
}
_DTYPES = {
    "any": "any; several inputs meet in the promoted dtype",
    "number": "any but bool; several inputs meet in the promoted dtype",
    "float": "floats; integers and bool become float32",
    "int": "integers and bool",
    "logical": "any; elements count as truth values",
    "free": "as the inputs are",
}


def _text(kind: str, required: bool, default: Any) -> str:
    if required:
        return ""
    if kind in ("optional", "tensors"):
        return "=None"
    return f"={default!r}"


def op_parameters(op: Any) -> str:
    """``input, weight, bias=None, stride=(1,)``."""
    parts = []
    for name, kind, required, default in op.slots:
        parts.append(name + _text(kind, required, default))
    return ", ".join(parts)


def op_doc(op: Any) -> str:
    """The docstring: summary, arguments, dtypes, results, gradient, errors."""
    lines = [op.summary, "", "Args:"]
    for name, kind, required, default in op.slots:
        tail = "" if required else f", default {default!r}"
        lines.append(f"    {name}: {_KINDS[kind]}{tail}")
    lines += ["", f"Dtypes: {_DTYPES[op.dtype_rule]}."]
    if op.results != 1:
        count = "a tuple of Tensors" if op.results < 0 else f"a tuple of {op.results} Tensors"
        lines.append(f"Returns: {count}.")
    if not op.is_differentiable:
        lines.append("No gradient flows through it.")
    lines += [
        "",
        "Raises:",
        "    TypeError: an argument is missing, unknown or of the wrong kind.",
        "    ValueError, IndexError: sizes or values outside their legal range; the message names",
        "        the argument, its value and the range.",
    ]
    return "\n".join(lines)


def op_signature(op: Any) -> Any:
    """An inspect.Signature."""
    from inspect import Parameter, Signature

    parameters = []
    for name, kind, required, default in op.slots:
        preset = Parameter.empty if required else None if kind == "optional" else default
        parameters.append(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=preset))
    try:
        return Signature(parameters)
    except ValueError:  # an argument without a default follows one that has one
        return Signature(
            [
                p if p.default is p.empty else p.replace(kind=Parameter.KEYWORD_ONLY)
                for p in sorted(parameters, key=lambda p: p.default is not p.empty)
            ]
        )


def _run_error(*place: Any) -> str:
    """Staging is imported when it is needed first."""
    from ..stage.errors import run_error

    return run_error(*place)


CALLBACKS = {
    "run_error": _run_error,
    "op_doc": op_doc,
    "op_parameters": op_parameters,
    "op_signature": op_signature,
}
