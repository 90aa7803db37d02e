from tinygrad import Tensor

from branded import Brand, Vec, vmap


class From(Brand): ...


class To(Brand): ...


def distance(a: Vec[From], b: Vec[To]) -> Vec[From | To]:
    return (a - b).square().sum().sqrt()


points = Tensor([[0.0, 0.0], [3.0, 4.0]])
print(vmap(vmap(distance, axis_name=To), axis_name=From)(points, points).tolist())
