"""Standardizes every example by the mean and deviation of the whole data set.

Mistake: brand forgotten: the statistics are taken of the one example, though all should share them.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def scale(x: Vec[S, Tensor], mean: Tensor, std: Tensor) -> Vec[S, Tensor]:
    return (x - mean) / std


def standardize(xs: Tensor) -> Tensor:
    mean, std = xs.mean(0), xs.std(0)
    return vmap(lambda x: scale(x, mean, std))(xs)  # bug: return vmap(lambda x: scale(x, x.mean(0), std))(xs)


def main() -> None:
    out = standardize(Tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]))
    assert np.allclose(out.numpy(), [[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]], atol=1e-4)


if __name__ == "__main__":
    main()
