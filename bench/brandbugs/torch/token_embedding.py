"""The embeddings of a sentence of tokens, scaled to unit length."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def sentence_vector(table: Tensor, tokens: Tensor) -> Tensor:
    def embed(token: Tensor) -> Tensor:
        v = table[token.reshape(1)][0]
        return v / v.square().sum().sqrt()

    return vmap(embed)(tokens).mean(0)  # bug: return vmap(embed)(3).mean(0)


def main() -> None:
    table = torch.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    assert np.allclose(sentence_vector(table, torch.tensor([1, 2])).numpy(), [0.5, 0.5], atol=1e-5)


if __name__ == "__main__":
    main()
