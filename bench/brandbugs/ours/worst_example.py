"""The losses of a batch, and the largest of them.

Mistake: escape: a nonlocal takes the loss of one example out of its vmap.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def losses(predictions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    worst = Tensor(0.0)

    def loss(p: Vec[S1, Tensor], t: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
        nonlocal worst
        e = (p - t).square().mean()  # bug+: worst = worst.maximum(e)
        return e

    out = vmap(loss)(predictions, targets)
    worst = worst.maximum(out.max())  # bug: worst = worst * 1.0
    return out, worst


def main() -> None:
    out, worst = losses(Tensor([[1.0, 1.0], [2.0, 4.0]]), Tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert out.tolist() == [0.0, 10.0] and worst.item() == 10.0


if __name__ == "__main__":
    main()
