"""The pull of all bodies on each body."""

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.func import vmap


def pull(me: Tensor, other: Tensor) -> Tensor:
    d = other - me
    return d / (d.square().sum() + 1.0).pow(1.5)


def force(me: Tensor, others: Tensor) -> Tensor:
    return vmap(partial(pull, me))(others).sum(0)


def forces(bodies: Tensor) -> Tensor:
    return vmap(force, in_dims=(0, None))(bodies, bodies)  # bug: return vmap(force)(bodies, bodies)


def main() -> None:
    f = forces(torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])).numpy()
    assert f.shape == (3, 2)
    assert np.allclose(f.sum(0), 0.0, atol=1e-5)
    assert f[0, 0] > 0 and f[0, 1] > 0


if __name__ == "__main__":
    main()
