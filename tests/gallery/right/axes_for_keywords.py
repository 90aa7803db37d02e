from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


def scaled(x: Vec[S], factor: Vec[S1]) -> Vec[S | S1]:
    return x * factor


X, factor = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor(10.0)
print(vmap(scaled, in_axes=(0, None))(X, factor).tolist())
