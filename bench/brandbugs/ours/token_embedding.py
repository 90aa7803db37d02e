"""The embeddings of a sentence of tokens, scaled to unit length.

Mistake: one example to a mapped function: the number of one token stands where a sentence is wanted.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def sentence_vector(table: Tensor, tokens: Tensor) -> Tensor:
    def embed(token: Vec[S, Tensor]) -> Vec[S, Tensor]:
        v = table[token]
        return v / v.square().sum().sqrt()

    return vmap(embed)(tokens).mean(0)  # bug: return vmap(embed)(3).mean(0)


def main() -> None:
    table = Tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    assert np.allclose(sentence_vector(table, Tensor([1, 2])).numpy(), [0.5, 0.5], atol=1e-5)


if __name__ == "__main__":
    main()
