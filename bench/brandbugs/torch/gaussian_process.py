"""The mean of a Gaussian process at new points."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def cross(x: Tensor, train: Tensor) -> Tensor:
    similarities: Tensor = vmap(lambda t: (-(x - t).square().sum()).exp())(train)
    return similarities


def mean_at(x: Tensor, train: Tensor, alpha: Tensor) -> Tensor:
    return cross(x, train) @ alpha


def predict(new: Tensor, train: Tensor, alpha: Tensor) -> Tensor:
    at_new = vmap(mean_at, in_dims=(0, None, None))  # bug: at_new = vmap(mean_at, in_dims=(None, 0, None))
    return at_new(new, train, alpha)


def main() -> None:
    train, alpha = torch.tensor([[0.0], [1.0]]), torch.tensor([2.0, 4.0])
    got = predict(torch.tensor([[0.0], [1.0], [9.0]]), train, alpha)
    assert np.allclose(got.numpy(), [2 + 4 / np.e, 4 + 2 / np.e, 0.0], atol=1e-4)


if __name__ == "__main__":
    main()
