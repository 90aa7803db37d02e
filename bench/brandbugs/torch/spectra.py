"""The energy of every signal at one frequency."""

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


@partial(vmap, in_dims=(0, None))  # bug: @partial(vmap, in_dims=(None, None))
def energy(signal: Tensor, frequency: Tensor) -> Tensor:
    phase = torch.arange(signal.shape[0]) * frequency
    return (signal * phase.cos()).sum().square() + (signal * phase.sin()).sum().square()


def main() -> None:
    got = energy(torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.tensor(np.pi))
    assert np.allclose(got.numpy(), [0.0, 4.0], atol=1e-3)


if __name__ == "__main__":
    main()
