"""The final amount of a loan, for every rate and every term."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def growth(rate: Tensor, years: Tensor) -> Tensor:
    return (1.0 + rate).pow(years)


def table(rates: Tensor, terms: Tensor) -> Tensor:
    def row(rate: Tensor) -> Tensor:
        return vmap(lambda years: growth(rate, years))(terms)

    return vmap(row)(rates)  # bug: return vmap(growth)(rates, terms)


def main() -> None:
    got = table(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]))
    assert np.allclose(got.numpy(), [[1.0, 1.0], [2.0, 8.0]], atol=1e-3)


if __name__ == "__main__":
    main()
