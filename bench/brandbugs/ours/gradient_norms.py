"""The gradient of every example, and its norm.

Mistake: out_axes: None for a result that differs from example to example.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def norm(w: Tensor, x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    g = (w @ x).square().gradient(w)[0]
    return g.square().sum().sqrt()


def norms(w: Tensor, xs: Tensor) -> Tensor:
    mapped = vmap(norm, in_axes=(None, 0))  # bug: mapped = vmap(norm, in_axes=(None, 0), out_axes=None)
    return mapped(w, xs)


def main() -> None:
    assert norms(Tensor([1.0, 1.0]), Tensor([[3.0, 4.0], [0.0, 2.0]])).tolist() == [70.0, 8.0]


if __name__ == "__main__":
    main()
