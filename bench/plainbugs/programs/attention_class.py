"""Multi-head attention as a class: heads and queries are two vmaps."""

from __future__ import annotations

from branded import vmap
from tinygrad import Tensor, nn


class Attention:
    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.size = width // heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))

    def split(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], self.heads, self.size)

    def weights(self, q: Tensor, keys: Tensor) -> Tensor:
        scores = vmap(lambda k: (q * k).sum())(keys) / self.size**0.5  # zip: scores = vmap(lambda a, k: (a * k).sum())(q, keys) / self.size**0.5
        return scores.softmax(axis=0)  # if: return scores.softmax(axis=0) if scores.sum() else scores

    def read(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return self.weights(q, keys) @ values

    def head(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        return vmap(self.read, in_axes=(0, None, None))(queries, keys, values)  # none: return vmap(self.read)(queries, keys, values)

    def __call__(self, x: Tensor) -> Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        mixed = vmap(self.head, in_axes=1, out_axes=1)(q, k, v)  # out: mixed = vmap(self.head, in_axes=1)(q, k, v)
        return mixed.reshape(x.shape[0], -1)


class Block:
    def __init__(self, width: int) -> None:
        self.attention = Attention(width, 2)
        self.norm = nn.LayerNorm(width)

    def __call__(self, x: Tensor) -> Tensor:
        return x + self.attention(self.norm(x))


Tensor.manual_seed(3)
block = Block(4)
batch = Tensor.arange(40).reshape(2, 5, 4).float() * 0.1
mixed = vmap(block)(batch)
lengths = vmap(lambda rows: vmap(lambda row: row.square().sum().sqrt())(rows))(mixed)  # read: lengths = vmap(lambda rows: vmap(lambda row: row.square().sum().item() ** 0.5)(rows))(mixed)
result = mixed, lengths
