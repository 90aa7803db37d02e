from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
seen = 0


def double(x: Vec[S]) -> Vec[S]:
    global seen
    seen += 1
    return x * 2


doubled = vmap(double, strict=True)(Tensor([1.0, 2.0, 3.0]))
print(seen)
