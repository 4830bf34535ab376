"""Transformer encoders and decoders (Vaswani et al. 2017)."""

from __future__ import annotations

import copy
from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import XavierUniform, initializer
from .attention import MultiheadAttention
from .basic import Dense, Dropout
from .cell import Cell
from .check import check_bool, check_positive
from .container import CellList
from .norm import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _activation(cls: str, activation: Any) -> Any:
    by_name = {"relu": ops.relu, "gelu": ops.gelu}
    if isinstance(activation, str) and activation in by_name:
        return by_name[activation]
    if isinstance(activation, str) or not callable(activation):
        raise ValueError(
            f"For '{cls}', 'activation' must be 'relu', 'gelu', a Cell or a function, but got "
            f"{activation!r}"
        )
    return activation


class _Layer(Cell):
    """What encoder and decoder layers share: self attention, the dense pair, norms, dropouts."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = type(self).__name__
        check_positive(cls, d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        check_bool(cls, batch_first=batch_first, norm_first=norm_first)
        self.activation, self.norm_first = _activation(cls, activation), norm_first
        attention = {"dropout": dropout, "batch_first": batch_first, "dtype": dtype}
        norm = {"epsilon": layer_norm_eps, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self._add_attention(d_model, nhead, attention)
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        for i in range(1, self._parts + 1):
            setattr(self, f"norm{i}", LayerNorm((d_model,), **norm))
        for i in range(1, self._parts + 1):
            setattr(self, f"dropout{i}", Dropout(p=dropout))

    _parts = 2

    def _add_attention(self, d_model: int, nhead: int, settings: dict[str, Any]) -> None:
        """Further attentions of a subclass, before the dense pair."""

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_Layer):
    """Self attention, then two dense layers, each with dropout, a residual sum and a LayerNorm.

    src is (S, N, d_model); with ``batch_first`` (N, S, d_model); without a batch (S, d_model). The
    result is like src. src_mask (S, S) or (N * nhead, S, S) and src_key_padding_mask (N, S) are
    those of MultiheadAttention.

    Children: ``self_attn``, ``dense1``, ``dense2``, ``norm1``, ``norm2``.

    Args:
        d_model, nhead: features and heads.
        dim_feedforward: features between the dense layers.
        dropout: probability at each dropout.
        activation: "relu", "gelu", a Cell or a function.
        layer_norm_eps: epsilon of the norms.
        batch_first: whether the first axis is the batch.
        norm_first: norms stand before attention and dense layers instead of after the sums.

    >>> import diptych as ms
    >>> layer = ms.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ms.ops.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def construct(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        x = src
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self.dropout2(self._feed_forward(self.norm2(x)))
        x = self.norm1(x + self._attend(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self.dropout2(self._feed_forward(x)))

    def _attend(self, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask)[0])


class TransformerDecoderLayer(_Layer):
    """Self attention, attention on ``memory``, then two dense layers, each with dropout, a residual
    sum and a LayerNorm.

    tgt is (T, N, d_model) and memory (S, N, d_model), or as TransformerEncoderLayer has it; the
    result is like tgt. tgt_mask (T, T), memory_mask (T, S), tgt_key_padding_mask (N, T) and
    memory_key_padding_mask (N, S) are those of MultiheadAttention. The constructor's arguments are
    those of TransformerEncoderLayer.

    Children: ``self_attn``, ``multihead_attn``, ``dense1``, ``dense2``, ``norm1`` to ``norm3``.

    >>> import diptych as ms
    >>> layer = ms.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ms.ops.ones((3, 5, 8)), ms.ops.ones((3, 7, 8))).shape
    (3, 5, 8)
    """

    _parts = 3

    def _add_attention(self, d_model: int, nhead: int, settings: dict[str, Any]) -> None:
        self.multihead_attn = MultiheadAttention(d_model, nhead, **settings)

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        x = tgt
        if self.norm_first:
            x = x + self._attend(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._look(self.norm2(x), memory, memory_mask, memory_key_padding_mask)
            return x + self.dropout3(self._feed_forward(self.norm3(x)))
        x = self.norm1(x + self._attend(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self._look(x, memory, memory_mask, memory_key_padding_mask))
        return self.norm3(x + self.dropout3(self._feed_forward(x)))

    def _attend(self, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask)[0])

    def _look(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None
    ) -> Tensor:
        return self.dropout2(self.multihead_attn(x, memory, memory, padding, False, mask)[0])


def _copies(cls: str, name: str, layer: Any, num_layers: int) -> CellList:
    check_positive(cls, num_layers=num_layers)
    if not isinstance(layer, Cell):
        raise TypeError(f"For '{cls}', '{name}' must be a Cell, but got {type(layer).__name__}")
    return CellList([copy.deepcopy(layer) for _ in range(num_layers)])


class TransformerEncoder(Cell):
    """``num_layers`` copies of an encoder layer one after the other, then ``norm`` if given. The
    copies begin with equal weights and are called ``layers.0``, ``layers.1`` ...

    >>> import diptych as ms
    >>> net = ms.nn.TransformerEncoder(ms.nn.TransformerEncoderLayer(8, 2, 16), 2)
    >>> net(ms.ops.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerEncoder", "encoder_layer", encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        x = src
        for layer in self.layers:
            x = layer(x, src_mask, src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Cell):
    """``num_layers`` copies of a decoder layer one after the other, then ``norm`` if given. The
    copies begin with equal weights and are called ``layers.0``, ``layers.1`` ...

    >>> import diptych as ms
    >>> net = ms.nn.TransformerDecoder(ms.nn.TransformerDecoderLayer(8, 2, 16), 2)
    >>> net(ms.ops.ones((5, 3, 8)), ms.ops.ones((7, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerDecoder", "decoder_layer", decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask,
                memory_mask,
                tgt_key_padding_mask,
                memory_key_padding_mask,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Cell):
    """Encoder and decoder, each of some layers with a LayerNorm at the end; all matrices start
    uniform by Xavier's rule.

    src (S, N, d_model) and tgt (T, N, d_model), or as TransformerEncoderLayer has it; the result is
    like tgt. The masks are those of the encoder and decoder layers. ``custom_encoder`` and
    ``custom_decoder`` take the place of the usual ones; the other arguments are those of
    TransformerEncoderLayer.

    >>> import diptych as ms
    >>> net = ms.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> net(ms.ops.ones((7, 3, 8)), ms.ops.ones((5, 3, 8))).shape
    (5, 3, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        if custom_encoder is None:
            layer: Cell = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for p in self.get_parameters():
            if p.ndim > 1:
                p.set_data(initializer(XavierUniform(), p.shape, p.dtype))

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(
                f"For 'Transformer', 'src' and 'tgt' must have {self.d_model} features, but their "
                f"shapes are {src.shape} and {tgt.shape}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )
