"""Attention on vectors of length two: each query looks at all keys and mixes all values.

Mistake: zipped brands: keys and values are mapped with the queries, so each query sees one key.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def attend(q: Vec[S, Tensor], keys: Tensor, values: Tensor) -> Vec[S, Tensor]:
    weights = (keys @ q / 2**0.5).softmax()
    return weights @ values


def attention(qs: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    over_queries = vmap(attend, in_axes=(0, None, None))  # bug: over_queries = vmap(attend)
    return over_queries(qs, keys, values)


def main() -> None:
    keys, values = Tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 9.0]]), Tensor([[2.0, 0.0], [4.0, 2.0], [5.0, 5.0]])
    out = attention(Tensor([[90.0, 0.0], [0.0, 90.0], [0.0, 99.0]]), keys, values)
    assert np.allclose(out.numpy(), [[3.0, 1.0], [5.0, 5.0], [5.0, 5.0]], atol=1e-4)


if __name__ == "__main__":
    main()
