"""The readings of sensors, corrected by an offset of each sensor."""

import torch
from torch import Tensor
from torch.func import vmap


def corrected(readings: Tensor, offsets: Tensor) -> Tensor:
    kept: list[Tensor] = []

    def one(reading: Tensor, offset: Tensor) -> Tensor:
        kept.append(reading - offset)
        return reading - offset

    out = vmap(one)(readings, offsets)
    return out  # bug: return kept[0]


def main() -> None:
    out = corrected(torch.tensor([[3.0, 4.0], [1.0, 1.0]]), torch.tensor([1.0, 0.5]))
    assert out.tolist() == [[2.0, 3.0], [0.5, 0.5]]


if __name__ == "__main__":
    main()
