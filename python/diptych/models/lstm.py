"""LSTM language model."""

from __future__ import annotations

from typing import Any

from .. import nn
from .._core import Tensor
from ..common.initializer import Uniform

__all__ = ["LSTMLanguageModel"]


class LSTMLanguageModel(nn.Cell):
    """Embedding, stacked LSTMs and a dense layer, with dropout between them but not between steps
    (Zaremba et al. 2014, "Recurrent neural network regularization").

    ``logits, (h, c) = net(tokens, (h, c))``: tokens (N, L) of an int dtype, logits
    (N, L, vocab_size) of the token that follows each; h and c (num_layers, N, hidden_size) carry
    what was read to the next call, zeros when left out. The defaults are the paper's medium model,
    20 million parameters; ``embedding_size=hidden_size=1500, dropout=0.65`` is its large one, 66
    million.

    Args:
        vocab_size: how many tokens there are.
        embedding_size, hidden_size: features of a token and of an LSTM.
        num_layers: how many LSTMs.
        dropout: probability at the embedding, between the LSTMs and before the dense layer.

    >>> import diptych as ms
    >>> net = ms.models.LSTMLanguageModel(20, 8, 16, num_layers=2)
    >>> logits, (h, c) = net(ms.Tensor([[3, 1, 4], [1, 5, 9]], ms.int32))
    >>> logits.shape, h.shape
    ((2, 3, 20), (2, 2, 16))
    """

    def __init__(
        self,
        vocab_size: int = 10000,
        embedding_size: int = 650,
        hidden_size: int = 650,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        init = Uniform(0.05)
        self.embedding = nn.Embedding(vocab_size, embedding_size, embedding_table=init)
        self.dropout = nn.Dropout(p=dropout)
        between = dropout if num_layers > 1 else 0.0
        self.lstm = nn.LSTM(
            embedding_size, hidden_size, num_layers, batch_first=True, dropout=between
        )
        self.decoder = nn.Dense(hidden_size, vocab_size, weight_init=init, bias_init="zeros")

    def construct(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        x = self.dropout(self.embedding(tokens))
        x, state = self.lstm(x, state)
        return self.decoder(self.dropout(x)), state
