"""A bilinear form of pairs of vectors with a shared matrix.

Mistake: in_axes: two axes for three arguments.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def form(m: Tensor, x: Vec[S1, Tensor], y: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return x @ m @ y


pairs = vmap(form, in_axes=(None, 0, 0))  # bug: pairs = vmap(form, in_axes=(None, 0))


def main() -> None:
    m, xs, ys = Tensor([[0.0, 1.0], [1.0, 0.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 0.0], [1.0, 1.0]])
    assert pairs(m, xs, ys).tolist() == [2.0, 7.0]


if __name__ == "__main__":
    main()
