"""An ensemble of linear models, stacked in a named tuple."""

from typing import NamedTuple

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Members(Brand): ...


class Examples(Brand): ...


class Inputs(Brand): ...


class Outputs(Brand): ...


M, N, I, O = 2, 5, 4, 3


class Layer(NamedTuple):
    weight: Tensor
    bias: Tensor


def apply(layer: Layer, x: Tensor) -> Tensor:
    return layer.weight @ x + layer.bias


def one_member(layer: Layer, X: Tensor) -> Tensor:
    return vmap(apply, in_axes=(None, 0))(layer, X)  # none: return vmap(apply)(layer, X)


def everyone(layers: Layer, X: Tensor) -> Tensor:
    return vmap(one_member, in_axes=(0, None))(layers, X)  # zip: return vmap(apply)(layers, X)


weight = as_axes(Tensor.arange(M * O * I).reshape(M, O, I).float() * 0.1, Members, Outputs, Inputs)
bias = as_axes(Tensor.arange(M * O).reshape(M, O).float(), Members, Outputs)
X = as_axes(Tensor.arange(N * I).reshape(N, I).float() * 0.1, Examples, Inputs)
layers = Layer(weight, bias)
together = everyone(layers, X)  # axis: together = everyone(layers, X.T)
mean = together.mean(axis=0)  # axis: mean = together.mean(axis=1)
spread = vmap(lambda member: (member - mean).square().sum())(together)  # axis: spread = vmap(lambda member: (member - mean).square().sum(), in_axes=1)(together)
columns = vmap(lambda x: one_member(Layer(weight[0], bias[0]), X) @ x, out_axes=1)(bias)  # out: columns = vmap(lambda x: one_member(Layer(weight[0], bias[0]), X) @ x)(bias)
result = together, mean, spread, columns
assert mean.shape == (N, O) and columns.shape == (N, M)
