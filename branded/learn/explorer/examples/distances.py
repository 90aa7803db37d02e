"""A function of two points, for pairs of points."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)

HERE = Tensor([[0.0, 0.0], [3.0, 4.0]])
THERE = Tensor([[3.0, 0.0], [3.0, 5.0]])
MORE = Tensor([[3.0, 0.0], [3.0, 5.0], [6.0, 8.0]])


def distance(p: Vec[S], q: Vec[S1]) -> Vec[S | S1]:
    return (p - q).square().sum().sqrt()


def different(
    here: Tensor = HERE, there: Tensor = MORE
) -> Tensor:
    """From each point here to each point there."""
    return vmap(
        lambda p: vmap(lambda q: distance(p, q))(there)
    )(here)


def same(here: Tensor = HERE, there: Tensor = THERE) -> Tensor:
    """From each point here to the point paired with it."""
    return vmap(distance)(here, there)
