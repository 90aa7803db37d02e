"""The entropy of every row of a table of probabilities.

Mistake: read of a Vec: a sum in Python over the list of the probabilities.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def entropy(p: Vec[S, Tensor]) -> Vec[S, Tensor]:
    total = p.sum()  # bug: total: float = sum(p.tolist())
    q = p / total
    return -(q * (q + 1e-12).log2()).sum()


def main() -> None:
    got = vmap(entropy)(Tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [2.0, 2.0, 4.0]]))
    assert np.allclose(got.numpy(), [1.0, 0.0, 1.5], atol=1e-4)


if __name__ == "__main__":
    main()
