"""Functions of tensors in a file of their own, which does not import `Vec`."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypedDict, TypeVar

from tinygrad import Tensor

T = TypeVar("T", bound=Tensor)


def scale(x: Tensor, k: float = 2.0) -> Tensor:
    return x * k


def affine(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    y = x.dot(w)
    if b is not None:
        y = y + b
    return y


def total(x: Tensor) -> Tensor:
    if x.ndim != 1:
        raise ValueError(f"one dimension, not {x.shape}")
    return x.sum()


def power(x: Tensor, k: int) -> Tensor:
    y = x
    for _ in range(k - 1):
        y = y * x
    return y


def mul(x: Tensor, y: Tensor) -> Tensor:
    return x * y


def same(x: T) -> T:
    return x


def mean(xs: Sequence[Tensor]) -> Tensor:
    if not xs:
        raise ValueError("no tensors")
    return sum(xs[1:], xs[0]) / float(len(xs))


def clip(x: Tensor | float, low: float, high: float | None = None) -> Tensor:
    if not isinstance(x, Tensor):
        return Tensor(math.floor(float(x)))
    y = x.maximum(low)
    return y if high is None or high < low else y.minimum(high)


class Layer:
    def __init__(self, deep: bool = False) -> None:
        self.w, self.deep = Tensor.eye(2), deep

    def __call__(self, x: Tensor) -> Tensor:
        y = x @ self.w
        return self.activated(y) if self.deep else y

    def activated(self, x: Tensor) -> Tensor:
        return x.relu()


def share(x: Tensor) -> Tensor:
    return x / x.sum().item()


def deeper(x: Tensor) -> Tensor:
    return share(x) + 1


def signed(x: Tensor, flip: bool = True) -> Tensor:
    if flip and x.sum() > 0:
        return -x
    return x


def grown(x: Tensor) -> Tensor:
    while x.max() < 10:
        x = x * 2
    return x


def largest(xs: Sequence[Tensor]) -> Tensor:
    return max(x.sum() for x in xs)


def ranked(x: Tensor) -> float:
    values, _ = x.sort()
    return float(values[0])


def shifted(x: Tensor, b: Tensor | None = None) -> Tensor:
    if b:
        return x + b
    return x


def logged(x: Tensor) -> Tensor:
    def show(y: Tensor) -> str:
        return f"{y.sum():.2f}"

    print(show(x))
    return x


def exponential(x: Tensor) -> Tensor:
    return x * math.exp(x.sum())


class Logged(Layer):
    def activated(self, x: Tensor) -> Tensor:
        match x.sum():
            case 0:
                return x
        return super().activated(x)


class Body(NamedTuple):
    place: Tensor
    mass: Tensor


class Place(TypedDict):
    at: Tensor
    drag: Tensor


def pull(place: Place, towards: Tensor) -> Tensor:
    return (towards - place["at"]).sum() * place["drag"]


def weight(place: Place) -> Place:
    return Place(at=place["at"], drag=place["drag"] * place["at"].sum())
