"""Models of demand, used by shop_pricing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tinygrad import Tensor


class Demand(Protocol):
    def __call__(self, price: Tensor, /) -> Tensor: ...


@dataclass(frozen=True)
class Linear:
    start: float
    slope: float

    def __call__(self, price: Tensor, /) -> Tensor:
        return (self.start - self.slope * price).relu()


@dataclass(frozen=True)
class Elastic:
    scale: float
    power: float

    def __call__(self, price: Tensor, /) -> Tensor:
        return self.scale * (price + 1).log().neg().mul(self.power).exp()


def revenue(demand: Demand, price: Tensor) -> Tensor:
    return price * demand(price)
