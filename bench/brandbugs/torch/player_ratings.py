"""The chance of every home team to beat every guest, by the ratings of both."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def chance(home: Tensor, guest: Tensor) -> Tensor:
    return (home + 0.5 - guest).sigmoid()


def table(home: Tensor, guests: Tensor) -> Tensor:
    def row(h: Tensor) -> Tensor:
        return vmap(lambda g: chance(h, g))(guests)  # bug: return vmap(lambda g: chance(g, h))(guests)

    return vmap(row)(home)


def main() -> None:
    got = table(torch.tensor([0.0, 9.5]), torch.tensor([0.5, 10.0]))
    assert np.allclose(got.numpy(), [[0.5, 0.0], [1.0, 0.5]], atol=1e-3)


if __name__ == "__main__":
    main()
