"""Users and items as two named brands: data has its brand from the start, so the two are never zipped by mistake.

python examples/recommender.py
"""

from __future__ import annotations

from tinygrad import Tensor

from branded import Brand, Vec, brand


class Users(Brand):
    """One user each."""


class Items(Brand):
    """One item each."""


def affinity(user: Vec[Users], item: Vec[Items]) -> Vec[Users | Items]:
    """Return the score of one item for one user."""
    return (user * item).sum()


def recommend(users: Tensor, items: Tensor) -> Tensor:
    """Return the best item of each user, from tastes `f32[users, n]` and traits `f32[items, n]`."""
    with brand(Users, users.shape[0]) as u, brand(Items, items.shape[0]) as i:
        scores = affinity(u.vec(users), i.vec(items))
        best: Vec[Users] = i.unvec(scores).argmax()
        return u.unvec(best)


def main() -> None:
    tastes = Tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.5], [0.1, 0.9]])
    films = Tensor([[0.9, 0.1], [0.2, 0.8]])
    for user, film in enumerate(recommend(tastes, films).tolist()):
        print(f"user {user} may like film {film}")


if __name__ == "__main__":
    main()
