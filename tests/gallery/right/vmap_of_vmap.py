from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


def distance(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return (a - b).square().sum().sqrt()


points = Tensor([[0.0, 0.0], [3.0, 4.0]])
print(vmap(vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(points, points).tolist())
