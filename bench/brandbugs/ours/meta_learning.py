"""One inner step per task, from a start that all tasks share.

Mistake: closed-over batch: the penalty closes over the weights of the enclosing task, not over the shared start.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


def adapted_loss(task: Vec[S, Tensor], start: Tensor, candidates: Tensor) -> Vec[S, Tensor]:
    """The best loss that a candidate reaches on a task, and how far candidates are from the start."""

    def distance(w: Vec[S1, Tensor]) -> Vec[S1, Tensor]:
        return (w - start).square().sum()  # bug: return (w - task).square().sum()

    losses = vmap(lambda w: (w - task).square().sum())(candidates)
    return losses.min() + vmap(distance)(candidates).mean()


def main() -> None:
    tasks, candidates = Tensor([[1.0, 0.0], [0.0, 4.0]]), Tensor([[1.0, 0.0], [0.0, 3.0]])
    got = vmap(adapted_loss, in_axes=(0, None, None))(tasks, Tensor([0.0, 0.0]), candidates)
    assert got.tolist() == [5.0, 6.0]


if __name__ == "__main__":
    main()
