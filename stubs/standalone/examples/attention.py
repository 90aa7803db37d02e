"""One block of a transformer, with the layers of `tinygrad.nn`."""

from typing import assert_type

from tinygrad import Tensor
from tinygrad.nn import Embedding, LayerNorm, Linear, RMSNorm


class Block:
    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.norm, self.norm_after = LayerNorm(width), RMSNorm(width)
        self.query, self.key, self.value = (Linear(width, width, bias=False) for _ in range(3))
        self.up, self.down = Linear(width, 4 * width), Linear(4 * width, width)

    def split(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        normal = self.norm(x)
        q, k, v = (self.split(layer(normal)) for layer in (self.query, self.key, self.value))
        attended = q.scaled_dot_product_attention(k, v, attn_mask=mask, is_causal=mask is None)
        x = x + attended.transpose(1, 2).reshape(*x.shape)
        return x + self.down(self.up(self.norm_after(x)).gelu())


embed, block, out = Embedding(16, 8), Block(8, heads=2), Linear(8, 16)
tokens = Tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
logits = out(block(embed(tokens)))
assert_type(logits, Tensor)
assert logits.shape == (2, 4, 16)
assert_type(logits[:, -1].log_softmax().argmax(-1), Tensor)
assert isinstance(block.query.weight, Tensor)
