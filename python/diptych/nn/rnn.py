"""Recurrent layers over ops.lstm, ops.gru and ops.rnn, and their cells of one step."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import Uniform, initializer
from ..common.parameter import Parameter, ParameterTuple
from .cell import Cell
from .check import check_bool, check_choice, check_number, check_positive, check_tensor

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]


def _check_dropout(cls: str, dropout: Any) -> None:
    check_number(cls, dropout=dropout)
    if not 0 <= dropout < 1:
        raise ValueError(f"For '{cls}', 'dropout' must be in [0, 1), but got {dropout}")


class _Recurrent(Cell):
    """Stacked, optionally bidirectional recurrent layers; a subclass sets ``_gates`` and runs."""

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
        check_bool(cls, has_bias=has_bias, batch_first=batch_first, bidirectional=bidirectional)
        _check_dropout(cls, dropout)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.has_bias, self.batch_first, self.dropout = has_bias, batch_first, dropout
        self.bidirectional = bidirectional
        self._make_weights(dtype)

    def _make_weights(self, dtype: Any) -> None:
        directions = 2 if self.bidirectional else 1
        rows, init = self._gates * self.hidden_size, Uniform(1 / math.sqrt(self.hidden_size))
        places = [(n, s) for n in range(self.num_layers) for s in ("", "_reverse")[:directions]]
        kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * self.has_bias
        for kind in kinds:
            for layer, suffix in places:
                width = self.input_size if layer == 0 else self.hidden_size * directions
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, self.hidden_size)}
                value = initializer(init, shapes.get(kind, (rows,)), dtype)
                setattr(self, f"{kind}_l{layer}{suffix}", Parameter(value))
        self._names = tuple(f"{k}_l{n}{s}" for n, s in places for k in kinds)

    def _weights(self) -> list[Tensor]:
        """All weights in the order of ops.lstm: layer by layer, direction by direction."""
        return [getattr(self, name) for name in self._names]

    def _listed(self, kind: str) -> ParameterTuple:
        return ParameterTuple(getattr(self, n) for n in self._names if n.startswith(kind))

    @property
    def w_ih_list(self) -> ParameterTuple:
        """Weights of the inputs, layer by layer."""
        return self._listed("weight_ih")

    @property
    def w_hh_list(self) -> ParameterTuple:
        """Weights of the states, layer by layer."""
        return self._listed("weight_hh")

    @property
    def b_ih_list(self) -> ParameterTuple:
        """Biases of the inputs, layer by layer."""
        return self._listed("bias_ih")

    @property
    def b_hh_list(self) -> ParameterTuple:
        """Biases of the states, layer by layer."""
        return self._listed("bias_hh")

    def _zeros(self, x: Tensor) -> Tensor:
        check_tensor(type(self).__name__, x=x)
        if x.ndim != 3:
            raise ValueError(
                f"For '{type(self).__name__}', the input must have 3 axes, but its shape is "
                f"{x.shape}"
            )
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
    """Long short-term memory (Hochreiter and Schmidhuber 1997):

        i, f, o = sigmoid(W x + b + U h + c) for each gate    g = tanh(the same)
        c' = f c + i g                                        h' = o tanh(c')

    ``(output, (h, c)) = lstm(x, (h0, c0), seq_length)``. x is (L, N, input_size), or
    (N, L, input_size) with ``batch_first``; output (L, N, directions * hidden_size); h and c
    (num_layers * directions, N, hidden_size), zeros at the start when left out. seq_length (N,)
    tells how many steps of each sequence count: later outputs are 0 and h, c are those of the last
    step that counts.

    Parameters of layer l are ``weight_ih_l{l}`` (4 hidden, in), ``weight_hh_l{l}`` (4 hidden,
    hidden), ``bias_ih_l{l}`` and ``bias_hh_l{l}`` (4 hidden,), the gates in the order i, f, g, o;
    ``_reverse`` is added for the backward direction. All start uniform in +-1 / sqrt(hidden_size).

    Args:
        num_layers: how many layers, each on the outputs of the one before.
        has_bias: whether there are biases.
        batch_first: whether the first axis is the batch.
        dropout: probability of zeroing an output on its way to the next layer, while training.
        bidirectional: a second net reads each sequence from its end; outputs are joined.

    >>> import diptych as ms
    >>> net = ms.nn.LSTM(3, 5, num_layers=2, batch_first=True)
    >>> output, (h, c) = net(ms.ops.ones((4, 7, 3)))
    >>> output.shape, h.shape, c.shape
    ((4, 7, 5), (2, 4, 5), (2, 4, 5))
    """

    _gates = 4

    def construct(
        self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if hx is not None and (not isinstance(hx, tuple | list) or len(hx) != 2):
            raise TypeError(f"For 'LSTM', 'hx' must be two Tensors, but got {type(hx).__name__}")
        h, c = (self._zeros(x), self._zeros(x)) if hx is None else hx
        out, h, c = ops.lstm(x, h, c, self._weights(), seq_length=seq_length, **self._settings())
        return out, (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014):

        r, z = sigmoid(W x + b + U h + c) for each gate    n = tanh(W x + b + r (U h + c))
        h' = (1 - z) n + z h

    ``(output, h) = gru(x, h0, seq_length)``; shapes, arguments and parameters are those of LSTM,
    with the gates r, z, n.

    >>> import diptych as ms
    >>> output, h = ms.nn.GRU(3, 5, bidirectional=True)(ms.ops.ones((7, 4, 3)))
    >>> output.shape, h.shape
    ((7, 4, 10), (2, 4, 5))
    """

    _gates = 3

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        h = self._zeros(x) if hx is None else hx
        out, h = ops.gru(x, h, self._weights(), seq_length=seq_length, **self._settings())
        return out, h


class RNN(_Recurrent):
    """Elman network, h' = tanh(W x + b + U h + c), or relu of it (``nonlinearity="relu"``).

    ``(output, h) = rnn(x, h0, seq_length)``; shapes, arguments and parameters are those of LSTM.

    >>> import diptych as ms
    >>> output, h = ms.nn.RNN(3, 5, nonlinearity="relu")(ms.ops.ones((7, 4, 3)))
    >>> output.shape, h.shape
    ((7, 4, 5), (1, 4, 5))
    """

    _gates = 1

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        check_choice("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(*args, **kwargs)
        self.nonlinearity = nonlinearity

    def construct(
        self, x: Tensor, hx: Tensor | None = None, seq_length: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        h = self._zeros(x) if hx is None else hx
        out, h = ops.rnn(
            x,
            h,
            self._weights(),
            nonlinearity=self.nonlinearity,
            seq_length=seq_length,
            **self._settings(),
        )
        return out, h


class _RecurrentCell(Cell):
    """One step of a recurrent layer; a subclass sets ``_gates`` and runs."""

    _gates: int

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = None
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, input_size=input_size, hidden_size=hidden_size)
        check_bool(cls, has_bias=has_bias)
        self.input_size, self.hidden_size, self.has_bias = input_size, hidden_size, has_bias
        rows, init = self._gates * hidden_size, Uniform(1 / math.sqrt(hidden_size))

        def parameter(*shape: int) -> Parameter:
            return Parameter(initializer(init, shape, dtype))

        self.weight_ih = parameter(rows, input_size)
        self.weight_hh = parameter(rows, hidden_size)
        self.bias_ih = parameter(rows) if has_bias else None
        self.bias_hh = parameter(rows) if has_bias else None

    def _step(self, mode: str, x: Tensor, h: Tensor, c: Tensor | None = None) -> Any:
        """(h', c') after the step; c' means something to the LSTM only."""
        cls = type(self).__name__
        check_tensor(cls, x=x, hx=h)
        for name, state, size in (("x", x, self.input_size), ("hx", h, self.hidden_size)):
            if state.ndim != 2 or state.shape[1] != size:
                raise ValueError(
                    f"For '{cls}', '{name}' must have the shape (N, {size}), but got {state.shape}"
                )
        _, h, c, _ = ops.rnn_layer(
            ops.expand_dims(x, 0),
            h,
            self.weight_ih,
            self.weight_hh,
            self.bias_ih,
            self.bias_hh,
            c,
            mode=mode,
        )
        return h, c

    def extend_repr(self) -> str:
        return (
            f"input_size={self.input_size}, hidden_size={self.hidden_size}, "
            f"has_bias={self.has_bias}"
        )


class RNNCell(_RecurrentCell):
    """h' = tanh(W x + b + U h + c), or relu of it, for one step: x (N, input_size), h
    (N, hidden_size).

    Parameters ``weight_ih`` (hidden, in), ``weight_hh`` (hidden, hidden), ``bias_ih``, ``bias_hh``.

    >>> import diptych as ms
    >>> ms.nn.RNNCell(3, 5)(ms.ops.ones((4, 3)), ms.ops.zeros((4, 5))).shape
    (4, 5)
    """

    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = None,
    ) -> None:
        check_choice("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self.nonlinearity = nonlinearity

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._step(self.nonlinearity, x, hx)[0]


class LSTMCell(_RecurrentCell):
    """One step of the LSTM: ``(h, c) = cell(x, (h, c))`` with x (N, input_size), h and c
    (N, hidden_size).

    Parameters ``weight_ih`` (4 hidden, in), ``weight_hh`` (4 hidden, hidden), ``bias_ih``,
    ``bias_hh``; gates i, f, g, o.

    >>> import diptych as ms
    >>> state = (ms.ops.zeros((4, 5)), ms.ops.zeros((4, 5)))
    >>> h, c = ms.nn.LSTMCell(3, 5)(ms.ops.ones((4, 3)), state)
    >>> h.shape
    (4, 5)
    """

    _gates = 4

    def construct(self, x: Tensor, hx: Any) -> tuple[Tensor, Tensor]:
        if not isinstance(hx, tuple | list) or len(hx) != 2:
            raise TypeError(
                f"For 'LSTMCell', 'hx' must be two Tensors, but got {type(hx).__name__}"
            )
        return self._step("lstm", x, hx[0], hx[1])


class GRUCell(_RecurrentCell):
    """One step of the GRU: ``h = cell(x, h)`` with x (N, input_size) and h (N, hidden_size).

    Parameters ``weight_ih`` (3 hidden, in), ``weight_hh`` (3 hidden, hidden), ``bias_ih``,
    ``bias_hh``; gates r, z, n.

    >>> import diptych as ms
    >>> ms.nn.GRUCell(3, 5)(ms.ops.ones((4, 3)), ms.ops.zeros((4, 5))).shape
    (4, 5)
    """

    _gates = 3

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._step("gru", x, hx)[0]
