"""The focal loss of every prediction."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def focal(p: Tensor, target: Tensor) -> Tensor:
    right = target * p + (1.0 - target) * (1.0 - p)
    return -((1.0 - right).square() * right.log2())


def total(ps: Tensor, targets: Tensor) -> Tensor:
    return vmap(focal)(ps, targets).sum()  # bug: return vmap(focal)(ps).sum() + targets.sum() * 0.0


def main() -> None:
    assert np.allclose(total(torch.tensor([0.5, 0.5, 1.0]), torch.tensor([1.0, 0.0, 1.0])).numpy(), 0.5, atol=1e-5)


if __name__ == "__main__":
    main()
