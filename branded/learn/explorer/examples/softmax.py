"""A function of one example, mapped over all examples."""

from tinygrad import Tensor

from branded import vmap

ROWS = Tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])


def softmax(rows: Tensor = ROWS) -> Tensor:
    """The softmax of each row, by a function of one row."""
    return vmap(lambda row: row.softmax())(rows)
