"""Attention on vectors of length two: each query looks at all keys and mixes all values."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def attend(q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    weights: Tensor = (keys @ q / 2**0.5).softmax(-1)
    return weights @ values


def attention(qs: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    over_queries = vmap(attend, in_dims=(0, None, None))  # bug: over_queries = vmap(attend)
    return over_queries(qs, keys, values)


def main() -> None:
    keys = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    values = torch.tensor([[2.0, 0.0], [4.0, 2.0], [5.0, 5.0]])
    out = attention(torch.tensor([[90.0, 0.0], [0.0, 90.0], [0.0, 99.0]]), keys, values)
    assert np.allclose(out.numpy(), [[3.0, 1.0], [5.0, 5.0], [5.0, 5.0]], atol=1e-4)


if __name__ == "__main__":
    main()
