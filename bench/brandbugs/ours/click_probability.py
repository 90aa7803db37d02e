"""The probability that a user clicks on an item, for all pairs.

Mistake: named brands mixed: the function takes the user first, and is given the item first.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, brand


class Users(Brand):
    """One example is one user."""


class Items(Brand):
    """One example is one item."""


def probability(user: Vec[Users, Tensor], item: Vec[Items, Tensor]) -> Vec[Users | Items, Tensor]:
    taste, thrift = user[:2], user[2]
    return ((taste * item[:2]).sum() - thrift.square() * item[2]).sigmoid()


def main() -> None:
    people, goods = Tensor([[4.0, 0.0, 2.0], [0.0, 2.0, 0.0]]), Tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 50.0]])
    with brand(Users, 2) as users, brand(Items, 2) as items:
        u, i = users.vec(people), items.vec(goods)
        p = probability(u, i)  # bug: p = probability(i, u)
        table = users.unvec(items.unvec(p))
    assert np.allclose(table.numpy(), [[0.5, 0.0], [0.5, 0.5]], atol=1e-4)


if __name__ == "__main__":
    main()
