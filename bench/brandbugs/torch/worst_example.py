"""The losses of a batch, and the largest of them."""

import torch
from torch import Tensor
from torch.func import vmap


def losses(predictions: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    worst = torch.tensor(0.0)

    def loss(p: Tensor, t: Tensor) -> Tensor:
        nonlocal worst
        e = (p - t).square().mean()  # bug+: worst = worst.maximum(e)
        return e

    out = vmap(loss)(predictions, targets)
    worst = worst.maximum(out.max())  # bug: worst = worst * 1.0
    return out, worst


def main() -> None:
    out, worst = losses(torch.tensor([[1.0, 1.0], [2.0, 4.0]]), torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert out.tolist() == [0.0, 10.0] and worst.item() == 10.0


if __name__ == "__main__":
    main()
