"""Vision Transformer."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from .._core import Tensor
from ..common.initializer import TruncatedNormal, initializer
from ..common.parameter import Parameter
from ..nn.check import check_positive, check_tensor
from .transformer import check_heads, draw_weights

__all__ = ["VisionTransformer", "vit_b_16"]


class VisionTransformer(nn.Cell):
    """A Transformer encoder over the patches of an image and one class token, whose last features
    a dense layer classifies (Dosovitskiy et al. 2020, "An image is worth 16x16 words").

    Images (N, in_channels, image_size, image_size), result (N, num_classes). Parameters beside
    those of the children: ``class_token`` (1, 1, hidden_dim) and ``pos_embedding``
    (1, patches + 1, hidden_dim).

    Args:
        image_size, patch_size: length of an image's and of a patch's side.
        num_layers, num_heads: encoder layers and heads of each.
        hidden_dim, mlp_dim: features of a patch, and between two dense layers.
        num_classes: how many outputs.
        dropout: probability at embeddings, attention weights, residual sums and between the dense
            layers.
        in_channels: channels of the images.

    >>> import diptych as ms
    >>> net = ms.models.VisionTransformer(8, 4, 2, 2, 16, 32, num_classes=5)
    >>> net(ms.ops.ones((2, 3, 8, 8))).shape
    (2, 5)
    """

    def __init__(
        self,
        image_size: int = 224,
        patch_size: int = 16,
        num_layers: int = 12,
        num_heads: int = 12,
        hidden_dim: int = 768,
        mlp_dim: int = 3072,
        num_classes: int = 1000,
        dropout: float = 0.0,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        check_heads("VisionTransformer", hidden_dim=hidden_dim, num_heads=num_heads)
        check_positive("VisionTransformer", image_size=image_size, patch_size=patch_size)
        if image_size % patch_size:
            raise ValueError(
                "For 'VisionTransformer', 'patch_size' must divide 'image_size', "
                f"but got {patch_size} and {image_size}"
            )
        self.image_shape = (in_channels, image_size, image_size)
        self.conv_proj = nn.Conv2d(
            in_channels, hidden_dim, patch_size, patch_size, "valid", has_bias=True
        )
        places = (image_size // patch_size) ** 2 + 1
        zeros = initializer("zeros", (1, places, hidden_dim))
        self.class_token = Parameter(zeros[:, :1], name="class_token")
        self.pos_embedding = Parameter(zeros, name="pos_embedding")
        self.dropout = nn.Dropout(p=dropout)
        layer = nn.TransformerEncoderLayer(
            hidden_dim, num_heads, mlp_dim, dropout, "gelu", 1e-6, True, True
        )
        norm = nn.LayerNorm((hidden_dim,), epsilon=1e-6)
        self.encoder = nn.TransformerEncoder(layer, num_layers, norm)
        self.head = nn.Dense(hidden_dim, num_classes)
        draw_weights(self, TruncatedNormal(0.02))

    def construct(self, x: Tensor) -> Tensor:
        check_tensor("VisionTransformer", x=x)
        if x.shape[1:] != self.image_shape:
            raise ValueError(
                f"For 'VisionTransformer', images must have the shape (N, *{self.image_shape}), "
                f"but got {x.shape}"
            )
        x = ops.flatten(self.conv_proj(x), start_dim=2).swapaxes(1, 2)
        token = ops.broadcast_to(self.class_token, (x.shape[0], 1, x.shape[2]))
        x = self.dropout(ops.concat([token, x], 1) + self.pos_embedding)
        return self.head(self.encoder(x)[:, 0])


def vit_b_16(**settings: Any) -> VisionTransformer:
    """ViT-B/16 on 224 x 224 images, 86,567,656 parameters; settings are VisionTransformer's."""
    return VisionTransformer(**settings)
