"""A broadcast whose result is much larger than its operands."""

from tinygrad import Tensor

from branded import vmap

POINTS = Tensor.arange(2048.0).reshape(1024, 2)
CENTERS = Tensor.arange(512.0).reshape(256, 2)


def large(xs: Tensor = POINTS, cs: Tensor = CENTERS) -> Tensor:
    """The distance of each point to its nearest center."""
    squares = vmap(
        lambda x: vmap(lambda c: (x - c).square().sum())(cs)
    )(xs)
    return squares.min(axis=1).sqrt()
