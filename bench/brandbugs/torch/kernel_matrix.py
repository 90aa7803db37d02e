"""The Gram matrix of a Gaussian kernel."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def rbf(x: Tensor, y: Tensor) -> Tensor:
    return (-(x - y).square().sum() / 2).exp()


def gram(xs: Tensor) -> Tensor:
    columns = vmap(rbf, in_dims=(None, 0))
    return vmap(columns, in_dims=(0, None))(xs, xs)  # bug: return vmap(columns)(xs, xs)


def main() -> None:
    got = gram(torch.tensor([[0.0], [1.0], [2.0]])).numpy()
    want = [[np.exp(-((i - j) ** 2) / 2) for j in range(3)] for i in range(3)]
    assert np.allclose(got, want, atol=1e-4)


if __name__ == "__main__":
    main()
