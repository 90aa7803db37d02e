"""Functions and classes of tensors whose shapes are followed from other files."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from tinygrad import Tensor

from branded import vmap

P, R = ParamSpec("P"), TypeVar("R")


def counted(f: Callable[P, R]) -> Callable[P, R]:
    @wraps(f)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(*args, **kwargs)

    return inner


@counted
def halved(x: Tensor) -> Tensor:
    return x / 2


@dataclass
class Spheres:
    centre: Tensor
    radius: Tensor


class Scaled:
    def __init__(self, factor: Tensor) -> None:
        self.factor = factor

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.factor

    @property
    def twice(self) -> Tensor:
        return self.factor * 2


def dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


def distance(origin: Tensor, centre: Tensor, radius: Tensor) -> Tensor:
    offset = origin - centre
    return dot(offset, offset).sqrt() - radius


def nearest(spheres: Spheres, origin: Tensor) -> Tensor:
    return vmap(distance, in_axes=(None, 0, 0))(origin, spheres.centre, spheres.radius).min()


def both(a: Tensor, b: Tensor) -> Tensor:
    return vmap(lambda x, y: (x * y).sum())(a, b)


def power(n: int) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor) -> Tensor:
        for _ in range(n):
            x = x * x
        return x

    return f


def load(n: int = 3) -> Tensor:
    return Tensor.ones(n, 2)


def pairs(xs: list[Tensor]) -> list[Tensor]:
    return [both(xs[i], xs[i + 1]) for i in range(len(xs) - 1)]


def chosen(x: Tensor, kind: str) -> Tensor:
    if kind == "sum":
        return x.sum()
    return x


# --- global variables: some are bound once, and others may change
WEIGHTS = Tensor.ones(3)
SIZE = 4
either = Tensor.ones(3)
if SIZE > 3:
    either = Tensor.ones(2)
replaced = Tensor.ones(3)


def replace() -> None:
    global replaced
    replaced = Tensor.ones(2)


def weighted(x: Tensor) -> Tensor:
    return x * WEIGHTS


twice_weighted = partial(both, WEIGHTS.unsqueeze(0))
all_weighted = vmap(weighted)
