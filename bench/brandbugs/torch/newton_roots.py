"""Square roots of many numbers by Newton's method."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


@vmap
def root(a: Tensor) -> Tensor:
    x = a * 0.5 + 0.5
    for _ in range(6):  # bug: while (x * x - a).abs() > 1e-4:
        x = (x + a / x) * 0.5
    return x


def main() -> None:
    assert np.allclose(root(torch.tensor([1.0, 4.0, 9.0, 2.0])).numpy(), [1.0, 2.0, 3.0, 2**0.5], atol=1e-3)


if __name__ == "__main__":
    main()
