"""The gradient of a logistic regression for every example.

Mistake: unmapped passed as mapped: the weights are mapped with the examples, as many as there are features.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def gradient(w: Tensor, x: Vec[S1, Tensor], y: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    loss = (1.0 + (-y * (w * x).sum()).exp()).log()
    return loss.gradient(w)[0]


per_example = vmap(gradient, in_axes=(None, 0, 0))  # bug: per_example = vmap(gradient)


def main() -> None:
    got = per_example(Tensor([0.0, 0.0]), Tensor([[1.0, 2.0], [4.0, 0.0]]), Tensor([1.0, -1.0]))
    assert np.allclose(got.numpy(), [[-0.5, -1.0], [2.0, 0.0]], atol=1e-5)


if __name__ == "__main__":
    main()
