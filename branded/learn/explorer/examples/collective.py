"""Collectives: each example uses a value of all examples."""

from tinygrad import Tensor

from branded import psum, vmap

AMOUNTS = Tensor([1.0, 3.0, 4.0])


def shares(amounts: Tensor = AMOUNTS) -> Tensor:
    """The share of each amount in the total."""
    return vmap(lambda x: x / psum(x, "all"), axis_name="all")(
        amounts
    )
