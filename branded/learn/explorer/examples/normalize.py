"""What is the same for all is computed once."""

from tinygrad import Tensor

from branded import vmap

ROWS = Tensor([[1.0, 2.0, 0.0], [3.0, 0.0, 6.0]])


def normalize(rows: Tensor = ROWS) -> Tensor:
    """Each row, less the mean of all rows: the mean varies over nothing, so it is computed once and repeated."""
    mean = rows.mean(axis=0)
    return vmap(lambda row: row - mean)(rows)
