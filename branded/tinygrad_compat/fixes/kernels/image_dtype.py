"""An array of shape (a, b, 4) inside a precompiled function is not an image.

`@function(precompile=True)` keeps the shapes of its parameters, and tinygrad takes every parameter whose last of three
axes is 4 for an image, of floats whatever its dtype: `x + x` of ints gives the bits of floats.  Images exist under
IMAGE=1 alone, for which nothing is changed.
"""

from __future__ import annotations

from typing import Any

from tinygrad.helpers import IMAGE

from branded.tinygrad_compat import private_api


def install() -> None:
    original = private_api.ops.is_image_shape

    def is_image_shape(shape: Any) -> bool:
        return bool(IMAGE) and original(shape)

    private_api.ops.is_image_shape = is_image_shape
