"""The cross entropy of every row of logits, with weights of the classes.

Mistake: closed-over batch: the weights of the classes are shadowed by the logits of the enclosing vmap.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def cross_entropy(logits: Vec[S1, Tensor], target: Vec[S2, Tensor], weights: Tensor) -> Vec[S1 | S2, Tensor]:
    return -(weights * target * logits.log_softmax()).sum()


def against_all(logits: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Row by row: every row of logits against every target."""

    def row(z: Vec[S, Tensor]) -> Vec[S, Tensor]:
        def cell(t: Vec[S1, Tensor]) -> Vec[S | S1, Tensor]:
            return cross_entropy(z, t, weights)  # bug: return cross_entropy(z, t, z)

        return vmap(cell)(targets)

    return vmap(row)(logits)


def main() -> None:
    got = against_all(Tensor([[0.0, 0.0], [9.0, 0.0]]), Tensor([[1.0, 0.0], [0.0, 1.0]]), Tensor([1.0, 2.0]))
    assert np.allclose(got.numpy(), [[0.6931, 1.3863], [0.0001, 18.0002]], atol=1e-3)


if __name__ == "__main__":
    main()
