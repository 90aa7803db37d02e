"""The energy of springs that push and pull, and break when too long."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.func import vmap


class Spring(NamedTuple):
    """The two ends of a spring."""

    a: Tensor
    b: Tensor


def energy(spring: Spring) -> Tensor:
    length = (spring.a - spring.b).square().sum().sqrt()
    whole = (length - 1.0).square()  # bug+: if length > 3.0: return whole * 0.0
    return torch.where(length > 3.0, 0.0, whole)  # bug: return whole


def main() -> None:
    ends = torch.tensor([[0.0, 2.0], [0.0, 9.0], [1.0, 0.0]])
    assert vmap(energy)(Spring(torch.tensor([[0.0, 0.0]] * 3), ends)).tolist() == [1.0, 0.0, 0.0]


if __name__ == "__main__":
    main()
