"""The probability that a user clicks on an item, for all pairs."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def probability(user: Tensor, item: Tensor) -> Tensor:
    taste, thrift = user[:2], user[2]
    return ((taste * item[:2]).sum() - thrift.square() * item[2]).sigmoid()


def main() -> None:
    people = torch.tensor([[4.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    goods = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 50.0]])

    def row(u: Tensor) -> Tensor:
        return vmap(lambda i: probability(u, i))(goods)  # bug: return vmap(lambda i: probability(i, u))(goods)

    table = vmap(row)(people)
    assert np.allclose(table.numpy(), [[0.5, 0.0], [0.5, 0.5]], atol=1e-4)


if __name__ == "__main__":
    main()
