from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


def power(x: Vec[S], n: Vec[S1]) -> Vec[S | S1]:
    out: Vec[S | S1] = x * 0 + 1
    for _ in range(n):
        out = out * x
    return out


print(vmap(power)(Tensor([2.0, 3.0]), Tensor([3, 2])).tolist())
