"""A batch of signals through one gain curve."""

import torch
from torch import Tensor
from torch.func import vmap


def amplify(signal: Tensor, gain: Tensor) -> Tensor:
    return (signal * gain).clip(-1.0, 1.0)


def main() -> None:
    amplifier = vmap(amplify, in_dims=(0, None))  # bug: amplifier = vmap(amplify, in_dims=(True, False))
    out = amplifier(torch.tensor([[0.25, -4.0], [0.5, 0.125]]), torch.tensor([2.0, 1.0]))
    assert out.tolist() == [[0.5, -1.0], [1.0, 0.125]]


if __name__ == "__main__":
    main()
