"""Complex tensors against NumPy in both modes, slopes against finite differences, and refusals."""

import pickle

import numpy as np
import pytest
from cases import read_cases, values_of

import diptych as ms
from diptych import Tensor, _core, ops

RNG = np.random.default_rng(31)


def draw(*shape):
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, W = draw(3, 4), draw(4, 2)

CALLS = {
    "add a number": (lambda x: x + 2, lambda x: x + 2),
    "add a complex number": (lambda x: x + 2j, lambda x: x + 2j),
    "from a complex number": (lambda x: 1j - x, lambda x: 1j - x),
    "mul": (lambda x: x * x, lambda x: x * x),
    "with reals": (lambda x: ops.ones((4,)) * x - ops.arange(4),
                   lambda x: x - np.arange(4, dtype=np.float32)),
    "div": (lambda x: (x + 1) / x, lambda x: (x + 1) / x),
    "neg": (lambda x: -x, lambda x: -x),
    "reciprocal": (lambda x: ops.Inv()(x), lambda x: 1 / x),
    "square": (ops.square, np.square),
    "abs": (ops.abs, np.abs),
    "exp": (ops.exp, np.exp),
    "log": (ops.log, np.log),
    "atan": (ops.atan, np.arctan),
    "conj": (ops.conj, np.conj),
    "sum": (lambda x: x.sum(0), lambda x: x.sum(0)),
    "mean": (lambda x: x.mean(), lambda x: x.mean()),
    "real": (ops.real, np.real),
    "imag": (ops.imag, np.imag),
    "slices": (lambda x: x[1:, ::-2], lambda x: x[1:, ::-2]),
    "transpose": (lambda x: ops.ConjugateTranspose()(x, (1, 0)) * 1, lambda x: x.T.conj()),
    "broadcast": (lambda x: ops.broadcast_to(x[0], (2, 4)) + 0, lambda x: np.stack([x[0]] * 2)),
    "concat": (lambda x: ops.concat([x, x.conj()], 1), lambda x: np.hstack([x, x.conj()])),
    "stack": (lambda x: ops.stack([x, x]), lambda x: np.stack([x, x])),
    "split": (lambda x: ops.split(x, 2, 1)[1], lambda x: x[:, 2:]),
    "addn": (lambda x: ops.addn([x, x, x]), lambda x: 3 * x),
    "equal": (lambda x: x == ops.concat([x[:1], x[1:].conj()]),
              lambda x: np.arange(3)[:, None] * np.ones(4) == 0),
    "not equal": (lambda x: x != x.conj(), lambda x: np.ones((3, 4), bool)),
    "truth": (lambda x: (x * Tensor([0.0, 1, 0, 1])).astype(ms.bool_),
              lambda x: np.array([[False, True, False, True]] * 3)),
    "to float": (lambda x: x.astype(ms.float32), lambda x: x.real.astype(np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CALLS)
def test_calls(name, dtype, mode):
    f, reference = CALLS[name]
    z = Z.astype(dtype)
    got = (f if mode == "eager" else ms.jit(f))(Tensor(z)).asnumpy()
    want = reference(z)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-5 if dtype == np.complex64 else 1e-12, atol=1e-6)


def test_products_and_promotion():
    single, double = Tensor(Z.astype(np.complex64)), Tensor(W)
    assert (single.dtype, double.dtype) == (ms.complex64, ms.complex128)
    np.testing.assert_allclose((single @ double).asnumpy(), Z @ W, rtol=1e-6)
    bias = draw(2)
    got = ops.dense(Tensor(Z), Tensor(W.T.copy()), Tensor(bias))
    np.testing.assert_allclose(got.asnumpy(), Z @ W + bias, rtol=1e-12)
    tall = ops.matmul(Tensor(Z), Tensor(draw(5, 2, 4)), transpose_b=True)
    assert tall.shape == (5, 3, 2) and tall.dtype == ms.complex128
    for other, want in ((ms.float32, ms.complex64), (ms.int64, ms.complex64),
                        (ms.float64, ms.complex128), (ms.complex128, ms.complex128)):  # fmt: skip
        assert (single + ops.ones((4,)).astype(other)).dtype is want


def test_values_in_and_out():
    for t, want in (
        (Tensor(1 + 2j), np.complex64(1 + 2j)),
        (Tensor(np.complex64(2j)), np.complex64(2j)),
        (Tensor(1 + 2j, ms.complex128), np.complex128(1 + 2j)),
        (Tensor([1, 2], ms.complex64), np.array([1, 2], np.complex64)),
        (Tensor(3, ms.complex128), np.complex128(3)),
        (ops.complex(Tensor([1.0]), Tensor([2.0])), np.array([1 + 2j], np.complex64)),
        (Tensor(np.array([1j, 2.0])[::-1]), np.array([2.0, 1j])),
    ):
        got = t.asnumpy()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    z = Tensor(Z)
    assert z[1, 2].item() == Z[1, 2] and z.tolist() == Z.tolist()
    assert np.array_equal(pickle.loads(pickle.dumps(z)).asnumpy(), Z)
    assert np.array_equal(np.from_dlpack(z), Z)
    assert np.array_equal(ms.from_dlpack(Z.copy()).asnumpy(), Z)
    assert bool(Tensor(1j)) and not bool(Tensor(0j))
    assert str(ms.complex64) == "Complex64" and ms.complex64.is_complex
    z[0], z[1, 1] = 2, 1j
    want = Z.copy()
    want[0], want[1, 1] = 2, 1j
    np.testing.assert_array_equal(z.asnumpy(), want)


def slopes(f, z, step=1e-6):
    """dL/da + i dL/db for each element a + b i."""
    out = np.zeros_like(z)
    for i in np.ndindex(z.shape):
        for direction in (1, 1j):
            d = np.zeros_like(z)
            d[i] = step * direction
            change = f(Tensor(z + d)).item() - f(Tensor(z - d)).item()
            out[i] += direction * change / (2 * step)
    return out


LOSSES = {
    "abs": lambda z: ops.abs(z * z).sum(),
    "parts": lambda z: (ops.real(z) * ops.imag(z) ** 2).sum(),
    "functions": lambda z: ops.real(ops.exp(ops.log(z) / (z + 2))).sum(),
    "products": lambda z: ops.abs(z @ Tensor(W) + Tensor(W)[0]).sum(),
    "moved": lambda z: ops.abs(ops.concat([z[1:, ::2], ops.conj(z[:2, 1:3])]).T * 2j).mean(),
    "atan": lambda z: ops.imag(ops.atan(z)).sum() + ops.real((1 / z).sum()),
}


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", LOSSES)
def test_slopes(name, mode):
    f = LOSSES[name]
    got = ms.grad(f if mode == "eager" else ms.jit(f))(Tensor(Z)).asnumpy()
    np.testing.assert_allclose(got, slopes(f, Z), rtol=1e-6, atol=1e-6)


def test_descent_of_a_complex_parameter():
    w, goal = ms.Parameter(Tensor(W), name="w"), draw(4, 2)
    step = ms.value_and_grad(lambda: (ops.abs(w - Tensor(goal)) ** 2).sum(), None, [w])
    for _ in range(60):
        loss, (g,) = step()
        w.set_data(w - g * 0.25)
    assert loss.item() < 1e-12
    np.testing.assert_allclose(w.asnumpy(), goal, atol=1e-8)


REFUSED = [
    (lambda: ops.relu(Tensor(Z)), "relu: complex128 tensors are not supported"),
    (lambda: Tensor(Z) < 1, "less: complex128"),
    (lambda: ops.zeros((2,), ms.complex64), "zeros: complex64"),
    (lambda: ops.sort(Tensor(Z)), "sort: complex128"),
    (lambda: ops.complex(ops.ones(2), ops.ones(3)), "of one shape"),
    (lambda: ops.complex(ops.ones(2, ms.int32), ops.ones(2, ms.int32)), "float32 or float64"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_checkpoints_hold_none(tmp_path):
    with pytest.raises(TypeError, match="'z' is complex128"):
        ms.save_checkpoint([{"name": "z", "data": Tensor(Z)}], str(tmp_path / "z.ckpt"))


def test_no_op_breaks_on_complex_tensors():
    """Every op works on complex inputs and with complex dtypes asked for, or says why not."""
    for case in read_cases():
        op, attrs = _core.op_table[case.op], {}
        if any(i.is_absent or i.number is not None for i in case.inputs):
            continue
        for name, text in case.attrs.items():
            kind = next(s[1] for s in op.slots if s[0] == name)
            if kind == "str":
                attrs[name] = text.strip('"')
            elif kind != "dtype":
                attrs[name] = eval(text, {"inf": np.inf, "nan": np.nan})
        given = [Tensor(values_of(case, k) * (1 + 1j)) for k in range(len(case.inputs))]
        if op.slots and op.slots[0][1] == "tensors":
            given = [given]
        asked = [s[0] for s in op.slots if s[1] == "dtype"]
        for extra in [{}, *({name: ms.complex64} for name in asked)]:
            try:
                op(*given, **{**attrs, **extra})
            except (TypeError, ValueError, IndexError, NotImplementedError):
                continue
