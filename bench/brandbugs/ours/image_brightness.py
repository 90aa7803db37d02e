"""The brightness of one picture of a stack, by the function for stacks.

Mistake: one example to a mapped function: one picture is given where a stack is wanted, and its rows are the examples.
Unseen: rows are brands, not ranks: a picture and a stack of pictures are both a Tensor.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def brightness(picture: Vec[S, Tensor]) -> Vec[S, Tensor]:
    return picture.mean()


of_stack = vmap(brightness)


def main() -> None:
    stack = Tensor([[[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0], [1.0, 1.0]]])
    first = of_stack(stack[:1])  # bug: first = of_stack(stack[0])
    assert first.tolist() == [2.0]


if __name__ == "__main__":
    main()
