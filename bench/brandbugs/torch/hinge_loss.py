"""The hinge loss of every example of a support vector machine."""

from functools import partial

import torch
from torch import Tensor
from torch.func import vmap


def hinge(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    margin = 1.0 - y * (w @ x)
    missed = margin > 0
    return torch.where(missed, margin, 0.0)  # bug: return margin * 0.0 if not missed else margin


def main() -> None:
    one = partial(hinge, torch.tensor([1.0, 0.0]))
    assert vmap(one)(torch.tensor([[2.0, 0.0], [0.5, 3.0]]), torch.tensor([1.0, -1.0])).tolist() == [0.0, 1.5]


if __name__ == "__main__":
    main()
