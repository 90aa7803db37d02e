"""A matrix product is a dot product under two vmaps."""

from tinygrad import Tensor

from branded import vmap

A = Tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
B = Tensor([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
MORE = Tensor(
    [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
)


def different(a: Tensor = A, b: Tensor = MORE) -> Tensor:
    """All rows of a with all rows of b: `a @ b.T`."""
    return vmap(lambda x: vmap(lambda y: (x * y).sum())(b))(a)


def same(a: Tensor = A, b: Tensor = B) -> Tensor:
    """Each row of a with the row of b paired with it."""
    return vmap(lambda x, y: (x * y).sum())(a, b)
