"""BERT: a Transformer encoder with a pooler, and its heads for pre-training."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from .._core import Tensor
from ..common.initializer import TruncatedNormal, initializer
from ..common.parameter import Parameter
from .transformer import check_heads, check_tokens, draw_weights

__all__ = ["BertForPreTraining", "BertModel"]


class _Embeddings(nn.Cell):
    """Sum of the vectors of token, place and sentence, then a norm and dropout."""

    def __init__(self, vocab: int, places: int, kinds: int, size: int, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab, size)
        self.position_embeddings = nn.Embedding(places, size)
        self.token_type_embeddings = nn.Embedding(kinds, size)
        self.LayerNorm = nn.LayerNorm((size,), epsilon=1e-12)
        self.dropout = nn.Dropout(p=dropout)

    def construct(self, ids: Tensor, kinds: Tensor) -> Tensor:
        x = self.word_embeddings(ids) + self.token_type_embeddings(kinds)
        x = x + self.position_embeddings(ops.arange(ids.shape[1]))
        return self.dropout(self.LayerNorm(x))


class BertModel(nn.Cell):
    """Encoder of BERT with its pooler (Devlin et al. 2018, "BERT: pre-training of deep
    bidirectional transformers for language understanding").

    ``sequence, pooled = net(input_ids, token_type_ids, attention_mask)``: input_ids (N, L) of an
    int dtype, L at most max_position_embeddings; token_type_ids (N, L) the sentence each token
    belongs to, zeros when left out; attention_mask (N, L) with 0 where there is only padding.
    sequence is (N, L, hidden_size), pooled (N, hidden_size), made from the first token.

    The defaults are BERT base, 109,482,240 parameters; hidden_size, num_hidden_layers,
    num_attention_heads, intermediate_size = 1024, 24, 16, 4096 is BERT large.

    Args:
        vocab_size, max_position_embeddings, type_vocab_size: tokens, places and sentences.
        hidden_size, intermediate_size: features of a token, and between two dense layers.
        num_hidden_layers, num_attention_heads: encoder layers and heads of each.
        dropout: probability at embeddings, attention weights, residual sums and, which the paper
            lacks, between the dense layers.

    >>> import diptych as ms
    >>> net = ms.models.BertModel(30, 16, 2, 4, 32, max_position_embeddings=8)
    >>> sequence, pooled = net(ms.Tensor([[1, 7, 9, 2]], ms.int32))
    >>> sequence.shape, pooled.shape
    ((1, 4, 16), (1, 16))
    """

    def __init__(
        self,
        vocab_size: int = 30522,
        hidden_size: int = 768,
        num_hidden_layers: int = 12,
        num_attention_heads: int = 12,
        intermediate_size: int = 3072,
        max_position_embeddings: int = 512,
        type_vocab_size: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_heads("BertModel", hidden_size=hidden_size, num_attention_heads=num_attention_heads)
        self.longest = max_position_embeddings
        self.embeddings = _Embeddings(
            vocab_size, max_position_embeddings, type_vocab_size, hidden_size, dropout
        )
        layer = nn.TransformerEncoderLayer(
            hidden_size, num_attention_heads, intermediate_size, dropout, "gelu", 1e-12, True
        )
        self.encoder = nn.TransformerEncoder(layer, num_hidden_layers)
        self.pooler = nn.Dense(hidden_size, hidden_size, activation="tanh")
        draw_weights(self, TruncatedNormal(0.02))

    def construct(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        check_tokens("BertModel", "input_ids", input_ids, self.longest)
        kinds = ops.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        padding = None if attention_mask is None else attention_mask == 0
        x = self.encoder(self.embeddings(input_ids, kinds), None, padding)
        return x, self.pooler(x[:, 0])


class BertForPreTraining(nn.Cell):
    """BertModel with the heads it is trained with: the masked tokens, by the table of tokens again
    as the last product, and whether the second sentence follows the first.

    ``tokens, follows = net(input_ids, token_type_ids, attention_mask)``: logits (N, L, vocab_size)
    and (N, 2). Arguments of the constructor are those of BertModel; BERT base has 110,106,428
    parameters with its heads.

    >>> import diptych as ms
    >>> net = ms.models.BertForPreTraining(30, 16, 2, 4, 32, max_position_embeddings=8)
    >>> tokens, follows = net(ms.Tensor([[1, 7, 9, 2]], ms.int32))
    >>> tokens.shape, follows.shape
    ((1, 4, 30), (1, 2))
    """

    def __init__(self, *sizes: int, **settings: Any) -> None:
        super().__init__()
        self.bert = BertModel(*sizes, **settings)
        vocab_size, hidden_size = self.bert.embeddings.word_embeddings.embedding_table.shape
        self.transform = nn.Dense(hidden_size, hidden_size)
        self.LayerNorm = nn.LayerNorm((hidden_size,), epsilon=1e-12)
        self.bias = Parameter(initializer("zeros", (vocab_size,)), name="bias")
        self.seq_relationship = nn.Dense(hidden_size, 2)
        for head in (self.transform, self.seq_relationship):
            draw_weights(head, TruncatedNormal(0.02))

    def construct(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        x, pooled = self.bert(input_ids, token_type_ids, attention_mask)
        x = self.LayerNorm(ops.gelu(self.transform(x)))
        table = self.bert.embeddings.word_embeddings.embedding_table
        return ops.dense(x, table, self.bias), self.seq_relationship(pooled)
