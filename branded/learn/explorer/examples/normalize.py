"""A value that all examples share is computed once."""

from tinygrad import Tensor

from branded import vmap

ROWS = Tensor([[1.0, 2.0, 0.0], [3.0, 0.0, 6.0]])


def normalize(rows: Tensor = ROWS) -> Tensor:
    """Each row minus the mean row, which all rows share."""
    mean = rows.mean(axis=0)
    return vmap(lambda row: row - mean)(rows)
