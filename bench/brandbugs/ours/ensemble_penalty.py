"""The losses of an ensemble on a data set, with a penalty for each model.

Mistake: brand forgotten: the penalty of a model is declared per model, but computed with the example.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)


def loss(w: Vec[S1, Tensor], x: Vec[S2, Tensor]) -> Vec[S1 | S2, Tensor]:
    penalty: Vec[S1, Tensor] = w.square().sum() / 2  # bug: penalty: Vec[S1, Tensor] = (w * x).square().sum() / 2
    return (w @ x - 1.0).square() + penalty


def main() -> None:
    models, data = Tensor([[1.0, 1.0], [2.0, 0.0]]), Tensor([[1.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
    losses = vmap(lambda w: vmap(lambda x: loss(w, x))(data))(models)
    assert losses.tolist() == [[1.0, 5.0, 2.0], [3.0, 3.0, 3.0]]


if __name__ == "__main__":
    main()
