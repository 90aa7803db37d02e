"""The mean squared error of every model of an ensemble.

Mistake: levels exchanged: the data is mapped at the level of the models, and the models are shared.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def error(w: Vec[S, Tensor], xs: Tensor, ys: Tensor) -> Vec[S, Tensor]:
    """The accuracy of one model over all examples."""
    residuals = vmap(lambda x, y: w @ x - y)(xs, ys)
    return residuals.square().mean()


def errors(ws: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(error, in_axes=(0, None, None))(ws, xs, ys)  # bug: return vmap(error, in_axes=(None, 0, 0))(ws, xs, ys)


def main() -> None:
    xs, ys = Tensor([[1.0, 0.0], [0.0, 1.0]]), Tensor([1.0, 1.0])
    assert errors(Tensor([[1.0, 1.0], [3.0, 1.0], [1.0, 5.0]]), xs, ys).tolist() == [0.0, 2.0, 8.0]


if __name__ == "__main__":
    main()
