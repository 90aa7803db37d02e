"""The losses of an ensemble on a data set, with a penalty for each model."""

import torch
from torch import Tensor
from torch.func import vmap


def loss(w: Tensor, x: Tensor) -> Tensor:
    penalty: Tensor = w.square().sum() / 2  # bug: penalty: Tensor = (w * x).square().sum() / 2
    return (w @ x - 1.0).square() + penalty


def main() -> None:
    models, data = torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    losses = vmap(lambda w: vmap(lambda x: loss(w, x))(data))(models)
    assert losses.tolist() == [[1.0, 5.0, 2.0], [3.0, 3.0, 3.0]]


if __name__ == "__main__":
    main()
