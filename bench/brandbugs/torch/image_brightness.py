"""The brightness of one picture of a stack, by the function for stacks."""

import torch
from torch import Tensor
from torch.func import vmap


def brightness(picture: Tensor) -> Tensor:
    return picture.mean()


of_stack = vmap(brightness)


def main() -> None:
    stack = torch.tensor([[[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0], [1.0, 1.0]]])
    first = of_stack(stack[:1])  # bug: first = of_stack(stack[0])
    assert first.tolist() == [2.0]


if __name__ == "__main__":
    main()
