"""Normalizes every vector, except zero vectors."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def unit(x: Tensor) -> Tensor:
    norm = x.square().sum().sqrt()
    return torch.where(norm > 0, x / norm.clamp(min=1e-12), x)  # bug: return x / norm if norm > 0 else x


def main() -> None:
    out = vmap(unit)(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert np.allclose(out.numpy(), [[0.6, 0.8], [0.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
