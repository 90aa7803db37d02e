"""The largest drop of each of several price series, one per column."""

import torch
from torch import Tensor
from torch.func import vmap


def largest_drop(prices: Tensor) -> Tensor:
    return (prices[:-1] - prices[1:]).max()


def drops(table: Tensor) -> Tensor:
    return vmap(largest_drop, in_dims=1)(table)  # bug: return vmap(largest_drop, in_dims=0)(table)


def main() -> None:
    assert drops(torch.tensor([[5.0, 1.0], [3.0, 8.0], [9.0, 2.0]])).tolist() == [2.0, 6.0]


if __name__ == "__main__":
    main()
