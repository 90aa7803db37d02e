"""Clips every row of a table at its own median plus or minus one.

Mistake: monomorphic body: the function that is mapped is the old one, for plain tensors, which goes through numpy.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def winsorize(row: Vec[S, Tensor]) -> Vec[S, Tensor]:
    median = row.sort()[0][row.shape[0] // 2]
    return row.maximum(median - 1.0).minimum(median + 1.0)


def winsorize_one(row: Tensor) -> Tensor:
    median = float(np.median(row.numpy()))
    return row.clip(median - 1.0, median + 1.0)


def main() -> None:
    table = Tensor([[0.0, 5.0, 9.0], [1.0, 1.0, 7.0]])
    got = vmap(winsorize)(table)  # bug: got = vmap(winsorize_one)(table)
    assert got.tolist() == [winsorize_one(table[0]).tolist(), winsorize_one(table[1]).tolist()]


if __name__ == "__main__":
    main()
