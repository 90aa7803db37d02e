"""Normalizes every vector, except zero vectors.

Mistake: branch on a Vec: a conditional expression asks whether the norm of one vector is zero.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def unit(x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    norm = x.square().sum().sqrt()
    return (norm > 0).where(x / norm.maximum(1e-12), x)  # bug: return x / norm if norm > 0 else x


def main() -> None:
    out = vmap(unit)(Tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert np.allclose(out.numpy(), [[0.6, 0.8], [0.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
