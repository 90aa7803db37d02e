"""A network whose parameters are a TypedDict; per-example gradients, clipped."""

from __future__ import annotations

from typing import TypedDict

from branded import grad, tree, value_and_grad, vmap
from tinygrad import Tensor


class Params(TypedDict):
    hidden: Tensor
    bias: Tensor
    out: Tensor


def init(width: int) -> Params:
    hidden = Tensor.arange(2 * width).reshape(2, width).float().cos()
    return {"hidden": hidden, "bias": Tensor.zeros(width), "out": Tensor.arange(width).float().sin()}  # key: return {"hidden": hidden, "biases": Tensor.zeros(width), "out": Tensor.arange(width).float().sin()}


def forward(params: Params, x: Tensor) -> Tensor:
    h = (x @ params["hidden"] + params["bias"]).tanh()  # key: h = (x @ params["hiden"] + params["bias"]).tanh()
    return h @ params["out"]


def loss(params: Params, x: Tensor, y: Tensor) -> Tensor:
    return (forward(params, x) - y).square()


def norm(grads: Params) -> Tensor:
    return sum((leaf.square().sum() for leaf in tree.leaves(grads)), Tensor(0.0)).sqrt()


def clip(grads: Params, limit: float) -> Params:
    scale = (limit / norm(grads)).minimum(1.0)  # read: scale = min(limit / norm(grads), 1.0)
    return {"hidden": grads["hidden"] * scale, "bias": grads["bias"] * scale, "out": grads["out"] * scale}


def private_gradient(params: Params, x: Tensor, y: Tensor) -> Params:
    return clip(grad(loss)(params, x, y), 1.0)


params = init(3)
xs = Tensor.arange(8).reshape(4, 2).float() * 0.3
ys = xs.sum(axis=1)
each = vmap(private_gradient, in_axes=(None, 0, 0))(params, xs, ys)  # none: each = vmap(private_gradient, in_axes=(None, None, 0))(params, xs, ys)
mean = {name: g.mean(axis=0) for name, g in each.items() if isinstance(g, Tensor)}
values, slopes = vmap(value_and_grad(loss), in_axes=(None, 0, 0))(params, xs, ys)
predicted = vmap(lambda x: forward(params, x))(xs)
by_lambda = vmap(grad(lambda p, x: (p["out"] * x.sum()).sum()), in_axes=(None, 0))(params, xs)
wide = vmap(lambda p, x: x @ p["hidden"], in_axes=({"hidden": None, "bias": None, "out": None}, 0))(params, xs)  # key: wide = vmap(lambda p, x: x @ p["hidden"], in_axes=({"hidden": None, "bias": None}, 0))(params, xs)
result = mean["out"], values, slopes["bias"], predicted, by_lambda["out"], wide
