"""The focal loss of every prediction.

Mistake: wrong number of arguments: the targets are forgotten in the call.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def focal(p: Vec[S1, Tensor], target: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    right = target * p + (1.0 - target) * (1.0 - p)
    return -((1.0 - right).square() * right.log2())


def total(ps: Tensor, targets: Tensor) -> Tensor:
    return vmap(focal)(ps, targets).sum()  # bug: return vmap(focal)(ps).sum() + targets.sum() * 0.0


def main() -> None:
    assert np.allclose(total(Tensor([0.5, 0.5, 1.0]), Tensor([1.0, 0.0, 1.0])).numpy(), 0.5, atol=1e-5)


if __name__ == "__main__":
    main()
