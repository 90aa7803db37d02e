from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
steps = Tensor([1.0, 2.0])


def total(x: Vec[S]) -> Vec[S]:
    return vmap(lambda t: x * t)(steps)[-1]


print(vmap(total)(Tensor([10.0, 20.0])).tolist())
