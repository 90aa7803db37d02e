"""Assigns every point to the nearest of some centres."""

import torch
from torch import Tensor
from torch.func import vmap


def nearest(point: Tensor, centres: Tensor) -> Tensor:
    return (centres - point).square().sum(-1).argmin()


def assign(points: Tensor, centres: Tensor) -> Tensor:
    return vmap(nearest, (0, None))(points, centres)  # bug: return vmap(nearest, (0, 0))(points, centres)


def main() -> None:
    centres = torch.tensor([[0.0, 0.0], [8.0, 8.0], [0.0, 9.0]])
    assert assign(torch.tensor([[1.0, 1.0], [1.0, 7.0], [7.0, 9.0]]), centres).tolist() == [0, 2, 1]


if __name__ == "__main__":
    main()
