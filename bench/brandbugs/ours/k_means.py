"""Assigns every point to the nearest of some centres.

Mistake: unmapped passed as mapped: there are as many centres as points, and they are mapped with them.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def nearest(point: Vec[S, Tensor], centres: Tensor) -> Vec[S, Tensor]:
    return (centres - point).square().sum(-1).argmin()


def assign(points: Tensor, centres: Tensor) -> Tensor:
    return vmap(nearest, (0, None))(points, centres)  # bug: return vmap(nearest, (0, 0))(points, centres)


def main() -> None:
    centres = Tensor([[0.0, 0.0], [8.0, 8.0], [0.0, 9.0]])
    assert assign(Tensor([[1.0, 1.0], [1.0, 7.0], [7.0, 9.0]]), centres).tolist() == [0, 2, 1]


if __name__ == "__main__":
    main()
