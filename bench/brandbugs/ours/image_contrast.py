"""Stretches the contrast of every image in a stack whose last axis is the image.

Mistake: out_axes: the images come back in front, where the rest of the program has them last.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


class Height(Brand): ...


class Width(Brand): ...


class Images(Brand): ...


def stretch(image: Vec[S, Axes[Height, Width]]) -> Vec[S, Axes[Height, Width]]:
    low = image.min()
    return (image - low) / (image.max() - low)


def stretch_all(stack: Axes[Height, Width, Images]) -> Axes[Height, Width, Images]:
    return vmap(stretch, in_axes=-1, out_axes=-1)(stack)  # bug: return vmap(stretch, in_axes=-1)(stack)


def main() -> None:
    out = stretch_all(Tensor([[[0.0, 2.0], [1.0, 3.0]], [[2.0, 4.0], [4.0, 6.0]]]))
    assert out.tolist() == [[[0.0, 0.0], [0.25, 0.25]], [[0.5, 0.5], [1.0, 1.0]]]


if __name__ == "__main__":
    main()
