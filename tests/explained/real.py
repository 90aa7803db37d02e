"""Realistic functions whose stories are recorded: each fits on one screen."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, as_axes, cond, psum, scan, value_and_grad, vmap, while_loop

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


def tensor(*shape: int) -> Tensor:
    """Return small elements, all nonzero."""
    return Tensor([(3 * i % 7 + 1) / 4 for i in range(math.prod(shape))]).reshape(shape)


def attention(q: Tensor = tensor(4, 3), k: Tensor = tensor(5, 3), v: Tensor = tensor(5, 2)) -> Tensor:
    def of_query(query: Vec[S]) -> Vec[S]:
        scores = vmap(lambda key: (query * key).sum() / math.sqrt(3))(k)
        return scores.softmax() @ v

    return vmap(of_query)(q)


def layer_norm(x: Tensor = tensor(3, 4), gain: Tensor = tensor(4)) -> Tensor:
    def of_row(row: Vec[S]) -> Vec[S]:
        centred = row - row.mean()
        return centred / (centred.square().mean() + 1e-5).sqrt() * gain

    return vmap(of_row)(x)


def pairwise(users: Axes[Users, int], items: Axes[Items, int]) -> Tensor:
    """Distances; `f32[3, 2]` and `f32[4, 2]`."""
    return vmap(lambda u: vmap(lambda i: (u - i).square().sum(), axis_name=Items)(items), axis_name=Users)(users)


class Params(NamedTuple):
    weight: Tensor
    bias: Tensor


def train_step(
    params: Params = Params(tensor(3), Tensor([0.5])), xs: Tensor = tensor(4, 3), ys: Tensor = tensor(4)
) -> dict[str, object]:
    def loss(p: Params, x: Vec[S], y: Vec[S]) -> Vec[S]:
        error = (x * p.weight).sum() + p.bias[0] - y
        return error * error

    losses, grads = vmap(value_and_grad(loss), in_axes=(None, 0, 0))(params, xs, ys)
    weight = params.weight - 0.1 * grads.weight.mean(0)
    return {"loss": losses.mean(), "params": Params(weight, params.bias - 0.1 * grads.bias.mean(0))}


def smoothing(signals: Tensor = tensor(2, 5), rate: Tensor = Tensor([0.5, 0.25])) -> Tensor:
    def of_signal(signal: Vec[S], a: Vec[S]) -> Vec[S]:
        def step(mean: Vec[S], x: Vec[S]) -> tuple[Vec[S], Vec[S]]:
            mean = a * x + (1 - a) * mean
            return mean, mean

        return scan(step, signal[0], signal)[1]

    return vmap(of_signal)(signals, rate)


def newton(targets: Tensor = Tensor([2.0, 9.0, 16.0])) -> Tensor:
    """Square roots, each example with as many steps as it needs."""

    def root(target: Vec[S]) -> Vec[S]:
        return while_loop(lambda x: (x * x - target).abs() > 1e-3, lambda x: (x + target / x) / 2, target)

    return vmap(root)(targets)


def huber(errors: Tensor = Tensor([0.5, -3.0, 2.0])) -> Tensor:
    def of_error(e: Vec[S]) -> Vec[S]:
        return cond(e.abs() < 1, lambda e: e * e / 2, lambda e: e.abs() - 0.5, e)

    return vmap(of_error)(errors).mean()


def batch_norm(x: Tensor = tensor(4, 2)) -> Tensor:
    def of_example(row: Vec[S]) -> Vec[S]:
        mean = psum(row, "batch") / 4
        variance = psum((row - mean).square(), "batch") / 4
        return (row - mean) / (variance + 1e-5).sqrt()

    return vmap(of_example, axis_name="batch")(x)


class Layer:
    def __init__(self) -> None:
        self.weight, self.bias = tensor(2, 3), tensor(2)

    def __call__(self, x: Vec[S]) -> Vec[S]:
        hidden = self.weight @ x + self.bias
        return hidden.relu()


def ensemble(x: Tensor = tensor(4, 3)) -> Tensor:
    layer = Layer()
    return vmap(layer)(x)


def nearest(
    points: Tensor = tensor(3, 2), table: Tensor = tensor(4, 2), labels: Tensor = Tensor([3, 1, 4, 1])
) -> Tensor:
    def of_point(p: Vec[S]) -> Vec[S]:
        distances = (table - p).square().sum(1)
        return labels[distances.argmin()]

    return vmap(of_point)(points)


def distance(u: Vec[S], v: Vec[S1]) -> Vec[S | S1]:
    gap = u - v
    return gap.square().sum().sqrt()


def scaled(x: Vec[S], by: Tensor) -> Vec[S]:
    return x / by


def table(points: Tensor = tensor(3, 2), centers: Tensor = tensor(2, 2), scale: Tensor = tensor(2)) -> Tensor:
    """Pass values to functions whose parameters have other names."""

    def of_point(point: Vec[S]) -> Vec[S]:
        near = scaled(point, scale)
        return vmap(lambda center: distance(near, center))(centers)

    return vmap(of_point)(points)


REAL = (attention, layer_norm, pairwise, train_step, smoothing, newton, huber, batch_norm, ensemble, nearest, table)
MOST = {"attention": 60}
"""Limits on the lines of single stories."""


def named_axes() -> tuple[Tensor, Tensor]:
    """Return the arguments of `pairwise`, with named axes."""
    return as_axes(tensor(3, 2), Users, None), as_axes(tensor(4, 2), Items, None)
