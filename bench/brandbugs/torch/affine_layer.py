"""An affine layer, whose weights are a pair, on a batch."""

import torch
from torch import Tensor
from torch.func import vmap


def affine(params: tuple[Tensor, Tensor], x: Tensor) -> Tensor:
    w, b = params
    return w @ x + b


def main() -> None:
    params = torch.tensor([[1.0, 1.0], [0.0, 2.0]]), torch.tensor([0.0, 1.0])
    layer = vmap(affine, in_dims=((None, None), 0))  # bug: layer = vmap(affine, in_dims=((None,), 0))
    assert layer(params, torch.tensor([[1.0, 2.0], [0.0, 1.0]])).tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
