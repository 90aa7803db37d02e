"""Three nested brands."""

from tinygrad import Tensor

from branded import vmap

A, B = Tensor([1.0, 2.0]), Tensor([10.0, 20.0])
C = Tensor([1.0, 2.0, 3.0])


def deep(a: Tensor = A, b: Tensor = B, c: Tensor = C) -> Tensor:
    """All triples: a + b is computed once for all c."""
    return vmap(
        lambda x: vmap(
            lambda y: vmap(lambda z: (x + y) * z)(c)
        )(b)
    )(a)
