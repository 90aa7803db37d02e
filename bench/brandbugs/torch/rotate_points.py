"""Rotates every point of a cloud by one matrix."""

import torch
from torch import Tensor
from torch.func import vmap


def rotate(matrix: Tensor, point: Tensor) -> Tensor:
    return matrix @ point


def main() -> None:
    quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    cloud = vmap(rotate, in_dims=(None, 0))  # bug: cloud = vmap(rotate)
    assert cloud(quarter, torch.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist() == [[0.0, 1.0], [-1.0, 0.0]]


if __name__ == "__main__":
    main()
