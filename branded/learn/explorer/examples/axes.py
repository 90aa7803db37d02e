"""The axis where a brand enters, and where it leaves."""

from tinygrad import Tensor

from branded import vmap

TABLE = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
WEIGHTS = Tensor([1.0, 10.0])


def axes(
    table: Tensor = TABLE, weights: Tensor = WEIGHTS
) -> Tensor:
    """Multiply each column of a table by its factor."""
    return vmap(
        lambda column, w: column * w,
        in_axes=(1, None),
        out_axes=1,
    )(table, weights)
