"""One step of descent along the direction of the mean gradient."""

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap


def loss(w: Tensor, x: Tensor) -> Tensor:
    return (w @ x).square()


def gradient(w: Tensor, x: Tensor) -> Tensor:
    g: Tensor = grad(loss)(w, x)
    return g


def step(w: Tensor, g: Tensor) -> Tensor:
    return w - g / g.square().sum().sqrt()


def train(w: Tensor, xs: Tensor) -> Tensor:
    g = vmap(gradient, in_dims=(None, 0))(w, xs).mean(0)
    return step(w, g)  # bug: return vmap(lambda x: step(w, gradient(w, x)))(xs).mean(0)


def main() -> None:
    w = train(torch.tensor([4.0, 3.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(w.numpy(), [3.2, 2.4], atol=1e-5)


if __name__ == "__main__":
    main()
