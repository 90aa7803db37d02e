"""The gradient of a logistic regression for every example."""

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap


def loss(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return (1.0 + (-y * (w * x).sum()).exp()).log()


def gradient(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    g: Tensor = grad(loss)(w, x, y)
    return g


per_example = vmap(gradient, in_dims=(None, 0, 0))  # bug: per_example = vmap(gradient)


def main() -> None:
    got = per_example(torch.tensor([0.0, 0.0]), torch.tensor([[1.0, 2.0], [4.0, 0.0]]), torch.tensor([1.0, -1.0]))
    assert np.allclose(got.numpy(), [[-0.5, -1.0], [2.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
