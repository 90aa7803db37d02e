"""The powers of every example up to a degree.

Mistake: in_axes: the degree, a number, is mapped like the examples.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def features(x: Vec[S, Tensor], degree: int) -> Vec[S, Tensor]:
    return x.pow(Tensor.arange(1, degree + 1))


def main() -> None:
    expand = vmap(features, in_axes=(0, None))  # bug: expand = vmap(features, in_axes=0)
    got = expand(Tensor([1.0, 2.0, -3.0]), 3)
    assert got.round().tolist() == [[1.0, 1.0, 1.0], [2.0, 4.0, 8.0], [-3.0, 9.0, -27.0]]


if __name__ == "__main__":
    main()
