"""Distances from every point of one set to every point of another.

Mistake: zipped brands: both sets enter one vmap, so the first point meets the first only.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def distance(x: Vec[S1, Tensor], y: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return (x - y).square().sum().sqrt()


def distances_from(x: Vec[S, Tensor], ys: Tensor) -> Vec[S, Tensor]:
    return vmap(lambda y: distance(x, y))(ys)


def pairwise(xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(distances_from, in_axes=(0, None))(xs, ys)  # bug: return vmap(distances_from)(xs, ys)


def main() -> None:
    points = Tensor([[0.0, 0.0], [3.0, 4.0]])
    assert pairwise(points, points).tolist() == [[0.0, 5.0], [5.0, 0.0]]


if __name__ == "__main__":
    main()
