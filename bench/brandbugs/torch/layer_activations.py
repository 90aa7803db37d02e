"""A small network that keeps the activations of its layers."""

from functools import partial

import torch
from torch import Tensor
from torch.func import vmap


def activations(weights: list[Tensor], xs: Tensor) -> list[Tensor]:
    kept: list[Tensor] = []

    def layer(w: Tensor, x: Tensor) -> Tensor:
        h = (x @ w).relu()  # bug+: kept.append(h)
        return h

    for w in weights:
        xs = vmap(partial(layer, w))(xs)
        kept.append(xs)  # bug: continue
    return kept


def main() -> None:
    first, last = activations(
        [torch.tensor([[1.0, -1.0]]), torch.tensor([[2.0], [1.0]])], torch.tensor([[3.0], [-4.0]])
    )
    assert (first * 1.0).tolist() == [[3.0, 0.0], [0.0, 4.0]] and last.tolist() == [[6.0], [4.0]]


if __name__ == "__main__":
    main()
