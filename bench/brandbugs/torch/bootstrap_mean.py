"""The means of resamples of a data set, and how much they spread."""

import torch
from torch import Tensor
from torch.func import vmap


def resampled(data: Tensor, indices: Tensor) -> Tensor:
    mean = data[indices].mean()
    return mean - data.mean()  # bug: return data.mean() * 0.0 + float(mean.item())


def main() -> None:
    data, indices = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([[0, 0, 0], [2, 2, 2], [0, 1, 2]])
    assert vmap(resampled, in_dims=(None, 0))(data, indices).tolist() == [-2.0, 3.0, 0.0]


if __name__ == "__main__":
    main()
