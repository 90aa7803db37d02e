"""Standardization of columns and rows of a table, as methods of a class."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Rows(Brand): ...


class Columns(Brand): ...


R, C = 6, 4


class Scaler:
    def __init__(self, table: Tensor) -> None:
        self.mean = table.mean(axis=0)  # axis: self.mean = table.mean(axis=1)
        self.scale = table.std(axis=0) + 1.0

    def one(self, row: Tensor) -> Tensor:
        return (row - self.mean) / self.scale

    def __call__(self, table: Tensor) -> Tensor:
        return vmap(self.one)(table)  # axis: return vmap(self.one, in_axes=1)(table)


def column_ranges(table: Tensor) -> Tensor:
    return vmap(lambda column: column.max() - column.min(), in_axes=1)(table)  # axis: return vmap(lambda column: column.max() - column.min())(table)


def shares(table: Tensor, totals: Tensor) -> Tensor:
    return vmap(lambda row, total: row / total)(table, totals)  # none: return vmap(lambda row, total: row / total, in_axes=(0, None))(table, totals)


def main() -> tuple[Tensor, ...]:
    table = as_axes(Tensor.arange(R * C).reshape(R, C).float() + 1, Rows, Columns)
    scaler = Scaler(table)
    scaled = scaler(table)
    ranges = column_ranges(table)
    weights = as_axes(Tensor.arange(C).float(), Columns)
    weighted = scaled @ weights
    return scaled, scaled * ranges, shares(table, table.sum(axis=1)), weighted  # axis: return scaled, scaled.T * ranges, shares(table, table.sum(axis=1)), weighted


result = main()
assert result[3].shape == (R,)
