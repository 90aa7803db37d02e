"""A value that a broadcast makes much larger than what it is made of."""

from tinygrad import Tensor

from branded import vmap

POINTS = Tensor.arange(2048.0).reshape(1024, 2)
CENTERS = Tensor.arange(512.0).reshape(256, 2)


def large(points: Tensor = POINTS, centers: Tensor = CENTERS) -> Tensor:
    """Find the distance of each point to its nearest center. All differences are large; no kernel writes them."""
    distances = vmap(lambda p: vmap(lambda c: (p - c).square().sum())(centers))(points)
    return distances.min(axis=1).sqrt()
