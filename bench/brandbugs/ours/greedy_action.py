"""The value of the best action in every state.

Mistake: read of a Vec: the index of the best action is made an int of Python.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def best_value(values: Vec[S, Tensor], prices: Tensor) -> Vec[S, Tensor]:
    best = values.argmax()  # bug: best = int(values.argmax().item())
    return values.max() - prices[best]


def main() -> None:
    q = Tensor([[1.0, 5.0, 0.0], [7.0, 2.0, 0.0]])
    assert vmap(best_value, in_axes=(0, None))(q, Tensor([0.5, 1.0, 2.0])).tolist() == [4.0, 6.5]


if __name__ == "__main__":
    main()
