"""The mean squared error of every model of an ensemble."""

import torch
from torch import Tensor
from torch.func import vmap


def error(w: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    """The accuracy of one model over all examples."""
    residuals: Tensor = vmap(lambda x, y: w @ x - y)(xs, ys)
    return residuals.square().mean()


def errors(ws: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(error, in_dims=(0, None, None))(ws, xs, ys)  # bug: return vmap(error, in_dims=(None, 0, 0))(ws, xs, ys)


def main() -> None:
    xs, ys = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([1.0, 1.0])
    assert errors(torch.tensor([[1.0, 1.0], [3.0, 1.0], [1.0, 5.0]]), xs, ys).tolist() == [0.0, 2.0, 8.0]


if __name__ == "__main__":
    main()
