"""The largest drop of each of several price series, one per column.

Mistake: in_axes: the times are mapped instead of the series.
"""

from typing import TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


class Days(Brand): ...


class Series(Brand): ...


def largest_drop(prices: Vec[S, Axes[Days]]) -> Vec[S, Axes[()]]:
    return (prices[:-1] - prices[1:]).max()


def drops(table: Axes[Days, Series]) -> Axes[Series]:
    return vmap(largest_drop, in_axes=1)(table)  # bug: return vmap(largest_drop, in_axes=0)(table)


def main() -> None:
    assert drops(Tensor([[5.0, 1.0], [3.0, 8.0], [9.0, 2.0]])).tolist() == [2.0, 6.0]


if __name__ == "__main__":
    main()
