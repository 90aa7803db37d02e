"""The pull of all bodies on each body.

Mistake: zipped brands: a body is mapped together with the others and feels its own coordinates only.
"""

from functools import partial
from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def pull(me: Vec[S1, Tensor], other: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    d = other - me
    return d / (d.square().sum() + 1.0).pow(1.5)


def force(me: Vec[S, Tensor], others: Tensor) -> Vec[S, Tensor]:
    return vmap(partial(pull, me))(others).sum(0)


def forces(bodies: Tensor) -> Tensor:
    return vmap(force, in_axes=(0, None))(bodies, bodies)  # bug: return vmap(force)(bodies, bodies)


def main() -> None:
    f = forces(Tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])).numpy()
    assert f.shape == (3, 2)
    assert np.allclose(f.sum(0), 0.0, atol=1e-5)
    assert f[0, 0] > 0 and f[0, 1] > 0


if __name__ == "__main__":
    main()
