"""Stretches the contrast of every image in a stack whose last axis is the image."""

import torch
from torch import Tensor
from torch.func import vmap


def stretch(image: Tensor) -> Tensor:
    low = image.min()
    return (image - low) / (image.max() - low)


def stretch_all(stack: Tensor) -> Tensor:
    return vmap(stretch, in_dims=-1, out_dims=-1)(stack)  # bug: return vmap(stretch, in_dims=-1)(stack)


def main() -> None:
    out = stretch_all(torch.tensor([[[0.0, 2.0], [1.0, 3.0]], [[2.0, 4.0], [4.0, 6.0]]]))
    assert out.tolist() == [[[0.0, 0.0], [0.25, 0.25]], [[0.5, 0.5], [1.0, 1.0]]]


if __name__ == "__main__":
    main()
