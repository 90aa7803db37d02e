"""The scores of all examples on one component, and the component made a unit vector.

Mistake: out_axes: None for the scores and 0 for the component that all examples share.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def project(xs: Tensor, component: Tensor) -> tuple[Tensor, Tensor]:
    unit = component / component.square().sum().sqrt()

    def one(x: Vec[S, Tensor]) -> tuple[Vec[S, Tensor], Tensor]:
        return x @ unit, unit

    return vmap(one, out_axes=(0, None))(xs)  # bug: return vmap(one, out_axes=(None, 0))(xs)


def main() -> None:
    scores, unit = project(Tensor([[5.0, 0.0], [0.0, 10.0]]), Tensor([3.0, 4.0]))
    assert unit.shape == (2,) and np.allclose(scores.numpy(), [3.0, 8.0], atol=1e-5)


if __name__ == "__main__":
    main()
