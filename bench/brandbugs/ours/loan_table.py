"""The final amount of a loan, for every rate and every term.

Mistake: zipped brands: rates and terms share one vmap, which is one diagonal of the table.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap


class Rates(Brand):
    """One example is a rate of interest."""


class Terms(Brand):
    """One example is a number of years."""


def growth(rate: Vec[Rates, Tensor], years: Vec[Terms, Tensor]) -> Vec[Rates | Terms, Tensor]:
    return (1.0 + rate).pow(years)


def table(rates: Tensor, terms: Tensor) -> Tensor:
    def row(rate: Vec[Rates, Tensor]) -> Vec[Rates, Tensor]:
        return vmap(lambda years: growth(rate, years), axis_name=Terms)(terms)

    return vmap(row, axis_name=Rates)(rates)  # bug: return vmap(growth, axis_name=Rates)(rates, terms)


def main() -> None:
    got = table(Tensor([0.0, 1.0]), Tensor([1.0, 3.0]))
    assert np.allclose(got.numpy(), [[1.0, 1.0], [2.0, 8.0]], atol=1e-3)


if __name__ == "__main__":
    main()
