"""Clips every row of a table at its own median plus or minus one."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def winsorize(row: Tensor) -> Tensor:
    median = row.sort()[0][row.shape[0] // 2]
    return row.maximum(median - 1.0).minimum(median + 1.0)


def winsorize_one(row: Tensor) -> Tensor:
    median = float(np.median(row.numpy()))
    return row.clip(median - 1.0, median + 1.0)


def main() -> None:
    table = torch.tensor([[0.0, 5.0, 9.0], [1.0, 1.0, 7.0]])
    got = vmap(winsorize)(table)  # bug: got = vmap(winsorize_one)(table)
    assert got.tolist() == [winsorize_one(table[0]).tolist(), winsorize_one(table[1]).tolist()]


if __name__ == "__main__":
    main()
