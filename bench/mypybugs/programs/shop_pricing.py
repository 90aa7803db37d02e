"""Prices of a shop, whose models and features are in other files; strategies are chosen by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property

from branded import grad, vmap
from shop_models import Demand, Elastic, Linear, revenue
from shop_tables import Catalog, load_catalog, standardized
from tinygrad import Tensor


class Strategy(Enum):
    LINEAR = "linear"
    ELASTIC = "elastic"


MODELS: Mapping[Strategy, Demand] = {Strategy.LINEAR: Linear(10.0, 0.5), Strategy.ELASTIC: Elastic(8.0, 1.2)}


class Pricing:
    """Prices for all products of a catalog."""

    history: list[Tensor]

    def __init__(self, catalog: Catalog, strategy: Strategy) -> None:
        self.catalog, self.demand = catalog, MODELS[strategy]
        self.history = []

    def profit(self, price: Tensor, cost: Tensor) -> Tensor:
        value = revenue(self.demand, price) - cost * self.demand(price)
        return value  # escape: return self.history.append(value) or value

    @cached_property
    def features(self) -> Tensor:
        return standardized(self.catalog.features)

    def improved(self, price: Tensor, cost: Tensor, rate: float = 0.01) -> Tensor:
        slope = grad(self.profit)(price, cost)
        return (price + rate * slope).clip(0.1, 100.0)  # if: return price + rate * slope if slope.abs() > 0.1 else price

    def improve(self, prices: Tensor, steps: int = 2) -> Tensor:
        for _ in range(steps):
            prices = vmap(self.improved)(prices, self.catalog.costs)
        return prices

    def scenarios(self, prices: Tensor, factors: Tensor) -> Tensor:
        return vmap(lambda f: vmap(lambda p, c: self.profit(p * f, c))(prices, self.catalog.costs))(factors)  # zip: return vmap(lambda f, p, c: self.profit(p * f, c))(factors, prices, self.catalog.costs)

    def report(self, prices: Tensor) -> dict[str, float]:
        profits = vmap(self.profit)(prices, self.catalog.costs)
        self.history.append(profits)
        return {"mean": profits.mean().item(), "worst": profits.min().item()}

    def similar(self, k: int) -> Tensor:
        def score(a: Tensor) -> Tensor:
            return vmap(lambda b: (a * b).sum())(self.features).argsort(descending=True)[:k]  # read: return vmap(lambda b: (a * b).sum().item())(self.features)

        return vmap(score)(self.features)


catalog = load_catalog(products=6, features=4)
pricing = Pricing(catalog, Strategy.ELASTIC)
prices = pricing.improve(catalog.prices)
factors = Tensor([0.9, 1.0, 1.1])
scenarios = pricing.scenarios(prices, factors)
margins = vmap(lambda row, c: row - c, in_axes=(0, None))(scenarios, catalog.costs)  # none: margins = vmap(lambda row, c: row - c)(scenarios, catalog.costs)
best = vmap(lambda column: factors[column.argmax()], in_axes=1)(scenarios)  # axis: best = vmap(lambda column: factors * column, in_axes=1)(margins.T)
weights = Tensor([0.1, 0.2, 0.3, 0.4])
ranks = vmap(lambda row, w: (row * w).sum(), in_axes=(0, None))(pricing.features, weights)  # none: ranks = vmap(lambda row, w: (row * w).sum())(pricing.features, weights)
demand = vmap(pricing.demand)(prices)  # key: demand = vmap(pricing.demands)(prices)
bundle = vmap(lambda p, c: revenue(pricing.demand, p) / c)(prices, catalog.costs)  # axis: bundle = vmap(lambda p, c: revenue(pricing.demand, p) / c)(prices, catalog.features.T)
by_factor = vmap(lambda s: s / s.max(), in_axes=1, out_axes=1)(scenarios)  # out: by_factor = vmap(lambda s: s / s.max(), in_axes=1)(scenarios)
change = by_factor - scenarios
similar = pricing.similar(2)
report = pricing.report(prices)
logged = Tensor.stack(*pricing.history)
result = prices, margins, best, ranks, demand, bundle, change, similar, logged
assert report["mean"] > -1000
