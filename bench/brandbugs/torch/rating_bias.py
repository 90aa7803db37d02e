"""Ratings with a bias of the user, which must not depend on the item."""

import torch
from torch import Tensor
from torch.func import vmap


def rating(user: Tensor, item: Tensor) -> Tensor:
    bias: Tensor = user.mean()  # bug: bias: Tensor = (user * item).mean()
    return bias + (user * item).sum()


def main() -> None:
    users, items = torch.tensor([[1.0, 3.0], [0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    table = vmap(lambda u: vmap(lambda i: rating(u, i))(items))(users)
    assert table.tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
