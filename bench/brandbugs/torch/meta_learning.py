"""One inner step per task, from a start that all tasks share."""

import torch
from torch import Tensor
from torch.func import vmap


def adapted_loss(task: Tensor, start: Tensor, candidates: Tensor) -> Tensor:
    """The best loss that a candidate reaches on a task, and how far candidates are from the start."""

    def distance(w: Tensor) -> Tensor:
        return (w - start).square().sum()  # bug: return (w - task).square().sum()

    losses: Tensor = vmap(lambda w: (w - task).square().sum())(candidates)
    return losses.min() + vmap(distance)(candidates).mean()


def main() -> None:
    tasks, candidates = torch.tensor([[1.0, 0.0], [0.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    got = vmap(adapted_loss, in_dims=(0, None, None))(tasks, torch.tensor([0.0, 0.0]), candidates)
    assert got.tolist() == [5.0, 6.0]


if __name__ == "__main__":
    main()
