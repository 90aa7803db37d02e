"""Distances from every point of one set to every point of another."""

import torch
from torch import Tensor
from torch.func import vmap


def distance(x: Tensor, y: Tensor) -> Tensor:
    return (x - y).square().sum().sqrt()


def distances_from(x: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda y: distance(x, y))(ys)


def pairwise(xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(distances_from, in_dims=(0, None))(xs, ys)  # bug: return vmap(distances_from)(xs, ys)


def main() -> None:
    points = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert pairwise(points, points).tolist() == [[0.0, 5.0], [5.0, 0.0]]


if __name__ == "__main__":
    main()
