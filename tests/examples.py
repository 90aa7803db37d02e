"""The examples of a batch, for the loop that a mapped function is compared with."""

from __future__ import annotations

from tinygrad import Tensor


def examples(xs: Tensor) -> list[Tensor]:
    """Each in memory of its own: what is done with `xs[i]` is another kernel for each `i`."""
    each = [x.clone() for x in xs]
    Tensor.realize(*each)
    return each
