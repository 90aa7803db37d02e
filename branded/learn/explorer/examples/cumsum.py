"""A tinygrad method in a vmap: it works without changes."""

from tinygrad import Tensor

from branded import vmap

ROWS = Tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])


def cumulative(rows: Tensor = ROWS) -> Tensor:
    """The running sums of each row, by tinygrad's method."""
    return vmap(lambda row: row.cumsum())(rows)
