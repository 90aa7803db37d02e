from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)


def padded(x: Vec[S]) -> Vec[S]:
    out = Tensor.zeros(3).contiguous()
    out[:2] = x
    return out


print(vmap(padded)(Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist())
