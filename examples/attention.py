"""Attention, written for one query of one head; vmap adds the axes of heads and queries.

python examples/attention.py
"""

from __future__ import annotations

import math
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap
from branded.typing import S

Q = TypeVar("Q", bound=Brand)


def attend(query: Vec[Q], keys: Vec[S], values: Vec[S]) -> Vec[Q | S]:
    """Return the output for one query `f32[d]`, given the keys and values `f32[n, d]` of its head."""
    weights = (keys @ query / math.sqrt(query.shape[0])).softmax()
    return weights @ values


def head(queries: Vec[S], keys: Vec[S], values: Vec[S]) -> Vec[S]:
    """Return the outputs of one head: queries are examples, and keys are shared."""
    return vmap(attend, in_axes=(0, None, None))(queries, keys, values)


def heads(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the outputs of all heads; each argument is `f32[h, n, d]`."""
    return vmap(head)(queries, keys, values)


def main() -> None:
    Tensor.manual_seed(0)
    q, k, v = (Tensor.randn(2, 5, 4) for _ in range(3))
    ours, tinygrads = heads(q, k, v), q.scaled_dot_product_attention(k, v)
    print(f"2 heads, 5 queries; largest difference from tinygrad's own: {(ours - tinygrads).abs().max().item():.1e}")


if __name__ == "__main__":
    main()
