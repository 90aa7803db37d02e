"""The loss of every learning rate with every decay, after one step on a parabola."""

import torch
from torch import Tensor
from torch.func import vmap


def after_a_step(rate: Tensor, decay: Tensor) -> Tensor:
    w = 1.0 - rate * 2.0
    return (w * (1.0 - decay)).square()


def search(rates: Tensor, decays: Tensor) -> Tensor:
    inner = vmap(after_a_step, in_dims=(None, 0))  # bug: inner = vmap(after_a_step, in_dims=(0, None))
    return vmap(inner, in_dims=(0, None))(rates, decays)  # bug: return vmap(inner, in_dims=(None, 0))(rates, decays)


def main() -> None:
    assert search(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 0.5, 1.0])).tolist() == [[1.0, 0.25, 0.0]] * 2


if __name__ == "__main__":
    main()
