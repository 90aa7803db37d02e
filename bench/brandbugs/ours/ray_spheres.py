"""The distance along every ray to a sphere.

Mistake: wrong number of arguments: the radius, which the function closes over, is passed too.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def distances(origins: Tensor, directions: Tensor, radius: Tensor) -> Tensor:
    """To a sphere around the origin, for rays that hit it."""

    def hit(o: Vec[S1, Tensor], d: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
        return -(o @ d) - ((o @ d).square() - o @ o + radius.square()).sqrt()

    return vmap(hit)(origins, directions)  # bug: return vmap(hit)(origins, directions, radius)


def main() -> None:
    got = distances(Tensor([[-5.0, 0.0], [0.0, 3.0]]), Tensor([[1.0, 0.0], [0.0, -1.0]]), Tensor(2.0))
    assert got.tolist() == [3.0, 1.0]


if __name__ == "__main__":
    main()
