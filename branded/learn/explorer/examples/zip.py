"""The two programs of "vmap in Haskell": one brand or two."""

from tinygrad import Tensor

from branded import vmap

A = Tensor([1.0, 2.0, 3.0])
B, SHORT = Tensor([10.0, 20.0, 30.0]), Tensor([10.0, 20.0])


def same(a: Tensor = A, b: Tensor = B) -> Tensor:
    """Pair the first a with the first b, and so on."""
    return vmap(lambda x, y: x + y)(a, b)


def different(a: Tensor = A, b: Tensor = SHORT) -> Tensor:
    """Combine every a with every b."""
    return vmap(lambda x: vmap(lambda y: x + y)(b))(a)
