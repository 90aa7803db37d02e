"""The gradient of every example, and its norm."""

import torch
from torch import Tensor
from torch.func import grad, vmap


def loss(w: Tensor, x: Tensor) -> Tensor:
    return (w @ x).square()


def norm(w: Tensor, x: Tensor) -> Tensor:
    g: Tensor = grad(loss)(w, x)
    return g.square().sum().sqrt()


def norms(w: Tensor, xs: Tensor) -> Tensor:
    mapped = vmap(norm, in_dims=(None, 0))  # bug: mapped = vmap(norm, in_dims=(None, 0), out_dims=None)
    return mapped(w, xs)


def main() -> None:
    assert norms(torch.tensor([1.0, 1.0]), torch.tensor([[3.0, 4.0], [0.0, 2.0]])).tolist() == [70.0, 8.0]


if __name__ == "__main__":
    main()
