"""Every row of tests/cases.def against its NumPy reference, in every mode."""

import ast
from typing import Any

import numpy as np
import pytest
from cases import ATTRIBUTE_DTYPES, NAMES, Array, Case, read_cases, values_of
from reference import REFERENCES

import diptych as ms
from diptych import _core

CASES = read_cases()
MODES = ["eager", "graph", "device"]
OPS = _core.op_table


def run(mode: str, op: Any, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """One call in a mode."""
    if mode == "eager":
        return op(*inputs, **attrs)
    if mode == "graph":
        return compiled(op, attrs)(*inputs)
    _core.use_test_device(True)
    try:
        return compiled(op, attrs)(*inputs)
    finally:
        _core.use_test_device(False)


def compiled(op: Any, attrs: dict[str, Any]) -> Any:
    return ms.jit(lambda *inputs: op(*inputs, **attrs))


# ---- arguments


def to_tensor(values: Array, dtype: str, is_reversed: bool) -> ms.Tensor:
    """A tensor of this dtype; stored with its axes reversed if asked."""
    data = np.ascontiguousarray(values.T) if is_reversed else values
    t = OPS["cast"](ms.Tensor(data), dtype=getattr(ms, NAMES[dtype]))
    return OPS["transpose"](t) if is_reversed and values.ndim > 1 else t


def input_dtype(case: Case, position: int, floats: str | None) -> str:
    i = case.inputs[position]
    return floats if floats and i.is_float else i.dtype


def parse(kind: str, text: str) -> Any:
    """An attribute as Python writes it; dtypes stay names of the table (f32)."""
    if text == "None":
        return None
    if kind in ("str", "dtype"):
        return text
    if kind == "bool":
        return text.lower() in ("true", "1")
    value = ast.literal_eval(text.replace("inf", "1e999"))
    if kind == "ints":
        return tuple(value) if isinstance(value, tuple | list) else (value,)
    return value


def attributes(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """For the op, and for the reference."""
    kinds = {name: kind for name, kind, *_ in OPS[case.op].slots}
    ours: dict[str, Any] = {}
    theirs: dict[str, Any] = {}
    short = {**{v: k for k, v in NAMES.items()}, **{k: k for k in NAMES}}
    for name, text in case.attrs.items():
        value = parse(kinds[name], text)
        is_dtype = kinds[name] == "dtype" and value is not None
        ours[name] = getattr(ms, NAMES[short[value]]) if is_dtype else value
        theirs[name] = np.dtype(ATTRIBUTE_DTYPES[short[value]]) if is_dtype else value
    return ours, theirs


def arguments(case: Case, floats: str | None) -> tuple[list[Any], list[Any]]:
    """Inputs for the op, and for the reference."""
    ours: list[Any] = []
    theirs: list[Any] = []
    for position, i in enumerate(case.inputs):
        if i.is_absent or i.number is not None:
            ours.append(i.number)
            theirs.append(i.number)
            continue
        values = values_of(case, position)
        ours.append(to_tensor(values, input_dtype(case, position, floats), i.is_reversed))
        theirs.append(values)
    return ours, theirs


# ---- results


def to_array(t: Any) -> Array:
    """Floats as doubles."""
    if t.dtype in (ms.float16, ms.bfloat16, ms.float32):
        t = OPS["cast"](t, dtype=ms.float64)
    return np.asarray(t.asnumpy())


def tolerance(case: Case, dtype: Any) -> float:
    """Largest error relative to max(1, |reference|)."""
    rounding = {ms.float16: 2**-10, ms.bfloat16: 2**-7, ms.float64: 0.0}
    if dtype is ms.float64:
        return 1e-11
    return max(case.tolerance, rounding.get(dtype, 0.0))


def compare(case: Case, got: Any, want: Any) -> None:
    want = np.asarray(want)
    values = to_array(got)
    assert values.shape == want.shape
    assert (values.dtype.kind == "b") == (want.dtype.kind == "b")
    if values.dtype.kind != "f":
        np.testing.assert_array_equal(values, want)
        return
    with np.errstate(invalid="ignore"):  # infinities
        error = np.abs(values - want) / np.maximum(1, np.abs(want))
    same = (values == want) | (np.isnan(values) & np.isnan(want))
    same |= error <= tolerance(case, got.dtype)
    assert same.all(), f"got\n{values}\nexpected\n{want}\nlargest error {np.nanmax(error):.3g}"


def check(case: Case, mode: str, floats: str | None) -> None:
    inputs, arrays = arguments(case, floats)
    attrs, plain = attributes(case)
    ms.set_seed(7)  # reference/random.py starts there too
    result = run(mode, OPS[case.op], inputs, attrs)
    results = result if isinstance(result, tuple | list) else (result,)
    with np.errstate(all="ignore"):
        wanted = REFERENCES[case.op](*arrays, **plain)
    if callable(wanted):
        wanted(*[to_array(r) for r in results])
        return
    wanted = wanted if isinstance(wanted, tuple | list) else (wanted,)
    assert len(results) == len(wanted)
    for got, want in zip(results, wanted, strict=True):
        compare(case, got, want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, mode: str) -> None:
    assert case.op in OPS, "no such op"
    assert case.op in REFERENCES, f"tests/python/reference has no {case.op}"
    check(case, mode, None)
    if any(i.is_float for i in case.inputs):
        check(case, mode, "f64")


# ---- the modes against each other


def bits(value: Any) -> Any:
    """Results as arrays that compare bit for bit."""
    if isinstance(value, tuple | list):
        return [bits(v) for v in value]
    return None if value is None else (value.dtype.name, value.shape, _core.tensor_bytes(value))


def slopes(op: Any, inputs: list[Any], attrs: dict[str, Any], mode: str) -> Any:
    """Gradients of the sum of all float results, by the tape or by a compiled call's node."""
    return slopes_of(compiled(op, attrs) if mode == "graph" else lambda *t: op(*t, **attrs), inputs)


def slopes_of(call: Any, inputs: list[Any]) -> Any:
    floats = [
        i for i, x in enumerate(inputs) if isinstance(x, ms.Tensor) and x.dtype.is_floating_point
    ]

    def total(*given: Any) -> Any:
        out = call(*given)
        outs = out if isinstance(out, tuple | list) else (out,)
        return [o * o.astype(o.dtype) for o in outs if o.dtype.is_floating_point]

    ms.set_seed(7)
    return ms.grad(total, tuple(floats))(*inputs) if floats else ()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_graph_mode_has_the_bits_of_eager_mode(case: Case) -> None:
    inputs, _ = arguments(case, None)
    attrs, _ = attributes(case)
    op = OPS[case.op]
    results = []
    for mode in MODES:
        ms.set_seed(7)
        results.append(bits(run(mode, op, inputs, attrs)))
    assert results[0] == results[1]
    try:
        expected = slopes(op, inputs, attrs, "eager")
    except (RuntimeError, TypeError, NotImplementedError) as e:
        with pytest.raises(type(e)):
            slopes(op, inputs, attrs, "graph")
        return
    assert bits(slopes(op, inputs, attrs, "graph")) == bits(expected)


# ---- other sizes


def doubled(t: Any) -> Any:
    return OPS["concat"]([t, t], axis=0)


def resized(case: Case, inputs: list[Any]) -> list[Any] | None:
    """Inputs with twice the size along axis 0 that the op takes: of all tensors that are as long as
    the first, of the first, of all. None: it takes none of these."""
    attrs, _ = attributes(case)
    tensors = [i for i, x in enumerate(inputs) if isinstance(x, ms.Tensor) and x.ndim]
    if not tensors or not inputs[tensors[0]].shape[0]:
        return None
    first = tensors[0]
    alike = [i for i in tensors if inputs[i].shape[0] == inputs[first].shape[0]]
    for chosen in (alike, [first], tensors):
        longer = [doubled(x) if i in chosen else x for i, x in enumerate(inputs)]
        try:
            OPS[case.op](*longer, **attrs)
            return longer
        except (ValueError, TypeError, IndexError, RuntimeError):
            continue
    return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_graphs_for_any_size(case: Case) -> None:
    """Captured with sizes that vary along axis 0, then made again for others: the case's own sizes
    against the reference, both against eager mode, gradients too."""
    inputs, _ = arguments(case, None)
    attrs, _ = attributes(case)
    op, longer = OPS[case.op], resized(case, inputs)
    if longer is None:
        return
    f = compiled(op, attrs)
    f(*longer)
    for given in (inputs, longer, inputs):
        ms.set_seed(7)
        expected = bits(op(*given, **attrs))
        ms.set_seed(7)
        assert bits(f(*given)) == expected
    check_served(case, f)
    try:
        wanted = [slopes(op, given, attrs, "eager") for given in (inputs, longer)]
    except (RuntimeError, TypeError, NotImplementedError):
        return
    g = compiled(op, attrs)
    for given, want in ((longer, wanted[1]), (inputs, wanted[0]), (longer, wanted[1])):
        assert bits(slopes_of(g, given)) == bits(want)


# Ops that give another number of results for another size, or results whose sizes depend on values:
# graphs for each.
BY_SIZE = {"split", "nonzero", "masked_select", "unique", "bincount"}


def check_served(case: Case, f: Any) -> None:
    """Two captures (sizes fixed, sizes free) have served three kinds of calls."""
    if case.op not in BY_SIZE:
        assert f.cache_info()["compiles"] == 2, f.explain()


def test_every_op_has_a_reference() -> None:
    visible = {name for name, op in OPS.items() if not op.hidden}
    assert not sorted(visible - REFERENCES.keys())


def test_every_reference_is_used() -> None:
    assert not sorted(REFERENCES.keys() - {case.op for case in CASES})
