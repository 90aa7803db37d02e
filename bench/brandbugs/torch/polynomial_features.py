"""The powers of every example up to a degree."""

import torch
from torch import Tensor
from torch.func import vmap


def features(x: Tensor, degree: int) -> Tensor:
    return x ** torch.arange(1, degree + 1)


def main() -> None:
    expand = vmap(features, in_dims=(0, None))  # bug: expand = vmap(features, in_dims=0)
    got = expand(torch.tensor([1.0, 2.0, -3.0]), 3)
    assert got.round().tolist() == [[1.0, 1.0, 1.0], [2.0, 4.0, 8.0], [-3.0, 9.0, -27.0]]


if __name__ == "__main__":
    main()
