"""GPT: a Transformer decoder that predicts the next token."""

from __future__ import annotations

import math

from .. import nn, ops
from .._core import Tensor
from ..common.initializer import Normal, initializer
from ..nn.check import check_positive
from .transformer import check_heads, check_tokens, draw_weights

__all__ = ["GPT"]


class _Attention(nn.Cell):
    """Attention of each place on itself and the places before it, (N, L, n_embd) to the same."""

    def __init__(self, n_embd: int, n_head: int, dropout: float) -> None:
        super().__init__()
        self.n_head, self.p = n_head, dropout
        self.c_attn = nn.Dense(n_embd, 3 * n_embd)
        self.c_proj = nn.Dense(n_embd, n_embd)

    def construct(self, x: Tensor) -> Tensor:
        n, length, features = x.shape
        q, k, v = (
            part.reshape((n, length, self.n_head, features // self.n_head)).swapaxes(1, 2)
            for part in ops.chunk(self.c_attn(x), 3, -1)
        )
        p = self.p if self.training else 0.0
        x = ops.scaled_dot_product_attention(q, k, v, None, p, is_causal=True)
        return self.c_proj(x.swapaxes(1, 2).reshape((n, length, features)))


class _MLP(nn.Cell):
    """Two dense layers with GELU between them."""

    def __init__(self, n_embd: int) -> None:
        super().__init__()
        self.c_fc = nn.Dense(n_embd, 4 * n_embd)
        self.c_proj = nn.Dense(4 * n_embd, n_embd)

    def construct(self, x: Tensor) -> Tensor:
        return self.c_proj(ops.gelu(self.c_fc(x), "tanh"))


class _Block(nn.Cell):
    """Attention and dense layers, each behind a norm and beside a residual sum."""

    def __init__(self, n_embd: int, n_head: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm((n_embd,), epsilon=1e-5)
        self.attn = _Attention(n_embd, n_head, dropout)
        self.ln_2 = nn.LayerNorm((n_embd,), epsilon=1e-5)
        self.mlp = _MLP(n_embd)
        self.dropout = nn.Dropout(p=dropout)

    def construct(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attn(self.ln_1(x)))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class GPT(nn.Cell):
    """GPT-2 (Radford et al. 2019, "Language models are unsupervised multitask learners"): norms
    before attention and dense layers, learnt positions, and the table of tokens again as the last
    product.

    tokens (N, L) of an int dtype, L at most n_positions; result (N, L, vocab_size): logits of the
    token that follows each. The defaults are the smallest model, 124,439,808 parameters; n_embd,
    n_layer, n_head = 1024, 24, 16 and 1280, 36, 20 and 1600, 48, 25 are the others. Children are
    called as in the published checkpoints, ``wte``, ``wpe``, ``h.0.attn.c_attn`` ..., ``ln_f``;
    their matrices, though, are (outputs, inputs).

    Args:
        vocab_size, n_positions: how many tokens there are, and how many places.
        n_embd, n_layer, n_head: features, blocks, and heads of each attention.
        dropout: probability at the embedding, the attention weights and the residual sums.

    >>> import diptych as ms
    >>> net = ms.models.GPT(vocab_size=20, n_positions=8, n_embd=16, n_layer=2, n_head=4)
    >>> net(ms.Tensor([[3, 1, 4], [1, 5, 9]], ms.int32)).shape
    (2, 3, 20)
    """

    def __init__(
        self,
        vocab_size: int = 50257,
        n_positions: int = 1024,
        n_embd: int = 768,
        n_layer: int = 12,
        n_head: int = 12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_heads("GPT", n_embd=n_embd, n_head=n_head)
        check_positive("GPT", n_layer=n_layer)
        self.n_positions = n_positions
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(n_positions, n_embd)
        self.dropout = nn.Dropout(p=dropout)
        self.h = nn.CellList([_Block(n_embd, n_head, dropout) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm((n_embd,), epsilon=1e-5)
        draw_weights(self, Normal(0.02))
        # Sums of 2 n_layer branches keep their variance.
        last = Normal(0.02 / math.sqrt(2 * n_layer))
        for name, p in self.parameters_and_names():
            if name.endswith("c_proj.weight"):
                p.set_data(initializer(last, p.shape, p.dtype))

    def construct(self, tokens: Tensor) -> Tensor:
        check_tokens("GPT", "tokens", tokens, self.n_positions)
        x = self.wte(tokens) + self.wpe(ops.arange(tokens.shape[1]))
        x = self.dropout(x)
        for block in self.h:
            x = block(x)
        return ops.dense(self.ln_f(x), self.wte.embedding_table)
