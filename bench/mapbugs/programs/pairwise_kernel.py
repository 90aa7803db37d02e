"""A kernel matrix of two sets of points, and the regression that uses it."""

from collections.abc import Callable

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Train(Brand): ...


class Test(Brand): ...


class Coordinates(Brand): ...


N, M, D = 5, 3, 2
Kernel = Callable[[Tensor, Tensor], Tensor]


def rbf(a: Tensor, b: Tensor) -> Tensor:
    return (-(a - b).square().sum()).exp()


def linear(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum()


def gram(xs: Tensor, ys: Tensor) -> Tensor:
    """The kernel of every pair."""
    return vmap(lambda a: vmap(lambda b: rbf(a, b))(ys))(xs)  # zip: return vmap(lambda a, b: rbf(a, b))(xs, ys)


def gram_linear(xs: Tensor, ys: Tensor) -> Tensor:
    rows = vmap(linear, in_axes=(None, 0))  # none: rows = vmap(linear)
    return vmap(lambda a: rows(a, ys))(xs)


def predict(train: Tensor, targets: Tensor, test: Tensor) -> Tensor:
    weights = gram(test, train)  # axis: weights = gram(train, test)
    return weights @ targets


train = as_axes(Tensor.arange(N * D).reshape(N, D).float() * 0.1, Train, Coordinates)
test = as_axes(Tensor.arange(M * D).reshape(M, D).float() * 0.2, Test, Coordinates)
targets = as_axes(Tensor.arange(N).float(), Train)
first = gram_linear(train, test)  # axis: first = gram_linear(train.T, test)
result = predict(train, targets, test), first
assert result[0].shape == (M,)
