"""Random numbers under vmap: all of tinygrad's samples come from `Tensor.rand`, so one override controls them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from tinygrad import Tensor

from branded.core.brand import Brand
from branded.errors import RandomnessError
from branded.graph.scope import open_brands, outside


def _dims(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape of `rand(2, 3)` or `rand((2, 3))`, which are equal."""
    from branded.random.sampling import as_shape  # imported late, because it imports all random functions

    return as_shape(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape, "rand")


def rand(original: Callable[..., Tensor], *shape: Any, **kwargs: Any) -> Tensor:
    """Sample under the open brands: one sample per example for `"different"`, one shared sample for `"same"`."""
    here = _sample_brands()
    over, dims = [b for b in here if b.randomness == "different"], _dims(shape)

    def draw() -> Tensor:
        sizes = [b.size if b.part is None else b.part.size for b in over]
        with outside():  # the RNG counter does not belong to an example
            return original(*sizes, *dims, **kwargs)

    for b in here:
        if b.part is not None:
            draw = functools.partial(b.part.take, draw)
    t = draw()
    for b in over:
        if b.part is not None:
            start, stop = b.part.start, b.part.start + b.size
            t = t[start:stop] if b.part.cut is None else b.part.cut(t, 0, start, stop)
        t = cast(Tensor, b.vec(t))
    return t


def _sample_brands() -> list[Brand]:
    """Return the open brands, or raise in a loop body or under a brand with `randomness="error"`."""
    row = tuple(b for b in open_brands() if not b.is_program)
    if loops := [b for b in row if not b.is_brand]:
        raise RandomnessError(
            f"randomness: a random sample in the body of {loops[-1].name}, which is traced once, is the same in each "
            f"{loops[-1].turn}",
            fix="carry a key and split it in each step (branded.random), or pass samples as xs"
            if loops[-1].turn == "step"
            else "pass a key as an argument (branded.random), or sample before the call",
        )
    here = [b for b in row if isinstance(b, Brand)]
    if refusing := [b for b in here if b.randomness == "error"]:
        names = " and ".join(f"`{b.name}`" for b in refusing)
        raise RandomnessError(
            f"randomness: choose whether the examples of vmap over {names} share a random sample",
            *((b.name, f"opened by {b.where}") for b in refusing if b.where),
            fix='randomness="different" for one sample per example, or "same" for one sample for all',
        )
    return here


def install() -> None:
    original = Tensor.rand

    def rand_(*shape: Any, **kwargs: Any) -> Tensor:
        return rand(original, *shape, **kwargs) if open_brands() else original(*shape, **kwargs)

    rand_.__doc__, rand_.__name__ = original.__doc__, "rand"
    setattr(Tensor, "rand", staticmethod(rand_))  # noqa: B010  mypy: a method is not to be assigned
