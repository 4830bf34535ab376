"""Attention of several heads (Vaswani et al. 2017) with MindSpore's parameters and masks."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import Tensor
from ..common.initializer import XavierNormal, XavierUniform, initializer
from ..common.parameter import Parameter
from .basic import Dense
from .cell import Cell
from .check import check_bool, check_number, check_positive, check_tensor

__all__ = ["MultiheadAttention"]


def _check_mask(name: str, mask: Tensor | None, shapes: tuple[tuple[int, ...], ...]) -> None:
    if mask is None:
        return
    check_tensor("MultiheadAttention", **{name: mask})
    if mask.dtype != ops.bool_ and not mask.dtype.is_floating_point:
        raise TypeError(
            f"For 'MultiheadAttention', '{name}' must be bool or float, but got {mask.dtype.name}"
        )
    if mask.shape not in shapes:
        legal = " or ".join(map(str, shapes))
        raise ValueError(
            f"For 'MultiheadAttention', '{name}' must have the shape {legal}, but got {mask.shape}"
        )


def _as_added(mask: Tensor, dtype: Any) -> Tensor:
    """A mask as numbers to add to the scores: -inf where a bool mask is True."""
    if mask.dtype != ops.bool_:
        return mask.astype(dtype, copy=False)
    return ops.where(mask, ops.full((), float("-inf"), dtype=dtype), 0.0)


class MultiheadAttention(Cell):
    """Attention of ``num_heads`` heads, each on embed_dim / num_heads of the projected features:

        softmax(q k^T / sqrt(embed_dim / num_heads)) v, joined and projected by ``out_proj``

    Inputs are query (L, N, embed_dim), key (S, N, kdim) and value (S, N, vdim); with
    ``batch_first`` (N, L, ...); without a batch (L, ...). ``key_padding_mask`` (N, S) tells which
    keys to leave out, ``attn_mask`` (L, S) or (N * num_heads, L, S) which pairs: True leaves out,
    floats are added to the scores. The result is (output like query, weights (N, L, S)), the
    weights averaged over the heads or, without ``average_attn_weights``, (N, num_heads, L, S);
    with ``need_weights=False`` it is (output,) and costs less.

    Parameters: ``in_proj_weight`` (3 embed_dim, embed_dim), or where kdim or vdim differ from
    embed_dim ``q_proj_weight``, ``k_proj_weight`` (embed_dim, kdim) and ``v_proj_weight``;
    ``in_proj_bias`` (3 embed_dim,); ``out_proj.weight`` and ``.bias``; ``bias_k`` and ``bias_v``.

    Args:
        dropout: probability of leaving out a weight while training.
        has_bias: whether the projections have biases.
        add_bias_kv: one learnt key and value more for each sequence.
        add_zero_attn: one key and value of zeros more.
        kdim, vdim: features of key and value; None: embed_dim.
        batch_first: whether the first axis is the batch.

    >>> import diptych as ms
    >>> net = ms.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = ms.ops.ones((3, 5, 8))
    >>> output, weights = net(x, x, x)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cls = "MultiheadAttention"
        check_positive(cls, embed_dim=embed_dim, num_heads=num_heads)
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        check_positive(cls, kdim=self.kdim, vdim=self.vdim)
        check_bool(
            cls, has_bias=has_bias, add_bias_kv=add_bias_kv, add_zero_attn=add_zero_attn,
            batch_first=batch_first,
        )  # fmt: skip
        check_number(cls, dropout=dropout)
        if not 0 <= dropout < 1:
            raise ValueError(f"For '{cls}', 'dropout' must be in [0, 1), but got {dropout}")
        if embed_dim % num_heads:
            raise ValueError(
                f"For '{cls}', 'num_heads' must divide 'embed_dim', but got {num_heads} and "
                f"{embed_dim}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim, self.batch_first = embed_dim // num_heads, batch_first
        self.add_zero_attn = add_zero_attn
        self._make_projections(has_bias, dtype)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            init, shape = XavierNormal(), (1, 1, embed_dim)
            self.bias_k = Parameter(initializer(init, shape, dtype), name="bias_k")
            self.bias_v = Parameter(initializer(init, shape, dtype), name="bias_v")

    def _make_projections(self, has_bias: bool, dtype: Any) -> None:
        def weight(rows: int, columns: int, name: str) -> Parameter:
            return Parameter(initializer(XavierUniform(), (rows, columns), dtype), name=name)

        e = self.embed_dim
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == e and self.vdim == e:
            self.in_proj_weight = weight(3 * e, e, "in_proj_weight")
        else:
            self.q_proj_weight = weight(e, e, "q_proj_weight")
            self.k_proj_weight = weight(e, self.kdim, "k_proj_weight")
            self.v_proj_weight = weight(e, self.vdim, "v_proj_weight")
        self.in_proj_bias = None
        if has_bias:
            zeros = initializer("zeros", (3 * e,), dtype)
            self.in_proj_bias = Parameter(zeros, name="in_proj_bias")
        self.out_proj = Dense(e, e, has_bias=has_bias, dtype=dtype)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """Features of queries, keys and values, each (N, length, embed_dim)."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is not None and query is key and key is value:
            return ops.chunk(ops.dense(query, weight, bias), 3, -1)
        if weight is None:
            weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        else:
            weights = ops.chunk(weight, 3, 0)
        biases = (None, None, None) if bias is None else ops.chunk(bias, 3, 0)
        inputs = (query, key, value)
        return tuple(ops.dense(x, weights[i], biases[i]) for i, x in enumerate(inputs))

    def _extend(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """Keys or values (N, S, embed_dim) with the learnt and the zero place at the end."""
        n = x.shape[0]
        parts = [x]
        if bias is not None:
            parts.append(ops.broadcast_to(bias.astype(x.dtype), (n, 1, self.embed_dim)))
        if self.add_zero_attn:
            parts.append(ops.zeros((n, 1, self.embed_dim), x.dtype))
        return x if len(parts) == 1 else ops.concat(parts, 1)

    def _heads(self, x: Tensor) -> Tensor:
        """(N, length, embed_dim) to (N, heads, length, head_dim)."""
        n, length, _ = x.shape
        return x.reshape((n, length, self.num_heads, self.head_dim)).swapaxes(1, 2)

    def _mask(
        self, pairs: Tensor | None, keys: Tensor | None, n: int, sizes: tuple[int, int], dtype: Any
    ) -> Tensor | None:
        """Both masks as one that broadcasts to (N, heads, L, S): bool, True where a pair counts,
        or numbers to add."""
        length, count = sizes
        masks = []
        if pairs is not None:
            lead = (1, 1) if pairs.ndim == 2 else (n, self.num_heads)
            masks.append(pairs.reshape((*lead, length, count)))
        if keys is not None:
            masks.append(keys.reshape((n, 1, 1, count)))
        if not masks:
            return None
        if any(m.dtype != ops.bool_ for m in masks):
            masks = [_as_added(m, dtype) for m in masks]
            mask = masks[0] if len(masks) == 1 else masks[0] + masks[1]
        else:
            mask = masks[0] if len(masks) == 1 else ops.logical_or(masks[0], masks[1])
            mask = ops.logical_not(mask)
        extra = (self.bias_k is not None) + self.add_zero_attn
        if extra:
            like = ops.ones if mask.dtype == ops.bool_ else ops.zeros
            mask = ops.concat([mask, like((*mask.shape[:3], extra), mask.dtype)], 3)
        return mask

    def _weigh(self, q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
        """Weights of the pairs (N, heads, L, S)."""
        scores = ops.matmul(q, k.swapaxes(-1, -2)) * self.head_dim**-0.5
        if mask is not None and mask.dtype == ops.bool_:
            scores = ops.where(mask, scores, float("-inf"))
        elif mask is not None:
            scores = scores + mask
        weights = ops.softmax(scores, -1)
        return ops.dropout(weights, self.dropout) if self.training and self.dropout else weights

    def _batched(self, x: Tensor, name: str, rank: int) -> Tensor:
        """x as (N, length, features)."""
        check_tensor("MultiheadAttention", **{name: x})
        if x.ndim != rank or rank not in (2, 3):
            raise ValueError(
                f"For 'MultiheadAttention', '{name}' must have 3 axes (2 without a batch), as "
                f"'query' has, but its shape is {x.shape}"
            )
        if rank == 2:
            return ops.expand_dims(x, 0)
        return x if self.batch_first else x.swapaxes(0, 1)

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, ...]:
        rank = query.ndim
        q = self._batched(query, "query", rank)
        k = q if key is query else self._batched(key, "key", rank)
        v = k if value is key else self._batched(value, "value", rank)
        n, length, count = q.shape[0], q.shape[1], k.shape[1]
        _check_mask("attn_mask", attn_mask, (
            (length, count), (n * self.num_heads, length, count)))  # fmt: skip
        _check_mask("key_padding_mask", key_padding_mask, (
            ((n, count),) if rank == 3 else ((count,),)))  # fmt: skip
        q, k, v = self._project(q, k, v)
        k, v = self._extend(k, self.bias_k), self._extend(v, self.bias_v)
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        mask = self._mask(attn_mask, key_padding_mask, n, (length, count), q.dtype)
        weights = None
        if need_weights:
            weights = self._weigh(q, k, mask)
            output = ops.matmul(weights, v)
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            p = self.dropout if self.training else 0.0
            output = ops.scaled_dot_product_attention(q, k, v, mask, p)
        output = self.out_proj(output.swapaxes(1, 2).reshape((n, length, self.embed_dim)))
        if rank == 2:
            output = output[0]
            weights = None if weights is None else weights[0]
        elif not self.batch_first:
            output = output.swapaxes(0, 1)
        return (output,) if weights is None else (output, weights)

    def extend_repr(self) -> str:
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}"
