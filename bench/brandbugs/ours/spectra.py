"""The energy of every signal at one frequency.

Mistake: in_axes: None for everything, so that no argument has examples.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


@vmap(in_axes=(0, None))  # bug: @vmap(in_axes=(None, None))
def energy(signal: Vec[S1, Tensor], frequency: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    phase = Tensor.arange(signal.shape[0]) * frequency
    return (signal * phase.cos()).sum().square() + (signal * phase.sin()).sum().square()


def main() -> None:
    got = energy(Tensor([[1.0, 1.0], [1.0, -1.0]]), Tensor(np.pi))
    assert np.allclose(got.numpy(), [0.0, 4.0], atol=1e-3)


if __name__ == "__main__":
    main()
