"""The score of every user for every item.

Mistake: zipped brands: users and items are mapped together, so each user is scored for one item.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Users(Brand):
    """One example is one user."""


class Items(Brand):
    """One example is one item."""


def score(user: Vec[Users, Tensor], item: Vec[Items, Tensor]) -> Vec[Users | Items, Tensor]:
    return (user * item).sum().sigmoid()


def table(users: Tensor, items: Tensor) -> Tensor:
    def one_user(user: Vec[Users, Tensor]) -> Vec[Users, Tensor]:
        return vmap(lambda item: score(user, item), axis_name=Items)(items)

    return vmap(one_user, axis_name=Users)(users)  # bug: return vmap(score, axis_name=Users)(users, items)


def main() -> None:
    scores = table(Tensor([[0.0, 0.0], [9.0, -9.0]]), Tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(scores.numpy(), [[0.5, 0.5], [1.0, 0.0]], atol=1e-3)


if __name__ == "__main__":
    main()
