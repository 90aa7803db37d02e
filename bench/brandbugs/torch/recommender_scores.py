"""The score of every user for every item."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def score(user: Tensor, item: Tensor) -> Tensor:
    return (user * item).sum().sigmoid()


def table(users: Tensor, items: Tensor) -> Tensor:
    def one_user(user: Tensor) -> Tensor:
        return vmap(lambda item: score(user, item))(items)

    return vmap(one_user)(users)  # bug: return vmap(score)(users, items)


def main() -> None:
    scores = table(torch.tensor([[0.0, 0.0], [9.0, -9.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(scores.numpy(), [[0.5, 0.5], [1.0, 0.0]], atol=1e-3)


if __name__ == "__main__":
    main()
