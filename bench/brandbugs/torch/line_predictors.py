"""Fits a slope through the origin for every data set, and predicts with all slopes."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def slope(xs: Tensor, ys: Tensor) -> Tensor:
    return (xs * ys).sum() / xs.square().sum()


def fit(xs: Tensor, ys: Tensor) -> Callable[[float], Tensor]:
    def predictor(x: Tensor, y: Tensor) -> Callable[[float], Tensor]:
        s = slope(x, y)
        return lambda at: s * at

    slopes = vmap(slope)(xs, ys)
    return lambda at: slopes * at  # bug: return vmap(predictor, out_dims=None)(xs, ys)


def main() -> None:
    predict = fit(torch.tensor([[1.0, 2.0], [1.0, 0.0]]), torch.tensor([[3.0, 6.0], [7.0, 0.0]]))
    assert np.allclose(predict(2.0).numpy(), [6.0, 14.0], atol=1e-4)


if __name__ == "__main__":
    main()
