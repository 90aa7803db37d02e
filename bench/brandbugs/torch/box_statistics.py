"""The least, the mean and the greatest value of every row."""

import torch
from torch import Tensor
from torch.func import vmap


def box(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return x.min(), x.mean(), x.max()


boxes = vmap(box, out_dims=(0, 0, 0))  # bug: boxes = vmap(box, out_dims=(0, 0))


def main() -> None:
    low, mean, high = boxes(torch.tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]]))
    assert (low.tolist(), mean.tolist(), high.tolist()) == ([1.0, 4.0], [3.0, 4.0], [6.0, 4.0])


if __name__ == "__main__":
    main()
