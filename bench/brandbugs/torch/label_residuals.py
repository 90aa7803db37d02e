"""The residual of every example of a linear regression."""

import torch
from torch import Tensor
from torch.func import vmap


def residuals(w: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    def residual(x: Tensor, y: Tensor) -> Tensor:
        return w @ x - y  # bug: return w @ x - ys

    return vmap(residual)(xs, ys)


def main() -> None:
    w, xs = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert residuals(w, xs, torch.tensor([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 2.0]


if __name__ == "__main__":
    main()
