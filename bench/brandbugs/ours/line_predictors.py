"""Fits a slope through the origin for every data set, and predicts with all slopes.

Mistake: escape: the vmap returns a function that closes over the slope of one data set.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def slope(xs: Vec[S1, Tensor], ys: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    return (xs * ys).sum() / xs.square().sum()


def fit(xs: Tensor, ys: Tensor) -> Callable[[float], Tensor]:
    def predictor(x: Vec[S1, Tensor], y: Vec[S2, Tensor]) -> Callable[[float], Vec[S1 | S2, Tensor]]:
        s = slope(x, y)
        return lambda at: s * at

    slopes = vmap(slope)(xs, ys)
    return lambda at: slopes * at  # bug: return vmap(predictor, out_axes=None)(xs, ys)


def main() -> None:
    predict = fit(Tensor([[1.0, 2.0], [1.0, 0.0]]), Tensor([[3.0, 6.0], [7.0, 0.0]]))
    assert np.allclose(predict(2.0).numpy(), [6.0, 14.0], atol=1e-4)


if __name__ == "__main__":
    main()
