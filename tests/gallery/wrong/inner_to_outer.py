from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
steps = Tensor([1.0, 2.0])


def total(x: Vec[S]) -> Vec[S]:
    last = x

    def step(t: Vec[S1]) -> Vec[S | S1]:
        nonlocal last
        last = x * t
        return last

    vmap(step)(steps)
    return last


print(vmap(total)(Tensor([10.0, 20.0])).tolist())
