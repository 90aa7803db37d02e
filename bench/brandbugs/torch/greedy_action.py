"""The value of the best action in every state."""

import torch
from torch import Tensor
from torch.func import vmap


def best_value(values: Tensor, prices: Tensor) -> Tensor:
    best = values.argmax()  # bug: best = int(values.argmax().item())
    return values.max() - prices[best]


def main() -> None:
    q = torch.tensor([[1.0, 5.0, 0.0], [7.0, 2.0, 0.0]])
    assert vmap(best_value, in_dims=(0, None))(q, torch.tensor([0.5, 1.0, 2.0])).tolist() == [4.0, 6.5]


if __name__ == "__main__":
    main()
