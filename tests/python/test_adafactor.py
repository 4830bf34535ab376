"""nn.AdaFactor against its formula in double, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import Tensor, nn

RNG = np.random.default_rng(8)
SHAPES = [(4, 3), (3,), (2, 3, 2)]
START = [RNG.normal(size=s) for s in SHAPES]
GRADIENTS = [[RNG.normal(size=s) for s in SHAPES] for _ in range(4)]

OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "given rate": {"learning_rate": 0.1, "relative_step": False, "scale_parameter": False},
    "no first moment": {"beta1": 0.0, "decay_rate": 0.5, "eps": (1e-10, 1e-2)},
    "warm-up": {"warmup_init": True, "weight_decay": 0.1, "loss_scale": 2.0},
    "clipped": {"clip_threshold": 0.1, "weight_decay": 0.3},
}


def rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x * x)))


def reference(
    learning_rate: float | None = None,
    eps: tuple[float, float] = (1e-30, 1e-3),
    clip_threshold: float = 1.0,
    decay_rate: float = 0.8,
    beta1: float = 0.9,
    weight_decay: float = 0.0,
    scale_parameter: bool = True,
    relative_step: bool = True,
    warmup_init: bool = False,
    loss_scale: float = 1.0,
) -> list[np.ndarray]:
    """Algorithms 4 to 6 of the paper, one parameter after the other."""
    made = []
    for i, w in enumerate(START):
        m, v, row, col = 0.0, 0.0, 0.0, 0.0
        for t, grads in enumerate(GRADIENTS, 1):
            g = grads[i] / loss_scale
            b = 1 - t**-decay_rate
            squares = g * g + eps[0]
            rate = learning_rate
            if relative_step:
                rate = min(1e-6 * t if warmup_init else 1e-2, 1 / np.sqrt(t))
            if scale_parameter:
                rate = rate * max(eps[1], rms(w))
            if g.ndim > 1:
                row = b * row + (1 - b) * squares.mean(-1)
                col = b * col + (1 - b) * squares.mean(-2)
                total = row.mean(-1, keepdims=True)
                u = g / np.sqrt((row / total)[..., None] * col[..., None, :])
            else:
                v = b * v + (1 - b) * squares
                u = g / np.sqrt(v)
            u = rate * u / max(1.0, rms(u) / clip_threshold)
            m = beta1 * m + (1 - beta1) * u
            w = w - rate * weight_decay * w - (m if beta1 else u)
        made.append(w)
    return made


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("name", list(OPTIONS))
def test_steps(name: str, mode: int) -> None:
    ms.set_context(mode=mode)
    try:
        params = [ms.Parameter(Tensor(w, ms.float32), name=f"w{i}") for i, w in enumerate(START)]
        optimizer = nn.AdaFactor(params, **OPTIONS[name])
        for grads in GRADIENTS:
            assert optimizer(tuple(Tensor(g, ms.float32) for g in grads)) is True
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    for got, want in zip(params, reference(**OPTIONS[name]), strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=2e-5, atol=2e-6)


def test_states_are_small() -> None:
    params = [ms.Parameter(Tensor(w, ms.float32), name=f"w{i}") for i, w in enumerate(START)]
    optimizer = nn.AdaFactor(params, compression=True)
    optimizer(tuple(Tensor(g, ms.float32) for g in GRADIENTS[0]))
    rows = [s.shape for s in optimizer.exp_avg_sq_row]
    assert rows == [(4,), (2, 3)] and optimizer.exp_avg_sq_row[0].name == "exp_avg_sq_row.w0"
    assert [s.shape for s in optimizer.exp_avg_sq_col] == [(3,), (2, 2)]
    assert all(s.dtype is ms.float16 for s in optimizer.exp_avg_sq)
    assert optimizer.get_lr().item() == pytest.approx(0.01)


def test_a_net_learns() -> None:
    ms.set_seed(4)
    net = nn.SequentialCell(nn.Dense(3, 8), nn.ReLU(), nn.Dense(8, 1))
    optimizer = nn.AdaFactor(net.trainable_params(), 0.05, relative_step=False)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    x = Tensor(RNG.normal(size=(16, 3)), ms.float32)
    losses = [step(x, x.sum(1, keepdims=True)).item() for _ in range(60)]
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"learning_rate": 0.1}, ValueError, "relative_step"),
        ({"relative_step": False}, ValueError, "give a rate"),
        (
            {"learning_rate": 0.1, "relative_step": False, "warmup_init": True},
            ValueError,
            "warmup_init",
        ),
        ({"eps": 1e-3}, TypeError, "two numbers"),
        ({"beta1": 1.5}, ValueError, "beta1"),
    ],
)
def test_refused(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        nn.AdaFactor([ms.Parameter(Tensor([1.0]), name="w")], **options)
