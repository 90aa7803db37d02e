"""A bilinear form of pairs of vectors with a shared matrix."""

import torch
from torch import Tensor
from torch.func import vmap


def form(m: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return x @ m @ y


pairs = vmap(form, in_dims=(None, 0, 0))  # bug: pairs = vmap(form, in_dims=(None, 0))


def main() -> None:
    m = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    xs, ys = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    assert pairs(m, xs, ys).tolist() == [2.0, 7.0]


if __name__ == "__main__":
    main()
