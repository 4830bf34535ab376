"""MindSpore's attention over several layouts, on scaled_dot_product_attention."""

from __future__ import annotations

from .._core import Tensor, op_table
from .recurrent import scaled_dot_product_attention

__all__ = ["flash_attention_score"]

_table = op_table
_LAYOUTS = ("BSH", "SBH", "BSND", "BNSD")


def _to_heads(x: Tensor, layout: str, size: int) -> Tensor:
    """As (batch, heads, length, size)."""
    if layout in ("BSH", "SBH"):
        x = x.reshape((*x.shape[:2], x.shape[2] // size, size))
    if layout == "SBH":
        return _table["transpose"](x, (1, 2, 0, 3))
    return x if layout == "BNSD" else _table["swapaxes"](x, 1, 2)


def _from_heads(x: Tensor, layout: str) -> Tensor:
    if layout == "BNSD":
        return x
    x = _table["transpose"](x, (2, 0, 1, 3)) if layout == "SBH" else _table["swapaxes"](x, 1, 2)
    return x if layout == "BSND" else x.reshape((*x.shape[:2], x.shape[2] * x.shape[3]))


def flash_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    head_num: int,
    real_shift: Tensor | None = None,
    *,
    attn_mask: Tensor | None = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    input_layout: str = "BSH",
) -> Tensor:
    """dropout(softmax(scalar_value * (query key^T) + real_shift)) value, heads side by side.

    input_layout names the axes: B batch, S length, N heads, D size, H = N D; query has head_num
    heads, key and value as many or a divisor of it. Where attn_mask (bool or 0 and 1) is true, a
    key does not count; mask and shift broadcast to (B, N, S, S of the keys).

    >>> from diptych import ops
    >>> x = ops.ones((2, 3, 8))
    >>> ops.flash_attention_score(x, x, x, 2, scalar_value=0.5).shape
    (2, 3, 8)
    """
    if input_layout not in _LAYOUTS:
        legal = ", ".join(_LAYOUTS)
        raise ValueError(
            f"flash_attention_score: input_layout is {input_layout!r}; it must be one of {legal}"
        )
    if not 0 < keep_prob <= 1 or scalar_value <= 0:
        raise ValueError(
            f"flash_attention_score: keep_prob is {keep_prob}, scalar_value {scalar_value}; they "
            "must be positive, keep_prob at most 1"
        )
    if query.ndim != len(input_layout):
        raise ValueError(
            f"flash_attention_score: query has shape {query.shape}; input_layout is {input_layout}"
        )
    width = query.shape[-1]
    heads = query.shape[input_layout.index("N")] if "N" in input_layout else head_num
    if head_num < 1 or heads != head_num or ("H" in input_layout and width % head_num):
        raise ValueError(
            f"flash_attention_score: head_num is {head_num}, which does not fit query of shape "
            f"{query.shape} in the layout {input_layout}"
        )
    size = width // head_num if "H" in input_layout else width
    q, k, v = (_to_heads(x, input_layout, size) for x in (query, key, value))
    mask = None if attn_mask is None else _table["equal"](attn_mask, 0)
    if real_shift is not None and mask is not None:
        mask = _table["where"](mask, real_shift, float("-inf"))
    elif real_shift is not None:
        mask = real_shift
    made = scaled_dot_product_attention(q, k, v, mask, 1 - keep_prob, False, scalar_value)
    return _from_heads(made, input_layout)
