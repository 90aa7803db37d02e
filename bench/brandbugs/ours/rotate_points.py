"""Rotates every point of a cloud by one matrix.

Mistake: unmapped passed as mapped: the rows of the matrix are taken for examples.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def rotate(matrix: Tensor, point: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return matrix @ point


def main() -> None:
    quarter = Tensor([[0.0, -1.0], [1.0, 0.0]])
    cloud = vmap(rotate, in_axes=(None, 0))  # bug: cloud = vmap(rotate)
    assert cloud(quarter, Tensor([[1.0, 0.0], [0.0, 1.0]])).tolist() == [[0.0, 1.0], [-1.0, 0.0]]


if __name__ == "__main__":
    main()
