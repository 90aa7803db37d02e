"""Every filter of a bank on one signal."""

import torch
from torch import Tensor
from torch.func import vmap


def response(signal: Tensor, taps: Tensor) -> Tensor:
    """The largest output of one filter with two taps."""
    return (signal[:-1] * taps[0] + signal[1:] * taps[1]).max()


def bank(signal: Tensor, filters: Tensor) -> Tensor:
    mapped = vmap(response, in_dims=(None, 0))  # bug: mapped = vmap(response, in_dims=(0, None))
    return mapped(signal, filters)


def main() -> None:
    filters = torch.tensor([[1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]])
    assert bank(torch.tensor([1.0, 2.0, 4.0]), filters).tolist() == [2.0, 2.0, 6.0]


if __name__ == "__main__":
    main()
