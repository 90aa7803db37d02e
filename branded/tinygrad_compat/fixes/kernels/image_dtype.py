"""A fix for arrays of shape (a, b, 4) in precompiled functions, which are not images.

`@function(precompile=True)` keeps the shapes of its parameters. tinygrad treats every parameter with three axes,
the last of size 4, as a float image, even if its dtype is int. Then `x + x` of ints returns the bits of floats. Images
exist only with IMAGE=1, where nothing changes.
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
