"""Where a brand enters and where it leaves."""

from tinygrad import Tensor

from branded import vmap

TABLE, WEIGHTS = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor([1.0, 10.0])


def axes(table: Tensor = TABLE, weights: Tensor = WEIGHTS) -> Tensor:
    """Weigh the columns of a table. The brand enters at axis 1, and leaves at axis 1 too."""
    return vmap(lambda column, w: column * w, in_axes=(1, None), out_axes=1)(table, weights)
