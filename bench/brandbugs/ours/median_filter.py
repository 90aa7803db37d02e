"""Takes the median of every window of a signal away.

Mistake: read of a Vec: the window goes through numpy, which needs the numbers of one example.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def middle(window: Vec[S, Tensor]) -> Vec[S, Tensor]:
    ordered = window.sort()[0]  # bug: ordered = Tensor(np.sort(window.numpy()))
    return ordered[1]


def main() -> None:
    signal = Tensor([1.0, 9.0, 2.0, 3.0])
    windows = signal[:-2].stack(signal[1:-1], signal[2:], dim=1)
    assert np.array_equal(vmap(lambda w: w[1] - middle(w))(windows).numpy(), [7.0, -1.0])


if __name__ == "__main__":
    main()
