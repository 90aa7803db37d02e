"""Takes the median of every window of a signal away."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def middle(window: Tensor) -> Tensor:
    ordered = window.sort()[0]  # bug: ordered = torch.tensor(np.sort(window.numpy()))
    return ordered[1]


def main() -> None:
    signal = torch.tensor([1.0, 9.0, 2.0, 3.0])
    windows = torch.stack([signal[:-2], signal[1:-1], signal[2:]], dim=1)
    assert np.array_equal(vmap(lambda w: w[1] - middle(w))(windows).numpy(), [7.0, -1.0])


if __name__ == "__main__":
    main()
