"""The brightness of one picture of a stack, by the function for stacks.

Mistake: one example to a mapped function: one picture is given where a stack is wanted, and its rows are the examples.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, as_axes, vmap

S = TypeVar("S", bound=Brand)


class Pictures(Brand): ...


class Height(Brand): ...


class Width(Brand): ...


def brightness(picture: Vec[S, Axes[Height, Width]]) -> Vec[S, Axes[()]]:
    return picture.mean()


of_stack = vmap(brightness)


def main() -> None:
    pictures = Tensor([[[0.0, 1.0], [2.0, 5.0]], [[1.0, 1.0], [1.0, 1.0]]])
    stack = as_axes(pictures, Pictures, Height, Width)
    first = of_stack(stack[:1])  # bug: first = of_stack(stack[0])
    assert first.tolist() == [2.0]


if __name__ == "__main__":
    main()
