"""One step of descent along the direction of the mean gradient.

Mistake: brand forgotten: the step is taken inside the vmap, with the gradient of one example.
"""

from typing import TypeVar

import numpy as np
from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def gradient(w: Tensor, x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return (w @ x).square().gradient(w)[0]


def step(w: Tensor, g: Tensor) -> Tensor:
    return w - g / g.square().sum().sqrt()


def train(w: Tensor, xs: Tensor) -> Tensor:
    g = vmap(gradient, in_axes=(None, 0))(w, xs).mean(0)
    return step(w, g)  # bug: return vmap(lambda x: step(w, gradient(w, x)))(xs).mean(0)


def main() -> None:
    w = train(Tensor([4.0, 3.0]), Tensor([[1.0, 0.0], [0.0, 1.0]]))
    assert np.allclose(w.numpy(), [3.2, 2.4], atol=1e-5)


if __name__ == "__main__":
    main()
