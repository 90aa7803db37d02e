"""Option prices by simulation: random keys, antithetic paths, Greeks by grad."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from branded import Vec, grad, random, vmap
from branded.typing import S, S1
from tinygrad import Tensor


class Kind(Enum):
    CALL = "call"
    PUT = "put"


@dataclass(frozen=True)
class Market:
    rate: float = 0.03
    volatility: float = 0.2
    years: float = 1.0


def path(key: Vec[S], spot: Vec[S1], market: Market, steps: int) -> Vec[S | S1]:
    dt = market.years / steps
    noise = random.normal(key, (steps,))
    drift = (market.rate - 0.5 * market.volatility**2) * dt
    return spot * (drift + market.volatility * dt**0.5 * noise).cumsum().exp()  # brand: return (drift + market.volatility * dt**0.5 * noise).cumsum().exp().tolist()


def payoff(prices: Vec[S], strike: float, kind: Kind) -> Vec[S]:
    last = prices[-1]
    if kind is Kind.CALL:  # if: if last > strike:
        return (last - strike).relu()
    return (strike - last).relu()  # read: return Tensor(max(strike - last.item(), 0.0))


def price(spot: Vec[S], keys: Tensor, strike: float, kind: Kind = Kind.CALL) -> Vec[S]:
    market = Market()
    values = vmap(lambda k: payoff(path(k, spot, market, 4), strike, kind))(keys)
    return values.mean() * (2.718281828 ** (-market.rate * market.years))  # brand: return values.mean().item() * (2.718281828 ** (-market.rate * market.years))


def ladder(spots: Tensor, keys: Tensor, strikes: list[float]) -> Tensor:
    rows = [vmap(lambda s, k=strike: price(s, keys, k), in_axes=(0,))(spots) for strike in strikes]
    return Tensor.stack(*rows)


keys = random.split(random.key(0), 16)
spots = Tensor([90.0, 100.0, 110.0])
calls = vmap(lambda s: price(s, keys, 100.0))(spots)
puts = vmap(lambda s: price(s, keys, 100.0, Kind.PUT))(spots)  # key: puts = vmap(lambda s: price(s, keys, 100.0, Kind.SELL))(spots)
deltas = vmap(grad(lambda s: price(s, keys, 100.0)))(spots)
table = ladder(spots, keys, [95.0, 105.0])
ends = vmap(lambda k: vmap(lambda s: path(k, s, Market(), 4)[-1])(spots))(keys)  # zip: ends = vmap(lambda k, s: path(k, s, Market(), 4)[-1])(keys[:3], spots)
summary = {"call": calls.tolist(), "put": puts.tolist()}
result = calls, puts, deltas, table, ends
