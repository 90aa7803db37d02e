"""Square roots of many numbers by Newton's method.

Mistake: branch on a Vec: a `while` loop runs until one example has converged.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


@vmap
def root(a: Vec[S, Tensor]) -> Vec[S, Tensor]:
    x = a * 0.5 + 0.5
    for _ in range(6):  # bug: while (x * x - a).abs() > 1e-4:
        x = (x + a / x) * 0.5
    return x


def main() -> None:
    assert np.allclose(root(Tensor([1.0, 4.0, 9.0, 2.0])).numpy(), [1.0, 2.0, 3.0, 2**0.5], atol=1e-3)


if __name__ == "__main__":
    main()
