"""An affine layer, whose weights are a pair, on a batch.

Mistake: in_axes: the tree of axes has one leaf for a pair of weights.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def affine(params: tuple[Tensor, Tensor], x: Vec[S, Tensor]) -> Vec[S, Tensor]:
    w, b = params
    return w @ x + b


def main() -> None:
    params = Tensor([[1.0, 1.0], [0.0, 2.0]]), Tensor([0.0, 1.0])
    layer = vmap(affine, in_axes=((None, None), 0))  # bug: layer = vmap(affine, in_axes=((None,), 0))
    assert layer(params, Tensor([[1.0, 2.0], [0.0, 1.0]])).tolist() == [[3.0, 5.0], [1.0, 3.0]]


if __name__ == "__main__":
    main()
