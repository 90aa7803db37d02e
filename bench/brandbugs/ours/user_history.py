"""The average of the purchases of every user, less the user's own offset.

Mistake: named brands mixed: the offset of the items is used instead of the offset of the users.
"""

from tinygrad import Tensor

from branded import Brand, Vec, brand


class Users(Brand):
    """One example is one user."""


class Items(Brand):
    """One example is one item."""


def centred(ratings: Vec[Users, Tensor], offset: Vec[Users, Tensor]) -> Vec[Users, Tensor]:
    return ratings.mean() - offset


def main() -> None:
    ratings, of_users, of_items = Tensor([[1.0, 3.0], [5.0, 5.0]]), Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    with brand(Users, 2) as users, brand(Items, 2) as items:
        a, b = users.vec(of_users), items.vec(of_items)
        offset = a  # bug: offset = b
        own = users.unvec(centred(users.vec(ratings), offset))
        table = users.unvec(items.unvec(a + b))
    assert own.tolist() == [1.0, 3.0] and table.tolist() == [[4.0, 5.0], [5.0, 6.0]]


if __name__ == "__main__":
    main()
