"""The entropy of every row of a table of probabilities."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def entropy(p: Tensor) -> Tensor:
    total = p.sum()  # bug: total: float = sum(p.tolist())
    q = p / total
    return -(q * (q + 1e-12).log2()).sum()


def main() -> None:
    got = vmap(entropy)(torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [2.0, 2.0, 4.0]]))
    assert np.allclose(got.numpy(), [1.0, 0.0, 1.5], atol=1e-4)


if __name__ == "__main__":
    main()
