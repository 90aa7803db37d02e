"""The means of resamples of a data set, and how much they spread.

Mistake: read of a Vec: the mean of one resample is read as a number.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def resampled(data: Tensor, indices: Vec[S, Tensor]) -> Vec[S, Tensor]:
    mean = data[indices].mean()
    return mean - data.mean()  # bug: return data.mean() * 0.0 + float(mean.item())


def main() -> None:
    data, indices = Tensor([1.0, 2.0, 6.0]), Tensor([[0, 0, 0], [2, 2, 2], [0, 1, 2]])
    spread = vmap(resampled, in_axes=(None, 0))(data, indices)
    assert np.allclose(spread.numpy(), [-2.0, 3.0, 0.0], atol=1e-5)


if __name__ == "__main__":
    main()
