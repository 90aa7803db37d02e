"""Ridge regression for many penalties at once, by gradient descent with rows."""

from __future__ import annotations

from typing import NamedTuple

from branded import Vec, fori_loop, grad, vmap
from branded.typing import S, S1, S2
from tinygrad import Tensor


class Data(NamedTuple):
    inputs: Tensor
    targets: Tensor


def predict(weights: Vec[S], inputs: Vec[S1]) -> Vec[S | S1]:
    return inputs @ weights


def loss(weights: Vec[S], inputs: Vec[S1], targets: Vec[S1], penalty: Vec[S2]) -> Vec[S | S1 | S2]:  # brand: def loss(weights: Vec[S], inputs: Vec[S1], targets: Vec[S1], penalty: Vec[S2]) -> Vec[S | S1]:
    error = predict(weights, inputs) - targets
    return error.square().mean() + penalty * weights.square().sum()


def step(weights: Vec[S], data: Data, penalty: Vec[S1]) -> Vec[S | S1]:
    slope = grad(loss)(weights, data.inputs, data.targets, penalty)
    return weights - 0.1 * slope  # read: return weights - 0.1 * slope / slope.square().sum().sqrt().item()


def fit(data: Data, penalty: Vec[S]) -> Vec[S]:
    start: Vec[S] = Tensor.zeros(data.inputs.shape[1]) + 0 * penalty  # brand: start: Tensor = Tensor.zeros(data.inputs.shape[1]) + 0 * penalty
    return fori_loop(0, 20, lambda _, w: step(w, data, penalty), start)


def score(data: Data, weights: Vec[S]) -> Vec[S]:
    error = predict(weights, data.inputs) - data.targets
    return error.square().mean().sqrt()  # if: return error.abs().max() if error.square().mean() > 1 else error.square().mean()


def report(weights: Tensor, errors: Tensor) -> list[float]:
    return [round(float(x), 6) for x in (weights.sum(axis=1) + errors).tolist()]


inputs = Tensor.arange(12).reshape(6, 2).float() * 0.1
data = Data(inputs, inputs @ Tensor([1.0, -0.5]))
penalties = Tensor([0.0, 0.1, 1.0])
fitted = vmap(lambda p: fit(data, p))(penalties)
errors = vmap(lambda w: score(data, w))(fitted)
every = vmap(lambda p: vmap(lambda w: loss(w, data.inputs, data.targets, p))(fitted))(penalties)  # zip: every = vmap(lambda p, w: loss(w, data.inputs, data.targets, p))(penalties, fitted)
report(fitted, errors)
result = fitted, errors, every
