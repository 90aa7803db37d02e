"""The acceleration of pendulums at many angles.

Mistake: one example to a mapped function: one angle, a number, is given to the function of a batch.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


@vmap
def acceleration(angle: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return -9.81 * angle.sin()


def main() -> None:
    swing = acceleration(Tensor([0.0, np.pi / 2]))  # bug: swing = acceleration(np.pi / 2)
    assert np.allclose(swing.numpy(), [0.0, -9.81], atol=1e-4)


if __name__ == "__main__":
    main()
