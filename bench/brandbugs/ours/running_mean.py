"""A module that normalizes a batch and keeps running statistics.

Mistake: escape: an attribute of an object outside keeps a value of one example.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


class Normalizer:
    """Takes the mean of each example away."""

    def __init__(self) -> None:
        self.last = Tensor([0.0])

    def one(self, x: Vec[S, Tensor]) -> Vec[S, Tensor]:
        mean = x.mean()  # bug+: self.last = mean
        return x - mean

    def __call__(self, xs: Tensor) -> Tensor:
        self.last = xs.mean(1)  # bug: self.last = self.last * 0.0
        return vmap(self.one)(xs)


def main() -> None:
    norm = Normalizer()
    assert norm(Tensor([[1.0, 3.0], [5.0, 5.0]])).tolist() == [[-1.0, 1.0], [0.0, 0.0]]
    assert (norm.last * 2.0).tolist() == [4.0, 10.0]


if __name__ == "__main__":
    main()
