"""Whitens a data set by the statistics of all examples.

Mistake: monomorphic body: the function of the whole data set is mapped, so each example is whitened by itself.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def whiten(data: Tensor) -> Tensor:
    """Whiten a whole data set; its first axis is the examples."""
    return (data - data.mean(0)) / (data.std(0) + 1e-6)


def affine(x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return x * 2.0 + 1.0


def prepare(xs: Tensor) -> Tensor:
    return vmap(affine)(whiten(xs))  # bug: return vmap(affine)(vmap(whiten)(xs))


def main() -> None:
    out = prepare(Tensor([[1.0, 0.0], [2.0, 4.0], [3.0, 8.0]]))
    assert np.allclose(out.numpy(), [[-1.0, -1.0], [1.0, 1.0], [3.0, 3.0]], atol=1e-3)


if __name__ == "__main__":
    main()
