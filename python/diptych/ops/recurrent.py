"""Recurrent nets and attention: stacks of the one-layer, one-direction op of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Tensor, op_table
from .random import dropout

__all__ = ["gru", "lstm", "rnn", "scaled_dot_product_attention"]

_layer = op_table["rnn_layer"]
_attention = op_table["flash_attention"]
_stack, _concat, _transpose = op_table["stack"], op_table["concat"], op_table["transpose"]


def _run(
    mode: str,
    x: Tensor,
    h0: Tensor,
    c0: Tensor | None,
    weights: Sequence[Tensor],
    num_layers: int,
    has_bias: bool,
    batch_first: bool,
    bidirectional: bool,
    dropout_p: float,
    seq_length: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """All layers; weights are w_ih, w_hh (and b_ih, b_hh) of each layer and direction in turn."""
    directions, each = (2 if bidirectional else 1), (4 if has_bias else 2)
    if len(weights) != num_layers * directions * each:
        raise ValueError(
            f"{mode}: {num_layers} layers and {directions} directions need "
            f"{num_layers * directions * each} weights, but got {len(weights)}"
        )
    states = num_layers * directions
    for name, state in (("h0", h0), ("c0", c0)):
        if state is not None and (state.ndim != 3 or state.shape[0] != states):
            raise ValueError(
                f"{mode}: {name} has shape {state.shape}; it must be ({states}, batch, hidden)"
            )
    if batch_first:
        x = _transpose(x, (1, 0, 2))
    last_h, last_c = [], []
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            at = layer * directions + d
            w_ih, w_hh, *biases = weights[at * each : (at + 1) * each]
            b_ih, b_hh = biases if has_bias else (None, None)
            c = None if c0 is None else c0[at]
            y, h, c, _ = _layer(
                x, h0[at], w_ih, w_hh, b_ih, b_hh, c, seq_length, mode=mode, reverse=d == 1
            )
            outputs.append(y)
            last_h.append(h)
            last_c.append(c)
        x = outputs[0] if directions == 1 else _concat(outputs, axis=2)
        if dropout_p and layer < num_layers - 1:
            x = dropout(x, dropout_p)
    y = _transpose(x, (1, 0, 2)) if batch_first else x
    return y, _stack(last_h), None if c0 is None else _stack(last_c)


def lstm(
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    weights: Sequence[Tensor],
    num_layers: int = 1,
    has_bias: bool = True,
    batch_first: bool = False,
    bidirectional: bool = False,
    dropout: float = 0.0,
    seq_length: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(output, h, c) of stacked LSTM layers, gates i, f, g, o.

    x (steps, batch, in), h0 and c0 (layers * directions, batch, hidden). ``seq_length`` (batch,)
    gives how many steps of each sequence count; later outputs are 0.

    >>> from diptych import ops
    >>> x, h = ops.ones((5, 2, 3)), ops.zeros((1, 2, 4))
    >>> weights = [ops.ones((16, 3)), ops.ones((16, 4)), ops.zeros((16,)), ops.zeros((16,))]
    >>> output, last_h, last_c = ops.lstm(x, h, h, weights)
    >>> output.shape, last_c.shape
    ((5, 2, 4), (1, 2, 4))
    """
    y, h, c = _run("lstm", x, h0, c0, weights, num_layers, has_bias, batch_first, bidirectional,
                   dropout, seq_length)
    assert c is not None
    return y, h, c


def gru(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    num_layers: int = 1,
    has_bias: bool = True,
    batch_first: bool = False,
    bidirectional: bool = False,
    dropout: float = 0.0,
    seq_length: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(output, h) of stacked GRU layers, gates r, z, n.

    >>> from diptych import ops
    >>> x, h = ops.ones((5, 2, 3)), ops.zeros((1, 2, 4))
    >>> weights = [ops.ones((12, 3)), ops.ones((12, 4)), ops.zeros((12,)), ops.zeros((12,))]
    >>> output, last = ops.gru(x, h, weights)
    >>> output.shape, last.shape
    ((5, 2, 4), (1, 2, 4))
    """
    y, h, _ = _run("gru", x, h0, None, weights, num_layers, has_bias, batch_first, bidirectional,
                   dropout, seq_length)
    return y, h


def rnn(
    x: Tensor,
    h0: Tensor,
    weights: Sequence[Tensor],
    nonlinearity: str = "tanh",
    num_layers: int = 1,
    has_bias: bool = True,
    batch_first: bool = False,
    bidirectional: bool = False,
    dropout: float = 0.0,
    seq_length: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """(output, h) of stacked Elman layers with tanh or relu.

    >>> from diptych import ops
    >>> x, h = ops.ones((5, 2, 3)), ops.zeros((1, 2, 4))
    >>> weights = [ops.ones((4, 3)), ops.ones((4, 4)), ops.zeros((4,)), ops.zeros((4,))]
    >>> output, last = ops.rnn(x, h, weights)
    >>> output.shape, last.shape
    ((5, 2, 4), (1, 2, 4))
    """
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"rnn: nonlinearity is {nonlinearity!r}; it must be 'tanh' or 'relu'")
    y, h, _ = _run(nonlinearity, x, h0, None, weights, num_layers, has_bias, batch_first,
                   bidirectional, dropout, seq_length)
    return y, h


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(scale * query key^T + mask) value over (batch, heads, length, size).

    A bool mask is True where a key counts, a float mask is added; ``is_causal`` lets place i see
    keys up to i. ``scale`` None: 1 / sqrt(size). ``dropout_p`` drops attention weights.

    >>> from diptych import ops
    >>> q = ops.ones((1, 2, 4, 8))
    >>> ops.scaled_dot_product_attention(q, q, q).shape
    (1, 2, 4, 8)
    """
    if scale is not None and scale <= 0:
        raise ValueError(f"scaled_dot_product_attention: scale must be positive, got {scale}")
    if not dropout_p:
        return _attention(query, key, value, attn_mask, scale=scale or 0.0, is_causal=is_causal)[0]
    return _with_dropout(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _with_dropout(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    p: float,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """The plain formula: dropped weights must exist to be dropped."""
    from .. import bool_, ops

    low: Any = float("-inf")
    scores = ops.matmul(query, ops.swapaxes(key, -1, -2)) * (scale or query.shape[-1] ** -0.5)
    if is_causal:
        length, keys = scores.shape[-2:]
        seen = ops.tril(ops.ones((length, keys), bool_))
        scores = ops.where(seen, scores, low)
    if mask is not None:
        scores = ops.where(mask, scores, low) if mask.dtype == bool_ else scores + mask
    return ops.matmul(dropout(ops.softmax(scores, -1), p), value)
