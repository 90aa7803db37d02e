"""A small table of returns: columns by name, rolling windows, covariances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from branded import vmap
from tinygrad import Tensor


class Frame(Mapping[str, Tensor]):
    """Columns of equal length."""

    def __init__(self, columns: Mapping[str, Tensor]) -> None:
        self.columns = dict(columns)

    def __getitem__(self, name: str) -> Tensor:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def matrix(self) -> Tensor:
        return Tensor.stack(*self.columns.values())


def returns(prices: Tensor) -> Tensor:
    return prices[1:] / prices[:-1] - 1


def rolling(column: Tensor, width: int) -> Tensor:
    starts = Tensor.arange(column.shape[0] - width + 1)
    return vmap(lambda s: column[s + Tensor.arange(width)].mean())(starts)  # read: return vmap(lambda s: column[s.item() : s.item() + width].mean())(starts)


def covariance(a: Tensor, b: Tensor) -> Tensor:
    return ((a - a.mean()) * (b - b.mean())).mean()


def covariances(rows: Tensor) -> Tensor:
    return vmap(lambda a: vmap(lambda b: covariance(a, b))(rows))(rows)  # zip: return vmap(covariance)(rows, rows)


def drawdown(prices: Tensor) -> Tensor:
    return (prices / prices.cummax(0)[0] - 1).min()


def signal(fast: Tensor, slow: Tensor) -> Tensor:
    return (fast > slow).where(1.0, -1.0)


def summary(frame: Frame) -> dict[str, float]:
    return {name: round(column.mean().item(), 3) for name, column in frame.items()}


prices = Frame({"a": Tensor([1.0, 1.1, 1.2, 1.1, 1.3]), "b": Tensor([2.0, 1.9, 1.8, 2.1, 2.2])})
rows = prices.matrix()
daily = vmap(returns)(rows)
table = covariances(daily)
smooth = vmap(lambda p: rolling(p, 2))(rows)
falls = vmap(drawdown)(rows)
fast, slow = smooth[:, -1], rows.mean(axis=1)
signals = vmap(signal)(fast, slow)
weights = vmap(lambda f: 1 / (1 + f.abs()))(falls)  # read: weights = vmap(lambda f: 1 / (1 + abs(float(f * 1))))(falls)
by_day = vmap(lambda day: (day * weights).sum(), in_axes=1)(daily)  # none: by_day = vmap(lambda day, w: (day * w).sum(), in_axes=1)(daily, weights)
capped = vmap(lambda d: (d > 0.05).where(0.05, d))(daily)  # if: capped = vmap(lambda d: 0.05 if (d > 0.05).any() else d)(daily)
last = prices["a"][-1] * weights[0]  # key: last = prices.a[-1] * weights[0]
report = summary(prices)
result = daily, table, smooth, falls, signals, by_day, capped, last
