"""Ratings with a bias of the user, which must not depend on the item.

Mistake: brand forgotten: the bias of the user is computed with the item, so it varies over both.
"""

from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Users(Brand):
    """One example is one user."""


class Items(Brand):
    """One example is one item."""


def rating(user: Vec[Users, Tensor], item: Vec[Items, Tensor]) -> Vec[Users | Items, Tensor]:
    bias: Vec[Users, Tensor] = user.mean()  # bug: bias: Vec[Users, Tensor] = (user * item).mean()
    return bias + (user * item).sum()


def main() -> None:
    users, items = Tensor([[1.0, 3.0], [0.0, 2.0]]), Tensor([[1.0, 0.0], [0.0, 1.0]])
    table = vmap(lambda u: vmap(lambda i: rating(u, i), axis_name=Items)(items), axis_name=Users)(users)
    assert table.tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
