"""A small network that keeps the activations of its layers.

Mistake: escape: the activation of one example is kept, though it is not a valid choice outside of its vmap.
"""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def activations(weights: list[Tensor], xs: Tensor) -> list[Tensor]:
    kept: list[Tensor] = []

    def layer(w: Tensor, x: Vec[S, Tensor]) -> Vec[S, Tensor]:
        h = (x @ w).relu()  # bug+: kept.append(h)
        return h

    for w in weights:
        xs = vmap(partial(layer, w))(xs)
        kept.append(xs)  # bug: continue
    return kept


def main() -> None:
    first, last = activations([Tensor([[1.0, -1.0]]), Tensor([[2.0], [1.0]])], Tensor([[3.0], [-4.0]]))
    assert (first * 1.0).tolist() == [[3.0, 0.0], [0.0, 4.0]] and last.tolist() == [[6.0], [4.0]]


if __name__ == "__main__":
    main()
