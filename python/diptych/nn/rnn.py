"""Recurrent layers over ops.lstm, ops.gru and ops.rnn."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import Uniform, initializer
from ..common.parameter import Parameter, ParameterTuple
from .cell import Cell
from .check import check_positive

__all__ = ["GRU", "LSTM", "RNN"]


class _Recurrent(Cell):
    """Stacked, optionally bidirectional recurrent layers; a subclass sets ``_gates`` and runs.

    Input (L, N, input_size), or (N, L, input_size) with ``batch_first``. Parameters of layer l are
    ``weight_ih_l{l}`` (gates * hidden, in), ``weight_hh_l{l}`` (gates * hidden, hidden) and
    ``bias_ih_l{l}``, ``bias_hh_l{l}``; ``_reverse`` is added for the backward direction. All start
    uniform in +-1 / sqrt(hidden_size).
    """

    _gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if not 0 <= dropout < 1:
            raise ValueError(f"For '{cls}', 'dropout' must be in [0, 1), but got {dropout}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.has_bias, self.batch_first, self.dropout = has_bias, batch_first, dropout
        self.bidirectional = bidirectional
        directions = 2 if bidirectional else 1
        rows, init = self._gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))
        weights: list[Parameter] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                if has_bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                for name, shape in shapes.items():
                    full = f"{name}_l{layer}{suffix}"
                    weights.append(Parameter(initializer(init, shape, dtype), name=full))
        self.weights = ParameterTuple(weights)

    def _zeros(self, x: Tensor) -> Tensor:
        batch = x.shape[0 if self.batch_first else 1]
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return ops.zeros((layers, batch, self.hidden_size), x.dtype)

    def _settings(self) -> dict[str, Any]:
        return {
            "num_layers": self.num_layers,
            "has_bias": self.has_bias,
            "batch_first": self.batch_first,
            "bidirectional": self.bidirectional,
            "dropout": self.dropout if self.training else 0.0,
        }

    def extend_repr(self) -> str:
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size}, "
            f"num_layers={self.num_layers}, bidirectional={self.bidirectional}"
        )


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), gates i, f, g, o.

    ``(output, (h, c)) = lstm(x, (h0, c0))``; h0 and c0 are zeros when left out.
    """

    _gates = 4

    def construct(
        self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = (self._zeros(x), self._zeros(x)) if hx is None else hx
        out, h, c = ops.lstm(x, h, c, self.weights, seq_length=seq_length, **self._settings())
        return out, (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014), gates r, z, n; ``(output, h) = gru(x, h0)``."""

    _gates = 3

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        h = self._zeros(x) if hx is None else hx
        out, h = ops.gru(x, h, self.weights, seq_length=seq_length, **self._settings())
        return out, h


class RNN(_Recurrent):
    """Elman network with tanh or relu; ``(output, h) = rnn(x, h0)``."""

    _gates = 1

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"For 'RNN', 'nonlinearity' must be 'tanh' or 'relu', but got {nonlinearity!r}"
            )
        super().__init__(*args, **kwargs)
        self.nonlinearity = nonlinearity

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        h = self._zeros(x) if hx is None else hx
        out, h = ops.rnn(
            x,
            h,
            self.weights,
            nonlinearity=self.nonlinearity,
            seq_length=seq_length,
            **self._settings(),
        )
        return out, h
