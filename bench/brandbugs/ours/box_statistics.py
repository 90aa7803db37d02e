"""The least, the mean and the greatest value of every row.

Mistake: out_axes: two axes for three results.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def box(x: Vec[S, Tensor]) -> tuple[Vec[S, Tensor], Vec[S, Tensor], Vec[S, Tensor]]:
    return x.min(), x.mean(), x.max()


boxes = vmap(box, out_axes=(0, 0, 0))  # bug: boxes = vmap(box, out_axes=(0, 0))


def main() -> None:
    low, mean, high = boxes(Tensor([[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]]))
    assert (low.tolist(), mean.tolist(), high.tolist()) == ([1.0, 4.0], [3.0, 4.0], [6.0, 4.0])


if __name__ == "__main__":
    main()
