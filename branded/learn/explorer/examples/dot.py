"""A matrix product is a dot product under two vmaps."""

from tinygrad import Tensor

from branded import vmap

A = Tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])
B = Tensor([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
MORE = Tensor([[1.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 1.0]])


def different(a: Tensor = A, b: Tensor = MORE) -> Tensor:
    """Each row of a with each row of b: the matrix product of a and b transposed."""
    return vmap(lambda x: vmap(lambda y: (x * y).sum())(b))(a)


def same(a: Tensor = A, b: Tensor = B) -> Tensor:
    """Each row of a with the row of b in the same place."""
    return vmap(lambda x, y: (x * y).sum())(a, b)
