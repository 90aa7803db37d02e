"""The hinge loss of every example of a support vector machine.

Mistake: branch on a Vec: `not` asks for the truth of a margin that differs from example to example.
"""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def hinge(w: Tensor, x: Vec[S1, Tensor], y: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    margin = 1.0 - y * (w @ x)
    missed = margin > 0
    return missed.where(margin, 0.0)  # bug: return margin * 0.0 if not missed else margin


def main() -> None:
    losses = vmap(partial(hinge, Tensor([1.0, 0.0])))(Tensor([[2.0, 0.0], [0.5, 3.0]]), Tensor([1.0, -1.0]))
    assert losses.tolist() == [0.0, 1.5]


if __name__ == "__main__":
    main()
