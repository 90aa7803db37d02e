"""The mean of a Gaussian process at new points.

Mistake: levels exchanged: the training points are mapped and the new points shared.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def cross(x: Vec[S, Tensor], train: Tensor) -> Vec[S, Tensor]:
    return vmap(lambda t: (-(x - t).square().sum()).exp())(train)


def mean_at(x: Vec[S, Tensor], train: Tensor, alpha: Tensor) -> Vec[S, Tensor]:
    return cross(x, train) @ alpha


def predict(new: Tensor, train: Tensor, alpha: Tensor) -> Tensor:
    at_new = vmap(mean_at, in_axes=(0, None, None))  # bug: at_new = vmap(mean_at, in_axes=(None, 0, None))
    return at_new(new, train, alpha)


def main() -> None:
    train, alpha = Tensor([[0.0], [1.0]]), Tensor([2.0, 4.0])
    got = predict(Tensor([[0.0], [1.0], [9.0]]), train, alpha)
    assert np.allclose(got.numpy(), [2 + 4 / np.e, 4 + 2 / np.e, 0.0], atol=1e-4)


if __name__ == "__main__":
    main()
