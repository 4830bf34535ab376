"""The rows of tests/cases.def for Python: parsing, and inputs made with NumPy."""

import ast
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PATH = Path(__file__).resolve().parent.parent / "cases.def"
_TEXT = r'(?:"[^"]*"\s*)+'
_ROW = re.compile(rf"^CASE\((\w+),\s*({_TEXT}),\s*({_TEXT}),\s*([\d.e+-]+)\)", re.MULTILINE)
_TOKEN = re.compile(
    r"(?P<dtype>\w+)\[(?P<dims>[\d,]*)\](?::(?P<lo>-?[\d.e-]+?)\.\.(?P<hi>-?[\d.e-]+))?(?P<marks>\S*)"
)

NUMPY_DTYPES = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float64, "bf16": np.float64, "f32": np.float64, "f64": np.float64,
}  # fmt: skip
# What a reference gets for a dtype attribute; NumPy has no bfloat16.
ATTRIBUTE_DTYPES = NUMPY_DTYPES | {"f16": np.float16, "bf16": np.float32, "f32": np.float32}
NAMES = {
    "bool": "bool_", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip


@dataclass
class Input:
    """One input: absent, a Python number, or a tensor."""

    dtype: str = ""
    dims: tuple[int, ...] = ()
    lo: float | None = None
    hi: float | None = None
    is_distinct: bool = False
    is_reversed: bool = False
    is_absent: bool = False
    number: float | int | None = None

    @property
    def is_float(self) -> bool:
        return self.dtype in ("f16", "bf16", "f32", "f64")


@dataclass
class Case:
    op: str
    index: int  # among the rows of this op
    inputs_text: str
    attrs_text: str
    tolerance: float
    inputs: list[Input] = field(default_factory=list)

    @property
    def attrs(self) -> dict[str, str]:
        """Attributes as texts."""
        pairs = re.findall(r"(\w+)=(\([^)]*\)|\[[^\]]*\]|\S+)", self.attrs_text)
        return {name: text for name, text in pairs}

    def __str__(self) -> str:
        return " ".join(f"{self.op} {self.inputs_text} {self.attrs_text}".split())


def _number(text: str) -> float | int:
    return float(text) if re.search(r"[.einf]", text) else int(text)


def _parse_token(token: str) -> list[Input]:
    if token == "-":
        return [Input(is_absent=True)]
    if token.startswith("="):
        return [Input(number=_number(token[1:]))]
    m = _TOKEN.fullmatch(token)
    if not m or m["dtype"] not in NUMPY_DTYPES:
        raise ValueError(f"cannot read the input {token!r}")
    marks = m["marks"]
    copies = re.search(r"\*(\d+)", marks)
    bounds = {k: float(m[k]) if m[k] else None for k in ("lo", "hi")}
    dims = tuple(int(n) for n in m["dims"].split(",") if n)
    one = Input(m["dtype"], dims, **bounds, is_distinct="@" in marks, is_reversed="~" in marks)
    return [one] * (int(copies[1]) if copies else 1)


def read_cases(text: str | None = None) -> list[Case]:
    text = PATH.read_text() if text is None else text
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    cases: list[Case] = []
    counts: dict[str, int] = {}
    for op, inputs, attrs, tolerance in _ROW.findall(text):
        texts = [
            "".join(ast.literal_eval(p) for p in re.findall(r'"[^"]*"', t)) for t in (inputs, attrs)
        ]
        counts[op] = counts.get(op, -1) + 1
        case = Case(op, counts[op], texts[0], texts[1], float(tolerance))
        case.inputs = [i for token in texts[0].split() for i in _parse_token(token)]
        cases.append(case)
    if len(cases) != len(re.findall(r"\bCASE\(", text)):
        raise ValueError("tests/cases.def: some rows cannot be read")
    return cases


def round_to(dtype: str, values: Array) -> Array:
    """Doubles rounded to a float dtype, halves to even."""
    if dtype == "f64":
        return values
    if dtype == "bf16":
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000)
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return values.astype({"f16": np.float16, "f32": np.float32}[dtype]).astype(np.float64)


def _distinct(i: Input, n: int, rng: np.random.Generator) -> Array:
    if i.lo is None or i.hi is None:
        return (rng.permutation(n) - n // 2) * (0.25 if i.is_float else 1)
    step = (i.hi - i.lo) / max(n, 1)
    return i.lo + rng.permutation(n) * (step if i.is_float else np.ceil(step))


def values_of(case: Case, position: int, dims: tuple[int, ...] | None = None) -> Array:
    """The values of an input tensor, floats as doubles that its dtype holds."""
    i = case.inputs[position]
    dims = i.dims if dims is None else dims
    n = int(np.prod(dims, dtype=np.int64))
    rng = np.random.default_rng([zlib.crc32(case.op.encode()), case.index, position])
    lo, hi = (-2.0 if i.lo is None else i.lo), (2.0 if i.hi is None else i.hi)
    if i.dtype[0] in "bu" and i.dtype != "bf16":
        lo = max(lo, 0)
    if i.is_distinct:
        flat = _distinct(i, n, rng)
    elif i.is_float:
        flat = rng.uniform(lo, hi, n)
    else:
        flat = np.floor(rng.uniform(lo, hi, n))
    flat = flat.astype(NUMPY_DTYPES[i.dtype])
    return (round_to(i.dtype, flat) if i.is_float else flat).reshape(dims)
