"""A branch that each example takes by its own condition."""

from tinygrad import Tensor

from branded import cond, vmap

XS = Tensor([4.0, -1.0, 9.0])


def branch(xs: Tensor = XS) -> Tensor:
    """The root of positive values, and 0 for the rest."""
    return vmap(
        lambda x: cond(
            x > 0, lambda x: x.sqrt(), lambda x: x * 0, x
        )
    )(xs)
