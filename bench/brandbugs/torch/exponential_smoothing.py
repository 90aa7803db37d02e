"""Smooths many series, with one factor that is bound by `partial`."""

from functools import partial

import torch
from torch import Tensor
from torch.func import vmap


def smooth(alpha: Tensor, series: Tensor) -> Tensor:
    level = series[0]
    for t in range(1, 4):
        level = alpha * series[t] + (1.0 - alpha) * level
    return level


def main() -> None:
    alpha, table = torch.tensor(0.5), torch.tensor([[8.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    last = vmap(partial(smooth, alpha))
    assert last(table).tolist() == [1.0, 1.0]  # bug: assert last(alpha, table).tolist() == [1.0, 1.0]


if __name__ == "__main__":
    main()
