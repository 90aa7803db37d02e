"""The Gram matrix of a Gaussian kernel.

Mistake: zipped brands: both sides of the kernel enter the brand of the rows, which is the diagonal.
"""

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, brand


class Rows(Brand):
    """One example is a row of the matrix."""


class Columns(Brand):
    """One example is a column of the matrix."""


def rbf(x: Vec[Rows, Tensor], y: Vec[Columns, Tensor]) -> Vec[Rows | Columns, Tensor]:
    return (-(x - y).square().sum() / 2).exp()


def gram(xs: Tensor) -> Tensor:
    n = len(xs)
    with brand(Rows, n) as rows, brand(Columns, n) as columns:
        k = rbf(rows.vec(xs), columns.vec(xs))  # bug: k = rbf(rows.vec(xs), rows.vec(xs))
        return rows.unvec(columns.unvec(k))


def main() -> None:
    got = gram(Tensor([[0.0], [1.0], [2.0]])).numpy()
    want = [[np.exp(-((i - j) ** 2) / 2) for j in range(3)] for i in range(3)]
    assert np.allclose(got, want, atol=1e-4)


if __name__ == "__main__":
    main()
