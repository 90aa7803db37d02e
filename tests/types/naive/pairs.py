"""Distances and kernels of all pairs, and a regression with them."""

from collections.abc import Callable

from tinygrad import Tensor

from branded import vmap

# --- distances and kernels of all pairs, and a regression with them
Kernel = Callable[[Tensor, Tensor], Tensor]


def euclid(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum().sqrt()


def rbf(a: Tensor, b: Tensor) -> Tensor:
    return (-0.5 * euclid(a, b) ** 2).exp()


def pairwise(f: Kernel, xs: Tensor, ys: Tensor) -> Tensor:
    return vmap(lambda x: vmap(lambda y: f(x, y))(ys))(xs)


def gram(f: Kernel, xs: Tensor) -> Tensor:
    return vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None))(xs, xs)


def predict(x: Tensor, xs: Tensor, weights: Tensor, f: Kernel = rbf) -> Tensor:
    return (vmap(f, in_axes=(None, 0))(x, xs) * weights).sum()


X, Y = Tensor.arange(6).reshape(3, 2).float(), Tensor.arange(8).reshape(4, 2).float()
table: Tensor = pairwise(euclid, X, Y)
k: Tensor = gram(rbf, X)
out: Tensor = vmap(predict, in_axes=(0, None, None))(Y, X, Tensor.ones(3))
close: list[list[bool]] = (table < 3).tolist()
assert table.shape == (3, 4) and k.shape == (3, 3) and out.shape == (4,) and len(close) == 3
