"""The data set: 1,797 handwritten digits, 8 x 8 pixels each, from the UCI Machine Learning Repository."""

from __future__ import annotations

import io
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SOURCE = "Optical Recognition of Handwritten Digits (E. Alpaydin, C. Kaynak; UCI; CC BY 4.0)"
INK = 16
"""The value of a pixel that is all ink."""


class Digits(NamedTuple):
    """Images and their labels.

    Attributes:
        images: `u8[n, 8, 8]`, from 0 (paper) to `INK`.
        labels: `u8[n]`, from 0 to 9.
    """

    images: Array
    labels: Array

    @property
    def rows(self) -> Array:
        """The images as `f32[n, 64]`, from 0 to 1."""
        return (self.images.reshape(len(self.images), -1) / INK).astype(np.float32)

    def part(self, which: slice | Array) -> Digits:
        return Digits(self.images[which], self.labels[which])


def load(limit: int | None = None) -> Digits:
    """Load all digits, or the first `limit`.

    Example:
        >>> from branded.learn.demo.digits import load
        >>> load().images.shape
        (1797, 8, 8)
        >>> load(10).labels.tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    packed = files("branded.learn").joinpath("data", "digits.npz").read_bytes()
    with np.load(io.BytesIO(packed)) as arrays:
        return Digits(arrays["images"], arrays["labels"]).part(slice(limit))
