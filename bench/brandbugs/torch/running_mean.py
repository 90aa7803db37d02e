"""A module that normalizes a batch and keeps running statistics."""

import torch
from torch import Tensor
from torch.func import vmap


class Normalizer:
    """Takes the mean of each example away."""

    def __init__(self) -> None:
        self.last = torch.tensor([0.0])

    def one(self, x: Tensor) -> Tensor:
        mean = x.mean()  # bug+: self.last = mean
        return x - mean

    def __call__(self, xs: Tensor) -> Tensor:
        self.last = xs.mean(1)  # bug: self.last = self.last * 0.0
        return vmap(self.one)(xs)


def main() -> None:
    norm = Normalizer()
    assert norm(torch.tensor([[1.0, 3.0], [5.0, 5.0]])).tolist() == [[-1.0, 1.0], [0.0, 0.0]]
    assert (norm.last * 2.0).tolist() == [4.0, 10.0]


if __name__ == "__main__":
    main()
