"""The average of the purchases of every user, less the user's own offset."""

import torch
from torch import Tensor
from torch.func import vmap


def centred(ratings: Tensor, offset: Tensor) -> Tensor:
    return ratings.mean() - offset


def main() -> None:
    ratings = torch.tensor([[1.0, 3.0], [5.0, 5.0]])
    of_users, of_items = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    own = vmap(centred)(ratings, of_users)  # bug: own = vmap(centred)(ratings, of_items)
    table = vmap(lambda a: vmap(lambda b: a + b)(of_items))(of_users)
    assert own.tolist() == [1.0, 3.0] and table.tolist() == [[4.0, 5.0], [5.0, 6.0]]


if __name__ == "__main__":
    main()
