"""The scores of all examples on one component, and the component made a unit vector."""

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def project(xs: Tensor, component: Tensor) -> tuple[Tensor, Tensor]:
    unit = component / component.square().sum().sqrt()

    def one(x: Tensor) -> tuple[Tensor, Tensor]:
        return x @ unit, unit

    return vmap(one, out_dims=(0, None))(xs)  # bug: return vmap(one, out_dims=(None, 0))(xs)


def main() -> None:
    scores, unit = project(torch.tensor([[5.0, 0.0], [0.0, 10.0]]), torch.tensor([3.0, 4.0]))
    assert unit.shape == (2,) and np.allclose(scores.numpy(), [3.0, 8.0], atol=1e-5)


if __name__ == "__main__":
    main()
