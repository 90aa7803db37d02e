from tinygrad import Tensor

from branded import Axes, Brand, Vec, as_axes, vmap
from branded.typing import S


class Rows(Brand): ...


class Features(Brand): ...


def centered(x: Vec[S, Axes[Features]]) -> Vec[S, Axes[Features]]:
    mean: Vec[S, Axes[Features]] = x.mean(0)
    return x - mean


X = as_axes(Tensor([[1.0, 10.0], [3.0, 30.0]]), Rows, Features)
print(vmap(centered)(X).tolist())
