"""The acceleration of pendulums at many angles."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


@vmap
def acceleration(angle: Tensor) -> Tensor:
    return -9.81 * angle.sin()


def main() -> None:
    swing = acceleration(torch.tensor([0.0, np.pi / 2]))  # bug: swing = acceleration(np.pi / 2)
    assert np.allclose(swing.numpy(), [0.0, -9.81], atol=1e-4)


if __name__ == "__main__":
    main()
